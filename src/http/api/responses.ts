import { Elysia } from "elysia";
import { type ChatChunk, type ChatCompletion, ResponseObject, ResponsesRequest } from "../../contract/index.ts";
import { countTokens, responsesProtocol } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { toGatewayError } from "../middleware/errors.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { replyOnce } from "../middleware/reply-once.ts";
import { sseReply } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { InputTokens, NamedEvent, responsesOfResponses } from "./openapi.ts";
import { type RequestContext, ResponseStore } from "./response-store.ts";

const {
  createReasoningSeal,
  createResponseHead,
  formatEvents,
  ResponseStream,
  refuseChatBody,
  toChatRequest,
  toResponse,
} = responsesProtocol;

const Body = requestBody(ResponsesRequest);
/** Characters that a count looks at; the rest is taken in proportion. */
const countedCharactersMax = 50_000;

/** POST /responses, whole or as server-sent events, through the chat of any model. */
export function responsesController(deps: HttpDeps) {
  const parse = readJsonCall(deps, (body) => {
    const refusal = refuseChatBody(body);
    if (refusal !== undefined) throw refusal;
  });
  const store = new ResponseStore(deps);
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/responses",
      replyOnce<ResponsesRequest>(deps, async ({ call, body }) => {
        call.protocol = "responses";
        const context = await store.read(call, body);
        const { chat: request, plan } = translate(deps, call, body, context);
        const head = createResponseHead(call.id, modelIdOf(deps, body.model), deps.now);
        const keep = (response: ResponseObject) => store.put(call, response, { input: plan.input, context });
        if (body.stream === true) {
          return await stream(deps, call, request, { events: new ResponseStream(plan, head), keep });
        }
        const completion = await executeCall(deps, call, { capability: "chat", request });
        const response = toResponse(completion as ChatCompletion, plan, head);
        await keep(response);
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
          tags: ["Models at work"],
          responses: responsesOfResponses({ "application/json": ResponseObject, "text/event-stream": NamedEvent }),
        },
      },
    )
    .post(
      "/responses/input_tokens",
      async ({ call, body }) => {
        call.protocol = "responses";
        const context = await store.read(call, body);
        const text = JSON.stringify(translate(deps, call, body, context).chat.messages);
        const inputTokens = await countTokens(text.slice(0, countedCharactersMax), text.length);
        return jsonReply(deps, call, { object: "response.input_tokens", input_tokens: inputTokens });
      },
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Count the input tokens of a response",
          description: "An estimate, free of charge.",
          tags: ["Models at work"],
          responses: responsesOfResponses({ "application/json": InputTokens }),
        },
      },
    );
}

function modelIdOf({ kernel }: HttpDeps, name: string): string {
  return kernel.registry.byName(name)?.model.id ?? name;
}

function translate(deps: HttpDeps, call: HttpCall, body: ResponsesRequest, context: RequestContext) {
  const seal = createReasoningSeal(deps.sealKey, call.caller.accountId, modelIdOf(deps, body.model));
  const translated = toChatRequest(body, { seal, ...context });
  for (const sentence of translated.plan.warnings) call.warn(sentence);
  return translated;
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  request: ReturnType<typeof toChatRequest>["chat"],
  { events, keep }: { events: InstanceType<typeof ResponseStream>; keep: (response: ResponseObject) => Promise<void> },
): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, (chunk) => formatEvents(events.push(chunk)));
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    async () => {
      const last = events.finish();
      await keep(last.at(-1)?.response as ResponseObject);
      return formatEvents(last);
    },
    (error) => {
      if (!sink.isOpen) throw error;
      return formatEvents(events.fail(toGatewayError(error, deps.log)));
    },
  );
  return sseReply(deps, call, sink, answer);
}
