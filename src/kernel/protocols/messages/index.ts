export { toMessagesAnswer } from "./answer.ts";
export { countInputTokens } from "./count-tokens.ts";
export { type MessagesErrorResponse, toMessagesError } from "./errors.ts";
export { refuseOtherProtocols } from "./faults.ts";
export { type MessagesPlan, type TranslationOptions, toChatRequest } from "./request.ts";
export { MessagesStream, toEventText } from "./stream.ts";
export { ThoughtSigner, withoutOwnThoughts } from "./thoughts.ts";
