import { Elysia } from "elysia";
import { type ChatChunk, ChatCompletion, ChatRequest, GatewayError, ResponsesRequest } from "../../contract/index.ts";
import { responsesProtocol } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { checkEarly } from "../middleware/early-checks.ts";
import { apiKeyRoutes, executeCall, type HttpCall, jsonReply, readJsonCall } from "../middleware/handle-call.ts";
import { sseReply, toEvent } from "../middleware/sse-reply.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { checkBody, requestBody } from "../middleware/validation-errors.ts";
import { ChatEvent, responses } from "./openapi.ts";

const { checkResponsesRequest, createReasoningSeal, isResponsesBody, toChatRequest } = responsesProtocol;
const done = "data: [DONE]\n\n";
const Body = requestBody(ChatRequest);

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(deps: HttpDeps) {
  const parse = readJsonCall(deps, (body, call) => (isResponsesBody(body) ? toChatBody(deps, body, call) : undefined));
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/chat/completions",
    async ({ call, body }) => {
      checkContent(body);
      if (body.stream === true) return await stream(deps, call, body);
      return jsonReply(deps, call, await executeCall(deps, call, { capability: "chat", request: body }));
    },
    {
      parse: [parse, "json"],
      body: Body,
      detail: {
        summary: "Chat text generation",
        description: "With `stream: true` the response is `text/event-stream`, ended by `data: [DONE]`.",
        tags: ["Models at work"],
        responses: responses({
          "application/json": ChatCompletion,
          "text/event-stream": ChatEvent,
        }),
      },
    },
  );
}

/**
 * Cursor sends bodies of the Responses protocol here, and reads answers of chat. Free-form tools become functions with the
 * one argument `input`.
 *
 * @throws {GatewayError} `invalid_request`
 */
async function toChatBody(deps: HttpDeps, body: unknown, call: HttpCall): Promise<ChatRequest> {
  checkResponsesRequest(body);
  await checkEarly(deps, body, call);
  const request = checkBody(ResponsesRequest, body);
  const seal = createReasoningSeal(deps.sealKey, call.caller.accountId, request.model);
  const { chat, plan } = toChatRequest(request, { seal, stored: false });
  for (const sentence of plan.warnings) call.warn(sentence);
  return chat;
}

/** Only an assistant's and a tool's message may say nothing. */
function checkContent({ messages }: ChatRequest): void {
  const index = messages.findIndex(({ role, content }) => content == null && /^(user|system|developer)$/.test(role));
  if (index === -1) return;
  const param = `messages[${index}].content`;
  throw new GatewayError("invalid_request", `${param} is missing, but a string or an array was expected`, { param });
}

function stream(deps: HttpDeps, call: HttpCall, request: ChatRequest): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, toEvent);
  const answer = executeCall(deps, call, { capability: "chat", request, sink });
  return sseReply(
    deps,
    call,
    sink,
    answer.then(() => done),
  );
}
