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
  return new Elysia()
    .use(apiKeyRoutes(deps))
    .post(
      "/responses",
      replyOnce<ResponsesRequest>(deps, async ({ call, body }) => {
        const { chat: request, plan } = translate(deps, call, body);
        const head = createResponseHead(call.id, modelIdOf(deps, body.model), deps.now);
        if (body.stream === true) return await stream(deps, call, request, new ResponseStream(plan, head));
        const completion = await executeCall(deps, call, { capability: "chat", request });
        return jsonReply(deps, call, toResponse(completion as ChatCompletion, plan, head));
      }),
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Chat by OpenAI's Responses protocol",
          description: "For Codex and the Agents SDK. Responses are not stored: send all items in `input`.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": ResponseObject, "text/event-stream": NamedEvent }),
        },
      },
    )
    .post(
      "/responses/input_tokens",
      async ({ call, body }) => {
        const text = JSON.stringify(translate(deps, call, body).chat.messages);
        const inputTokens = await countTokens(text.slice(0, countedCharactersMax), text.length);
        return jsonReply(deps, call, { object: "response.input_tokens", input_tokens: inputTokens });
      },
      {
        parse: [parse, "json"],
        body: Body,
        detail: {
          summary: "Count the input tokens of a response",
          description: "An estimate, free of charge.",
          tags: ["Calls"],
          responses: responsesOfResponses({ "application/json": InputTokens }),
        },
      },
    );
}

function modelIdOf({ kernel }: HttpDeps, name: string): string {
  return kernel.registry.byName(name)?.model.id ?? name;
}

function translate(deps: HttpDeps, call: HttpCall, body: ResponsesRequest) {
  call.protocol = "responses";
  const seal = createReasoningSeal(deps.sealKey, call.caller.accountId, modelIdOf(deps, body.model));
  const translated = toChatRequest(body, { seal, stored: false });
  for (const sentence of translated.plan.warnings) call.warn(sentence);
  return translated;
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  request: ReturnType<typeof toChatRequest>["chat"],
  events: InstanceType<typeof ResponseStream>,
): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, (chunk) => formatEvents(events.push(chunk)));
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    () => formatEvents(events.finish()),
    (error) => {
      if (!sink.isOpen) throw error;
      return formatEvents(events.fail(toGatewayError(error, deps.log)));
    },
  );
  return sseReply(deps, call, sink, answer);
}
