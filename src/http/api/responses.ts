import { Elysia } from "elysia";
import { type ChatChunk, type ChatCompletion, ResponseObject, ResponsesRequest } from "../../contract/index.ts";
import { countNatively, countTokens, type NativeExchange, responsesProtocol } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { CountLimiter, checkEarly } from "../middleware/early-checks.ts";
import { toGatewayError } from "../middleware/errors.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { formatEvent, setNative, streamNative, translateUnlessNative, warnOfTranslation } from "./native.ts";
import { InputTokens, NamedEvent, responsesOfResponses } from "./openapi.ts";

const {
  checkResponsesRequest,
  createReasoningSeal,
  createResponseHead,
  formatEvents,
  formatNativeFailure,
  ResponseStream,
  refuseChatBody,
  removeOwnThoughts,
  toChatRequest,
  toResponse,
  withResolvedInput,
} = responsesProtocol;

const Body = requestBody(ResponsesRequest);
/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /responses, whole or as server-sent events: natively where the provider speaks the protocol, else through chat. */
export function responsesController(deps: HttpDeps) {
  const counts = new CountLimiter(deps.now);
  const parse = readJsonCall(deps, async (body, call) => {
    const refusal = refuseChatBody(body);
    if (refusal !== undefined) throw refusal;
    checkResponsesRequest(body);
    await checkEarly(deps, body, call);
  });
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/responses",
      replyOnce<ResponsesRequest>(deps, async ({ call, body }) => {
        const prepared = prepare(deps, call, body);
        if (body.stream === true) return await stream(deps, call, prepared);
        const completion = await executeCall(deps, call, { capability: "chat", request: prepared.request });
        if (prepared.native?.answer !== undefined) return jsonReply(deps, call, prepared.native.answer);
        return jsonReply(deps, call, toResponse(completion as ChatCompletion, ...prepared.toAnswer()));
      }),
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Chat by OpenAI's Responses protocol",
          description: "For Codex and the Agents SDK. Responses are not stored: send all items in `input`.",
          tags: ["Models at work"],
          responses: responsesOfResponses({ "application/json": ResponseObject, "text/event-stream": NamedEvent }),
        },
      },
    )
    .post(
      "/responses/input_tokens",
      async ({ call, body }) => {
        counts.take(call);
        const { native, request } = prepare(deps, call, body);
        const counted = native && (await countNatively(deps.kernel, call, native));
        const text = counted === undefined ? JSON.stringify(request.messages) : "";
        const estimate = () => countTokens(text.slice(0, countedCharactersMax), text.length);
        const inputTokens = counted ?? (await estimate());
        return jsonReply(deps, call, { object: "response.input_tokens", input_tokens: inputTokens });
      },
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Count the input tokens of a response",
          description: "By the provider where it counts, otherwise an estimate. Free of charge.",
          tags: ["Models at work"],
          responses: responsesOfResponses({ "application/json": InputTokens }),
        },
      },
    );
}

/** What both ways of serving a request need; `toAnswer` gives what a chat answer is translated back with. */
function prepare(deps: HttpDeps, call: HttpCall, body: ResponsesRequest) {
  call.protocol = "responses";
  const model = call.modelEntry.model.id;
  const seal = createReasoningSeal(deps.sealKey, call.caller.accountId, model);
  const options = { seal, stored: false };
  const native = setNative(call, "responses", removeOwnThoughts(withResolvedInput(body, options)));
  const translated = translateUnlessNative(native, () => toChatRequest(body, options));
  warnOfTranslation(call, translated?.plan.warnings ?? []);
  const head = createResponseHead(call.id, model, deps.now);
  return {
    native,
    request: translated === undefined ? (native as NativeExchange).toStandIn() : translated.chat,
    toAnswer() {
      if (translated === undefined) throw new TypeError("A request without a translation was answered by chat");
      return [translated.plan, head] as const;
    },
    events: translated === undefined ? undefined : new ResponseStream(translated.plan, head),
  };
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  { native, request, events }: ReturnType<typeof prepare>,
): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, (chunk) => formatEvents(events?.push(chunk) ?? []));
  streamNative(native, sink);
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    () => (native?.lastEvent === undefined ? formatEvents(events?.finish() ?? []) : formatEvent(native.lastEvent)),
    (thrown) => {
      if (!sink.isOpen) throw thrown;
      const error = toGatewayError(thrown, deps.log);
      if (native?.isServing || events === undefined) return formatNativeFailure(native, error);
      return formatEvents(events.fail(error));
    },
  );
  return sseReply(deps, call, sink, answer);
}
