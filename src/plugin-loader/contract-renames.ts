/** What contract 2 renamed, by the name of contract 1. */

/** Capabilities: handlers, checks, dialect options, and the `capability` of catalogue rows. */
export const capabilityRenames: Readonly<Record<string, string>> = {
  embed: "embeddings",
  image: "images",
  transcribe: "transcription",
  speak: "speech",
};

/** Kinds of an `UpstreamFault`. */
export const faultKindRenames: Readonly<Record<string, string>> = {
  gone: "model_not_found",
  key: "auth",
  quota: "insufficient_quota",
  limited: "rate_limited",
  too_long: "context_length",
  broken: "bad_response",
};

/** What `modelgate/plugin` exports. */
export const exportRenames: Readonly<Record<string, string>> = {
  Asked: "CheckInput",
  ChatQuirks: "ChatOptions",
  EmbedQuirks: "EmbeddingsOptions",
  EmbedRequest: "EmbeddingsRequest",
  Fitted: "ParsedShape",
  ImageQuirks: "ImagesOptions",
  ImageRequest: "ImagesRequest",
  RecentMap: "LruMap",
  RefusedAnswer: "RefusedResponse",
  RequestQuirks: "RequestOptions",
  SpeakQuirks: "SpeechOptions",
  SpeakRequest: "SpeechRequest",
  ThinkSplitter: "ReasoningTagSplitter",
  TranscribeQuirks: "TranscriptionOptions",
  TranscribeRequest: "TranscriptionRequest",
  UpstreamInit: "UpstreamRequestOptions",
  checkBeyondText: "precheckMultimodal",
  entryOf: "getOwn",
  faultOfBody: "classifyErrorBody",
  fit: "parseShape",
  refuse: "badRequest",
  splitThink: "splitReasoningTags",
  toolResultsOf: "getToolResults",
  translatable: "pickSupportedFields",
  unfetchedImages: "placeholderImages",
};
