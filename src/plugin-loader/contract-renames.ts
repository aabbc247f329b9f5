/** What contract 2 renamed, by the name of contract 1. */
type Renames = Readonly<Record<string, string>>;

/** Capabilities: handlers, checks, dialect options, and the `capability` of catalogue rows. */
const capabilities: Renames = {
  embed: "embeddings",
  image: "images",
  transcribe: "transcription",
  speak: "speech",
};

/** Kinds of an `UpstreamFault`. */
const faultKinds: Renames = {
  gone: "model_not_found",
  key: "auth",
  quota: "insufficient_quota",
  limited: "rate_limited",
  too_long: "context_length",
  broken: "bad_response",
};

/** What `modelgate/plugin` exports. */
export const exportRenames: Renames = {
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
  faultOfBody: "classifyError",
  fit: "parseShape",
  refuse: "badRequest",
  splitThink: "splitReasoningTags",
  toolResultsOf: "getToolResults",
  translatable: "pickSupportedFields",
  unfetchedImages: "placeholderImages",
};

const version: Renames = { 1: "2" };
const bound: Renames = { nMax: "maxChoices" };
const dialectOptions: Renames = { quirks: "options" };
const codeOption: Renames = { shownCode: "publicCode" };
const warning: Renames = { note: "warn" };

/** Names to replace where they stand in a certain place. */
export interface ContractRule {
  readonly renames: Renames;
  /** The place, as `contract-upgrade.ts` describes it: `@` is the name, `¦ ` ends the brackets around it. */
  readonly where: RegExp;
  /** Whether the place leaves no doubt that the name is one of contract 1. */
  readonly certain: boolean;
  /** The file must mention one of these. */
  readonly needs?: readonly string[];
}

const certain = true;
const table = "(?:handlers|checks|quirks|nMax)";
const typedTable = "(?:Handlers|Checks|OpenaiOptions)";
const key = String.raw`\{ ¦ .*(?:[{,*]|async) @ [:(<,}]`;
const faults = ["UpstreamFault", "FaultKind", "classifyFault", "faultOfBody"];

/** A value in a statement, or directly in an object or function, that has the type. */
const valueOfType = (type: string) =>
  new RegExp(String.raw`${type}(?: [>\[\]])* (?:=>? )?(?:[{[(] ¦ .*(?:[:?,[(|=]|return)|[^;{}]*) @`);

/** In TypeScript and JavaScript. */
export const codeRules: readonly ContractRule[] = [
  { renames: version, where: /contractVersion : @/, certain },
  { renames: bound, where: new RegExp(String.raw`\. @|${key}`), certain },
  { renames: capabilities, where: new RegExp(String.raw`(?:${table} :|openai \(|${typedTable} =) ${key}`), certain },
  { renames: capabilities, where: /capability : @/, certain },
  { renames: codeOption, where: new RegExp(key), certain },
  { renames: capabilities, where: new RegExp(String.raw`${table} (?:= ${key}|\??\. @)`), certain: false },
  { renames: capabilities, where: new RegExp(String.raw`(?:${table}|${typedTable}) \[ @ \]`), certain: false },
  { renames: capabilities, where: /capability [!=]==? @/, certain: false },
  { renames: capabilities, where: valueOfType("Capability"), certain: false },
  { renames: faultKinds, where: /UpstreamFault \( ¦ .*UpstreamFault \( [^,]*@/, certain },
  { renames: faultKinds, where: /kind [!=]==? @/, certain: false, needs: faults },
  { renames: faultKinds, where: valueOfType("FaultKind"), certain: false },
  { renames: warning, where: /call \??\. @|\{ \.\.\. call , @|(?:Pick|Omit) < Call\b[^;]*[|,] @/, certain },
  { renames: warning, where: /\{ ¦ .*[{,] @ [,}:] ¦ (?:: (?:Pick < )?Call <|= call\b)/, certain },
  { renames: warning, where: new RegExp(`${table} : \\{ … [^…]*\\( … [^…]*\\{ ¦ .*[{,] @ [,}:]`), certain },
];

/** In a manifest, a catalogue or a fixture. Only its own fields count, not the data in them. */
export const jsonRules: readonly ContractRule[] = [
  { renames: version, where: /^file \{ ¦ .*contractVersion : @/, certain },
  { renames: { ...bound, ...dialectOptions }, where: /^file \{ ¦ .*[{,] @ :/, certain },
  { renames: capabilities, where: new RegExp(String.raw`^file \{ … [^…]*${table} : ${key}`), certain },
  { renames: capabilities, where: /^file (?:\{ … [^…]*models : )?(?:\[ … [^…]*)?\{ ¦ .*capability : @/, certain },
];
