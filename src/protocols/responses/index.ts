export { formatNativeFailure, toResponsesError } from "./errors.ts";
export {
  checkResponsesRequest,
  expandRequest,
  getResponseOfInput,
  isResponsesBody,
  listReferences,
  previousResponseNotFound,
  type ResponsePlan,
  refuseChatBody,
  type StoredContext,
  type TranslationOptions,
  toChatRequest,
  toStoredItems,
} from "./inbound.ts";
export type { ResponseEvent } from "./inbound-stream.ts";
export { createResponseHead, formatEvents, type ResponseHead, ResponseStream, toResponse } from "./inbound-stream.ts";
export { createReasoningSeal, type ReasoningSeal, removeOwnThoughts } from "./reasoning-seal.ts";
