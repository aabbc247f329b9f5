export {
  type AnswerUsage,
  badRequest,
  type Call,
  type Capability,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatUsage,
  type CheckInput,
  type ChunkChoice,
  type ContentPart,
  contractVersion,
  type Embeddings,
  type EmbeddingsRequest,
  type FaultDetails,
  type FaultKind,
  type FinishReason,
  type FunctionDefinition,
  GatewayError,
  type GeneratedImage,
  type GeneratedImages,
  getOwn,
  type Handlers,
  type ImagesRequest,
  type Message,
  type Model,
  type NativeAnswer,
  type NativeRequest,
  type ProviderPlugin,
  type RefusedResponse,
  type ResponseFormat,
  type ServerEvent,
  type Speech,
  type SpeechRequest,
  type Tool,
  type ToolCall,
  type ToolCallDelta,
  type ToolChoice,
  type Transcript,
  type TranscriptionRequest,
  type TranscriptSegment,
  type TranscriptWord,
  type Upstream,
  type UpstreamBytes,
  UpstreamFault,
  type UpstreamRequestOptions,
} from "../contract/index.ts";
export { base64ToFloats, floatsToBase64, fromBase64, readBase64, toBase64 } from "./base64.ts";
export { type DataUrl, readDataUrl, readMedia } from "./data-url.ts";
export { bearer, definePlugin, type PluginDefinition } from "./define-plugin.ts";
export type { GeneratedSoFar } from "./dialects/generate-content/answer.ts";
export { type GenerateContentReader, generateContent } from "./dialects/generate-content/index.ts";
export type {
  GenerateAnswer,
  GenerateBody,
  GeneratedCandidate,
  GeneratedLogprob,
  GeneratedPart,
  GeneratePart,
  GenerateTurn,
} from "./dialects/generate-content/wire.ts";
export { type MessagesOptions, messagesHandlers } from "./dialects/messages.ts";
export { type OpenaiOptions, openai } from "./dialects/openai/index.ts";
export type {
  ChatOptions,
  EmbeddingsOptions,
  ImagesOptions,
  RequestOptions,
  ResponsesOptions,
  SpeechOptions,
  TranscriptionOptions,
} from "./dialects/openai/options.ts";
export { nearestEffort } from "./dialects/openai/reasoning.ts";
export { PluginError } from "./errors.ts";
export { classifyError, classifyFault } from "./fault.ts";
export { isRecord, parseJson } from "./json.ts";
export {
  jsonSchemaSubset,
  openApiSubset,
  type ReducedSchema,
  reduceSchema,
  type SchemaSubset,
  strictSubset,
} from "./json-schema.ts";
export { LruMap } from "./lru-map.ts";
export { fetchImages, placeholderImages, precheckMultimodal } from "./multimodal.ts";
export { type ParsedShape, parseShape, type Shape } from "./parse-shape.ts";
export { readModels } from "./read-models.ts";
export { ReasoningTagSplitter, type SplitText, splitReasoningTags } from "./reasoning-tags.ts";
export { type HeaderReader, readDurationMs, retryAfterMs } from "./retry-after.ts";
export { SchemaBudget } from "./schema-budget.ts";
export { toServiceTier } from "./service-tier.ts";
export { eventCharactersMaxDefault, readEvents, SseParser } from "./sse.ts";
export { pickSupportedFields, warnOfOthers } from "./supported-fields.ts";
export { toCompletion } from "./to-completion.ts";
export {
  getToolResults,
  readArguments,
  readToolChoice,
  resultWithoutCall,
  type ToolDecision,
  type ToolResult,
  withFunctionsAsTools,
} from "./tools.ts";
export { readUsage } from "./usage.ts";
export { joinWav, readWav, type Wav, wavMs, writeWav, writeWavHead } from "./wav.ts";
