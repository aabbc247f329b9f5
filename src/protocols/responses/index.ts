export { getResponseOfInput, toStoredItems } from "./content.ts";
export { formatNativeFailure, toResponsesError } from "./errors.ts";
export {
  expandRequest,
  listReferences,
  previousResponseNotFound,
  type StoredContext,
} from "./expand.ts";
export type { ResponseEvent } from "./item-writers.ts";
export { createReasoningSeal, type ReasoningSeal, removeOwnThoughts } from "./reasoning-seal.ts";
export {
  checkResponsesRequest,
  isResponsesBody,
  type ResponsePlan,
  refuseChatBody,
  type TranslationOptions,
  toChatRequest,
} from "./request.ts";
export { createResponseHead, type ResponseHead } from "./response-object.ts";
export { formatEvents, ResponseStream, toResponse } from "./stream.ts";
