import { Elysia } from "elysia";
import type { ChatChunk, ChatCompletion } from "../../contract/index.ts";
import { countNatively, countTokens, type NativeExchange } from "../../kernel/index.ts";
import * as messagesProtocol from "../../protocols/messages/index.ts";
import { MessagesAnswer, MessagesCountRequest, MessagesRequest } from "../../protocols/messages/schema.ts";
import type { HttpDeps } from "../deps.ts";
import { type CountLimiter, checkEarly } from "../middleware/early-checks.ts";
import { toGatewayError } from "../middleware/errors.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { formatEvent, setNative, streamNative, translateUnlessNative, warnOfTranslation } from "./native.ts";
import { InputTokens, NamedEvent, responsesOfMessages } from "./openapi.ts";

const {
  countInputTokens,
  MessagesStream,
  refuseOtherProtocols,
  ThoughtSigner,
  threadField,
  toChatRequest,
  toEventText,
  toMessagesAnswer,
  toMessagesError,
  withoutOwnThoughts,
  withoutThread,
} = messagesProtocol;
type MessagesPlan = messagesProtocol.MessagesPlan;

/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /messages, whole or as server-sent events: natively where the provider speaks the protocol, else through chat. */
export function messagesController(deps: HttpDeps, counts: CountLimiter) {
  const signer = new ThoughtSigner(deps.sealKey);
  const parse = readJsonCall(deps, async (body, call) => {
    refuseOtherProtocols(body);
    checkEarly(deps, body, call);
  });
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/messages",
      replyOnce<MessagesRequest>(deps, async ({ call, body }) => {
        const prepared = prepare(call, body, signer);
        const { native, request, plan } = prepared;
        if (body.stream === true) return await stream(deps, call, prepared);
        const completion = await executeCall(deps, call, { capability: "chat", request });
        if (native?.answer !== undefined) return jsonReply(deps, call, native.answer);
        return jsonReply(deps, call, toMessagesAnswer(completion as ChatCompletion, plan as MessagesPlan));
      }),
      {
        parse: [parse, "json"],
        body: requestBody(MessagesRequest),
        detail: {
          summary: "Chat by Anthropic's Messages protocol",
          description: "For Claude Code and Anthropic's SDKs. Errors have Anthropic's envelope and statuses.",
          tags: ["Calls"],
          responses: responsesOfMessages({ "application/json": MessagesAnswer, "text/event-stream": NamedEvent }),
        },
      },
    )
    .post(
      "/messages/count_tokens",
      async ({ call, body }) => {
        call.protocol = "messages";
        counts.take(call);
        const native = setNative(call, "messages", withoutOwnThoughts(withoutThread(body)));
        const counted = native && (await countNatively(deps.kernel, call, native));
        if (counted !== undefined) return jsonReply(deps, call, { input_tokens: counted });
        const count = (text: string) => countTokens(text.slice(0, countedCharactersMax), text.length);
        return jsonReply(deps, call, await countInputTokens(body, count));
      },
      {
        parse: [parse, "json"],
        body: requestBody(MessagesCountRequest),
        detail: {
          summary: "Count the input tokens of a message",
          description: "By the provider where it counts, otherwise an estimate. Free of charge.",
          tags: ["Calls"],
          responses: responsesOfMessages({ "application/json": InputTokens }),
        },
      },
    );
}

/** The smallest limit of the models that may serve the call; `undefined` when none has one. */
function findOutputTokensMax({ candidates }: Pick<HttpCall, "candidates">): number | undefined {
  const limits = (candidates ?? []).flatMap(({ modelEntry: { model } }) => model.outputTokensMax ?? []);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** What both ways of serving a request need; without a translation there is no plan, and only native routes serve it. */
function prepare(call: HttpCall, given: MessagesRequest, signer: InstanceType<typeof ThoughtSigner>) {
  call.protocol = "messages";
  const body = withoutThread(given);
  if (body !== given) call.leaveOut(threadField);
  const warnings: string[] = [];
  const options = {
    signer,
    model: call.modelEntry.model.id,
    outputTokensMax: findOutputTokensMax(call),
    warn: (sentence: string) => void warnings.push(sentence),
  };
  const native = setNative(call, "messages", withoutOwnThoughts(body));
  const translated = translateUnlessNative(native, () => toChatRequest(body, options));
  warnOfTranslation(call, warnings);
  const request = translated === undefined ? (native as NativeExchange).toStandIn() : translated.request;
  return { native, request, plan: translated?.plan };
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  { native, request, plan }: ReturnType<typeof prepare>,
): Promise<Response> {
  const events = plan === undefined ? undefined : new MessagesStream(plan);
  const sink = new SseStream<ChatChunk>(call, (chunk) => (events?.push(chunk) ?? []).map(toEventText).join(""));
  streamNative(native, sink);
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    () =>
      native?.lastEvent === undefined ? (events?.end() ?? []).map(toEventText).join("") : formatEvent(native.lastEvent),
    (error) => {
      if (!sink.isOpen) throw error;
      return toEventText(toMessagesError(toGatewayError(error, deps.log), call.id).body);
    },
  );
  return sseReply(deps, call, sink, answer);
}
