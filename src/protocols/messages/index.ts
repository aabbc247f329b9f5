export { toMessagesAnswer } from "./answer.ts";
export { countInputTokens } from "./count-tokens.ts";
export { toMessagesError } from "./errors.ts";
export { refuseOtherProtocols } from "./faults.ts";
export { type MessagesPlan, toChatRequest } from "./request.ts";
export { MessagesStream, toEventText } from "./stream.ts";
export { ThoughtSigner, withoutOwnThoughts } from "./thoughts.ts";
export { threadField, withoutThread } from "./threads.ts";
