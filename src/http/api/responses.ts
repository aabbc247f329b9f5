import { Elysia } from "elysia";
import { type ChatChunk, type ChatCompletion, GatewayError } from "../../contract/index.ts";
import { countNatively, countTokens, type NativeExchange } from "../../kernel/index.ts";
import * as responsesProtocol from "../../protocols/responses/index.ts";
import { ResponseObject, ResponsesRequest } from "../../protocols/responses/schema.ts";
import type { HttpDeps } from "../deps.ts";
import { type CountLimiter, checkEarly } from "../middleware/early-checks.ts";
import { toGatewayError } from "../middleware/errors.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { formatEvent, setNative, streamNative, translateUnlessNative, warnOfTranslation } from "./native.ts";
import { Compaction, InputTokens, NamedEvent, responsesOfResponses } from "./openapi.ts";
import type { ResponseStore } from "./response-store.ts";

const {
  checkResponsesRequest,
  createReasoningSeal,
  createResponseHead,
  expandRequest,
  formatEvents,
  formatNativeFailure,
  ResponseStream,
  refuseChatBody,
  toChatRequest,
  toResponse,
} = responsesProtocol;

const Body = requestBody(ResponsesRequest);
/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /responses, whole or as server-sent events: natively where the provider speaks the protocol, else through chat. */
export function responsesController(deps: HttpDeps, { store, counts }: { store: ResponseStore; counts: CountLimiter }) {
  const parse = readJsonCall(deps, async (body, call) => {
    const refusal = refuseChatBody(body);
    if (refusal !== undefined) throw refusal;
    checkResponsesRequest(body);
    checkEarly(deps, body, call);
  });
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/responses",
      replyOnce<ResponsesRequest>(deps, async ({ call, body }) => {
        const prepared = await prepare(deps, call, body, store);
        if (body.stream === true) return await stream(deps, call, prepared);
        const { native, request, toAnswer, keep } = prepared;
        const completion = await executeCall(deps, call, { capability: "chat", request });
        const response = native?.answer === undefined ? toAnswer(completion as ChatCompletion) : native.answer;
        await keep(response as ResponseObject);
        return jsonReply(deps, call, response);
      }),
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Chat by OpenAI's Responses protocol",
          description:
            "For Codex, the AI SDK and the Agents SDK. Responses are stored for a while, unless `store` is false, for " +
            "`previous_response_id` and `item_reference`.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": ResponseObject, "text/event-stream": NamedEvent }),
        },
      },
    )
    .post(
      "/responses/compact",
      replyOnce<ResponsesRequest>(deps, async ({ call, body }) => {
        call.protocol = "responses";
        const { request: expanded } = expandRequest(body, await store.read(call, body));
        // Fields that a compaction does not have must bound nothing.
        const { stream: _, max_output_tokens: __, ...asked } = expanded;
        const native = setNative(call, "responses", asked, true);
        if (native === undefined) throw cannotCompact(call);
        native.untranslatable = cannotCompact(call);
        await executeCall(deps, call, { capability: "chat", request: native.toStandIn() });
        return jsonReply(deps, call, native.answer);
      }),
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Compact a conversation",
          description: "By OpenAI's own endpoint, for its models. The output is sent as `input` later.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": Compaction }),
        },
      },
    )
    .post(
      "/responses/input_tokens",
      async ({ call, body }) => {
        counts.take(call);
        const { native, request } = await prepare(deps, call, body, store);
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
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": InputTokens }),
        },
      },
    );
}

function cannotCompact({ modelEntry: { model } }: HttpCall): GatewayError {
  const sentence = `No provider of ${model.id} compacts conversations; ask the model for a summary instead`;
  return new GatewayError("invalid_request", sentence, { param: "model", publicCode: "unsupported_model" });
}

/** What both ways of serving a request need. */
async function prepare(deps: HttpDeps, call: HttpCall, body: ResponsesRequest, store: ResponseStore) {
  call.protocol = "responses";
  const context = await store.read(call, body);
  const model = call.modelEntry.model.id;
  const createSeal = (of: string) => createReasoningSeal(deps.sealKey, call.caller.accountId, of);
  // Thoughts are sealed for the model that thought them, which may be another than the first one.
  const served = () => call.model ?? model;
  const seal: responsesProtocol.ReasoningSeal = {
    ...createSeal(model),
    seal: (thoughts) => createSeal(served()).seal(thoughts),
  };
  const { request: expanded, input } = expandRequest(body, context);
  const native = setNative(call, "responses", expanded);
  const translated = translateUnlessNative(native, () => toChatRequest(body, { seal, ...context }));
  warnOfTranslation(call, translated?.plan.warnings ?? []);
  const head = Object.defineProperty(createResponseHead(model, deps.now), "model", { get: served });
  return {
    native,
    request: translated === undefined ? (native as NativeExchange).toStandIn() : translated.chat,
    events: translated === undefined ? undefined : new ResponseStream(translated.plan, head),
    toAnswer(completion: ChatCompletion): ResponseObject {
      if (translated === undefined) throw new TypeError("A request without a translation was answered by chat");
      return toResponse(completion, translated.plan, head);
    },
    /** Stores an answer. One of a provider, which stores nothing, says then what is stored here. */
    async keep(response: ResponseObject): Promise<void> {
      const previous = body.previous_response_id;
      if (native?.isServing) {
        Object.assign(response, { store: context.stored, ...(previous && { previous_response_id: previous }) });
      }
      await store.put(call, response, { input, context });
    },
  };
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  { native, request, events, keep }: Awaited<ReturnType<typeof prepare>>,
): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, (chunk) => formatEvents(events?.push(chunk) ?? []));
  streamNative(native, sink);
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    async () => {
      if (native?.lastEvent !== undefined) {
        const last = JSON.parse(native.lastEvent.data) as Record<string, unknown>;
        await keep(last.response as ResponseObject);
        return formatEvent({ ...native.lastEvent, data: JSON.stringify(last) });
      }
      const last = events?.finish() ?? [];
      await keep(last.at(-1)?.response as ResponseObject);
      return formatEvents(last);
    },
    (thrown) => {
      if (!sink.isOpen) throw thrown;
      const error = toGatewayError(thrown, deps.log);
      if (native?.isServing || events === undefined) return formatNativeFailure(native, error);
      return formatEvents(events.fail(error));
    },
  );
  return sseReply(deps, call, sink, answer);
}
