export { badRequest, UpstreamError } from "../contract/index.ts";
export { isRecord, parseJson } from "../lib/json.ts";
export { streamWav } from "../lib/wav.ts";
export { fetchToken } from "../protocols/fetch-token.ts";
export { gemini } from "../protocols/generate-content/outbound.ts";
export { mapRequests } from "../protocols/map-requests.ts";
export { anthropic } from "../protocols/messages/outbound.ts";
export { type ChatOptions, openaiModelOptions } from "../protocols/openai/request.ts";
export { pickSupportedFields, warnOfOthers } from "../protocols/supported-fields.ts";
export { readArguments } from "../protocols/tools.ts";
export { classifyError, classifyRefusal } from "../protocols/upstream-errors.ts";
export {
  type AnswerOf,
  type AnswerUsage,
  type AuthorizedRequest,
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  type ContentPart,
  type CredentialForm,
  type FinishReason,
  fromIterable,
  type Handler,
  type Message,
  type Model,
  type PolicyContext,
  type PolicyResult,
  type PolicyText,
  type ProviderCredential,
  type ProviderPlugin,
  type RequestOf,
  type ServerEvent,
  type UpstreamWebSocket,
} from "../provider/index.ts";
export { bearer, definePlugin } from "./define-plugin.ts";
export { definePolicy } from "./define-policy.ts";
export { openai } from "./openai.ts";
export { readModels } from "./read-models.ts";
