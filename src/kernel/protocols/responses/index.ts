export { toStoredItems } from "./content.ts";
export { formatNativeFailure, toResponsesError } from "./errors.ts";
export type { ResponseEvent } from "./item-writers.ts";
export { createReasoningSeal, type ReasoningSeal, removeOwnThoughts } from "./reasoning-seal.ts";
export {
  checkResponsesRequest,
  isResponsesBody,
  listReferences,
  previousResponseNotFound,
  type ResponsePlan,
  refuseChatBody,
  type TranslationOptions,
  toChatRequest,
  withResolvedInput,
} from "./request.ts";
export { createResponseHead, type ResponseHead } from "./response-object.ts";
export { formatEvents, ResponseStream, toResponse } from "./stream.ts";
