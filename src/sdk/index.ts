export {
  type AnswerUsage,
  type AuthorizedRequest,
  badRequest,
  type Call,
  type Capability,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  type ChatUsage,
  type CheckInput,
  type ChunkChoice,
  type ContentPart,
  type CredentialField,
  type CredentialFields,
  type CredentialForm,
  contractVersion,
  type Embeddings,
  type EmbeddingsRequest,
  type FaultDetails,
  type FaultKind,
  type FinishReason,
  type FunctionDefinition,
  fromIterable,
  GatewayError,
  type GeneratedImage,
  type GeneratedImages,
  getOwn,
  type Handlers,
  type HttpMethod,
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
  type OptionKind,
  type ProviderCredential,
  type ProviderPlugin,
  type RankedDocument,
  type Ranking,
  type RefusedResponse,
  type RerankRequest,
  type ResponseFormat,
  type ServerEvent,
  type Speech,
  type SpeechRequest,
  type TokenResponse,
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
export { base64ToFloats, floatsToBase64, fromBase64, readBase64, toBase64 } from "../lib/base64.ts";
export { type DataUrl, readDataUrl, readMedia } from "../lib/data-url.ts";
export { isRecord, parseJson } from "../lib/json.ts";
export {
  jsonSchemaSubset,
  openApiSubset,
  type ReducedSchema,
  reduceSchema,
  type SchemaSubset,
  strictSubset,
} from "../lib/json-schema.ts";
export { LruMap } from "../lib/lru-map.ts";
export { type ParsedShape, parseShape, type Shape } from "../lib/parse-shape.ts";
export { type HeaderReader, readDurationMs, retryAfterMs } from "../lib/retry-after.ts";
export { SchemaBudget } from "../lib/schema-budget.ts";
export { joinWav, readWav, type Wav, wavMs, writeWav, writeWavHead } from "../lib/wav.ts";
export { fetchToken, type TokenRequest } from "../protocols/fetch-token.ts";
export { gemini } from "../protocols/generate-content/outbound.ts";
export type { GeneratedSoFar } from "../protocols/generate-content/outbound-stream.ts";
export { type GenerateContentReader, generateContent } from "../protocols/generate-content/outbound-stream.ts";
export type {
  GenerateAnswer,
  GenerateBody,
  GeneratedCandidate,
  GeneratedLogprob,
  GeneratedPart,
  GeneratePart,
  GenerateTurn,
} from "../protocols/generate-content/schema.ts";
export { type MappedRequest, mapRequests, type RequestMap } from "../protocols/map-requests.ts";
export { type AnthropicOptions, anthropic, claudeThoughts } from "../protocols/messages/outbound.ts";
export { FenceStripper } from "../protocols/messages/outbound-stream.ts";
export { type MessagesOptions, messagesHandlers } from "../protocols/messages/passthrough.ts";
export { fetchImages, placeholderImages, precheckMultimodal } from "../protocols/multimodal.ts";
export { openaiModelOptions } from "../protocols/openai/model-options.ts";
export type {
  ChatOptions,
  EmbeddingsOptions,
  ImagesOptions,
  RequestOptions,
  ResponsesOptions,
  SpeechOptions,
  TranscriptionOptions,
} from "../protocols/openai/options.ts";
export { ReasoningTagSplitter, type SplitText, splitReasoningTags } from "../protocols/openai/reasoning-tags.ts";
export { nearestEffort } from "../protocols/openai/request.ts";
export { toServiceTier } from "../protocols/service-tier.ts";
export { pickSupportedFields, warnOfOthers } from "../protocols/supported-fields.ts";
export { toCompletion } from "../protocols/to-completion.ts";
export {
  getToolResults,
  readArguments,
  readToolChoice,
  resultWithoutCall,
  type ToolDecision,
  type ToolResult,
  withFunctionsAsTools,
} from "../protocols/tools.ts";
export { classifyError, classifyFault } from "../protocols/upstream-errors.ts";
export { readUsage } from "../protocols/usage.ts";
export { bearer, definePlugin, type PluginDefinition } from "./define-plugin.ts";
export { PluginError } from "./errors.ts";
export { type OpenaiOptions, openai } from "./openai.ts";
export { readModels } from "./read-models.ts";
