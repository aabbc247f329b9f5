import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type ChatChunk, ChatCompletion, ChatRequest, GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { toGatewayError } from "../middleware/errors.ts";
import {
  apiKeyRoutes,
  callHeaders,
  executeCall,
  type HttpCall,
  jsonReply,
  readJsonCall,
} from "../middleware/handle-call.ts";
import { SseStream } from "../middleware/sse-stream.bun.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { responses } from "./openapi.ts";

const done = "data: [DONE]\n\n";
const Body = requestBody(ChatRequest);

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/chat/completions",
    async ({ call, body }) => {
      checkContent(body);
      if (body.stream === true) return await stream(deps, call, body);
      return jsonReply(deps, call, await executeCall(deps, call, { capability: "chat", request: body }));
    },
    {
      parse: [readJsonCall(deps), "json"],
      body: Body,
      detail: {
        summary: "Chat text generation",
        description: "With `stream: true` the response is `text/event-stream`, ended by `data: [DONE]`.",
        tags: ["Models at work"],
        responses: responses({
          "application/json": ChatCompletion,
          "text/event-stream": Type.Unknown({ description: "One ChatCompletionChunk per event" }),
        }),
      },
    },
  );
}

/** Only an assistant's and a tool's message may say nothing. */
function checkContent({ messages }: ChatRequest): void {
  const index = messages.findIndex(({ role, content }) => content == null && /^(user|system|developer)$/.test(role));
  if (index === -1) return;
  const param = `messages[${index}].content`;
  throw new GatewayError("invalid_request", `${param} is missing, but a string or an array was expected`, { param });
}

async function stream(deps: HttpDeps, call: HttpCall, request: ChatRequest): Promise<Response> {
  const sink = new SseStream<ChatChunk>(call, toEvent);
  deps.heartbeat.add(sink);
  const answer = executeCall(deps, call, { capability: "chat", request, sink });
  answer
    .then(
      () => done,
      (error) => toEvent(toGatewayError(error, deps.log).toBody()),
    )
    .then((last) => {
      deps.heartbeat.delete(sink);
      sink.send(last);
      sink.end();
    })
    .catch((error) => deps.log.error("stream_failed", { call: call.id, error }));
  // The status line waits for the first chunk or heartbeat: until then a failure is an ordinary HTTP error.
  await Promise.race([sink.opened, answer]);
  call.restoreIdleTimeout();
  const headers = callHeaders(call, deps.snapshot().sandbox, "text/event-stream; charset=utf-8");
  headers["cache-control"] = "no-cache";
  headers["x-accel-buffering"] = "no";
  return new Response(sink.body, { headers });
}

function toEvent(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
