export { toMessagesError } from "./errors.ts";
export {
  countInputTokens,
  type MessagesPlan,
  refuseOtherProtocols,
  threadField,
  toChatRequest,
  toMessagesAnswer,
  withoutThread,
} from "./inbound.ts";
export { MessagesStream, toEventText } from "./inbound-stream.ts";
export { ThoughtSigner, withoutOwnThoughts } from "./thoughts.ts";
