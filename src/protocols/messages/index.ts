import { GatewayError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import {
  commonFields,
  type Exchange,
  expectTranslated,
  formatEvents,
  type Inbound,
  toNamedEvent,
  tryTranslate,
} from "../inbound.ts";
import { Losses } from "../losses.ts";
import type { ReasoningEnvelope } from "../reasoning.ts";
import { MessagesStream } from "./client-stream.ts";
import { toMessagesError } from "./errors.ts";
import {
  fromMessagesRequest,
  refuseOtherProtocols,
  threadField,
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

const [charactersPerToken, tokensOfMedium] = [4, 1500];

/**
 * The tokens of a prompt, roughly, for the beginning of a stream, when no report has come: clients show how full the context is, and
 * compress by it. Images and files are taken for one size.
 */
function estimateInputTokens({
  system,
  messages,
  tools,
}: Pick<MessagesRequest, "system" | "messages" | "tools">): number {
  let [characters, media] = [0, 0];
  const visit = (value: unknown): void => {
    if (typeof value === "string") characters += value.length;
    else if (Array.isArray(value)) for (const member of value) visit(member);
    else if (isRecord(value)) {
      for (const name in value) {
        if (name === "source") media++;
        else if (name !== "signature" && name !== "cache_control") visit(value[name]);
      }
    }
  };
  for (const part of [system, messages, tools]) visit(part);
  return Math.ceil(characters / charactersPerToken) + media * tokensOfMedium;
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
    const losses = new Losses();
    const translated = tryTranslate(() => fromMessagesRequest(body, { ...options, warn: losses.warn }));
    const passthrough = { format: messagesFormat, body: withoutOwnThoughts(body) };
    const { request, plan } = translated instanceof GatewayError ? {} : translated;
    const untranslatable = translated instanceof GatewayError ? translated : undefined;
    const stream = plan && new MessagesStream(plan, () => estimateInputTokens(body));
    return {
      request,
      untranslatable,
      losses: losses.list,
      passthrough,
      toAnswer: (completion) => toMessagesAnswer(completion, expectTranslated(plan)),
      push: (chunk) => formatEvents(expectTranslated(stream).push(chunk)),
      end: () => formatEvents(expectTranslated(stream).end()),
      fail: (error) => toNamedEvent(toMessagesError(error, callId).body),
    };
  },
};
