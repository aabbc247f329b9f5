export {
  type AnswerUsage,
  type AuthorizedRequest,
  badRequest,
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  type ChatUsage,
  type ChunkChoice,
  type ContentPart,
  type CredentialFields,
  type CredentialForm,
  type Embeddings,
  type EmbeddingsRequest,
  type FaultKind,
  type FinishReason,
  fromIterable,
  GatewayError,
  type GeneratedImages,
  getOwn,
  type Handlers,
  type ImageEditsRequest,
  type ImageStream,
  type ImagesRequest,
  type Message,
  type Model,
  type ModelOptions,
  type ModelParts,
  type ModerationRequest,
  type ModerationResult,
  type Moderations,
  type NativeAnswer,
  type NativeRequest,
  type PartialImage,
  type ProviderCredential,
  type ProviderPlugin,
  type Ranking,
  type RefusedResponse,
  type RerankRequest,
  type ServerEvent,
  type Speech,
  type SpeechRequest,
  type Tool,
  type ToolCall,
  type ToolCallDelta,
  type Transcript,
  type TranscriptionRequest,
  type TranscriptWord,
  type Upstream,
  UpstreamFault,
} from "../contract/index.ts";
export { readBase64, toBase64 } from "../lib/base64.ts";
export { type DataUrl, readDataUrl, readMedia } from "../lib/data-url.ts";
export { isRecord, parseJson } from "../lib/json.ts";
export { parseShape } from "../lib/parse-shape.ts";
export { retryAfterMs } from "../lib/retry-after.ts";
export { joinWav, streamWav, writeWav, writeWavHead } from "../lib/wav.ts";
export { fetchFresh, fetchToken } from "../protocols/fetch-token.ts";
export { gemini } from "../protocols/generate-content/outbound.ts";
export { generateContent } from "../protocols/generate-content/outbound-stream.ts";
export type { GenerateAnswer, GenerateBody, GeneratedCandidate } from "../protocols/generate-content/schema.ts";
export { type MappedRequest, mapRequests } from "../protocols/map-requests.ts";
export { anthropic, claudeThoughts } from "../protocols/messages/outbound.ts";
export { FenceStripper } from "../protocols/messages/outbound-stream.ts";
export { messagesHandlers } from "../protocols/messages/passthrough.ts";
export { fetchImages, placeholderImages, precheckMultimodal } from "../protocols/multimodal.ts";
export type {
  ChatOptions,
  ImageEditsOptions,
  ImagesOptions,
  RequestOptions,
  ResponsesOptions,
  TranscriptionOptions,
} from "../protocols/openai/request.ts";
export { nearestEffort, openaiModelOptions, toServiceTier } from "../protocols/openai/request.ts";
export { pickSupportedFields, warnOfOthers } from "../protocols/supported-fields.ts";
export { toCompletion } from "../protocols/to-completion.ts";
export {
  getToolResults,
  readArguments,
  readToolChoice,
  resultWithoutCall,
  withFunctionsAsTools,
} from "../protocols/tools.ts";
export { classifyError, classifyFault } from "../protocols/upstream-errors.ts";
export { readUsage } from "../protocols/usage.ts";
export { bearer, definePlugin, type PluginDefinition } from "./define-plugin.ts";
export { PluginError } from "./errors.ts";
export { type OpenaiOptions, openai } from "./openai.ts";
export { readModels } from "./read-models.ts";
