import { GatewayError } from "../../contract/index.ts";
import {
  commonFields,
  type Exchange,
  expectTranslated,
  formatEvents,
  type Inbound,
  toNamedEvent,
  tryTranslate,
} from "../inbound.ts";
import type { ReasoningEnvelope } from "../reasoning.ts";
import { MessagesStream } from "./client-stream.ts";
import { toMessagesError } from "./errors.ts";
import {
  refuseOtherProtocols,
  threadField,
  toChatRequest,
  toMessagesAnswer,
  withoutOwnThoughts,
  withoutThread,
} from "./inbound.ts";
import { messagesFormat } from "./passthrough.ts";
import type { MessagesRequest } from "./schema.ts";

/** Options of the translation of a Messages request. */
export interface MessagesInboundOptions {
  readonly callId: string;
  readonly envelope: ReasoningEnvelope;
  /** The id of the model. */
  readonly model: string;
  /** The most that the model writes; absent: it is not known. */
  readonly outputTokensMax: number | undefined;
  /** Takes a field that no route is sent. */
  leaveOut(field: string): void;
}

/** Anthropic's Messages protocol: Claude Code and Anthropic's SDKs. */
export const messagesInbound: Inbound<MessagesRequest, MessagesInboundOptions> = {
  protocol: "messages",
  endpoints: ["/messages", "/messages/count_tokens"],
  example: { max_tokens: 200, messages: [{ role: "user", content: "Say hello" }] },
  fields: {
    model: commonFields.model,
    messages: "The conversation so far, oldest first",
    max_tokens: "The most tokens to answer with",
    system: "The system message",
    stream: "Whether to answer in server-sent events",
  },
  outputLimit: messagesFormat.outputLimit,
  refuse: refuseOtherProtocols,
  toError: toMessagesError,
  headersOf: (callId) => ({ "request-id": callId }),
  open(clientBody, { callId, leaveOut, ...options }): Exchange {
    const body = withoutThread(clientBody);
    if (body !== clientBody) leaveOut(threadField);
    const warnings: string[] = [];
    const warn = (message: string) => void warnings.push(message);
    const translated = tryTranslate(() => toChatRequest(body, { ...options, warn }));
    const passthrough = { format: messagesFormat, body: withoutOwnThoughts(body) };
    const { request, plan } = translated instanceof GatewayError ? {} : translated;
    const untranslatable = translated instanceof GatewayError ? translated : undefined;
    const stream = plan && new MessagesStream(plan);
    return {
      request,
      untranslatable,
      warnings,
      passthrough,
      toAnswer: (completion) => toMessagesAnswer(completion, expectTranslated(plan)),
      push: (chunk) => formatEvents(expectTranslated(stream).push(chunk)),
      end: () => formatEvents(expectTranslated(stream).end()),
      fail: (error) => toNamedEvent(toMessagesError(error, callId).body),
    };
  },
};
