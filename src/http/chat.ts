import { Elysia } from "elysia";
import { type ChatChunk, ChatCompletion, ChatRequest } from "../contract/index.ts";
import { answers, jsonBody } from "./describe.ts";
import { jsonEndpoint, type Visit } from "./endpoint.ts";
import { toGatewayError } from "./errors.ts";
import type { HttpGround } from "./ground.ts";
import { callHeaders } from "./headers.ts";
import { jsonReply, run } from "./run.ts";
import { StreamOutlet } from "./stream-outlet.ts";

const encoder = new TextEncoder();
const doneBytes = encoder.encode("data: [DONE]\n\n");

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, ChatRequest, async (visit, request) => {
    if (request.stream === true) return stream(ground, visit, request);
    const { caller, progress } = visit;
    return jsonReply(ground, progress, await run(ground, { capability: "chat", caller, request, progress }));
  });
  return new Elysia().post("/chat/completions", answer, {
    parse: "none",
    detail: {
      summary: "Chat text generation",
      description: "With `stream: true` the answer is `text/event-stream`, ended by `data: [DONE]`.",
      tags: ["Models at work"],
      requestBody: jsonBody(ChatRequest),
      responses: answers(ChatCompletion),
    },
  });
}

async function stream(ground: HttpGround, visit: Visit, request: ChatRequest): Promise<Response> {
  const { caller, progress } = visit;
  const outlet = new StreamOutlet<ChatChunk>(progress, encodeData);
  // Until the answer has a body, only the request knows that its client left.
  visit.request.signal.addEventListener("abort", () => progress.cut("left"));
  const done = run(ground, { capability: "chat", caller, request, progress, outlet });
  const finished = done.then(
    () => {
      outlet.send(doneBytes);
      outlet.end();
    },
    (error) => {
      outlet.send(encodeData(toGatewayError(error, ground.log).toBody()));
      outlet.end();
    },
  );
  finished.catch((error) => ground.log.error("stream_failed", { call: progress.id, error }));
  // The status line waits for the first piece: until then a failure is an ordinary error answer.
  await Promise.race([outlet.opened, done]);
  const headers = callHeaders(progress, ground.sandbox, "text/event-stream; charset=utf-8");
  headers["cache-control"] = "no-cache";
  headers["x-accel-buffering"] = "no";
  return new Response(outlet.body, { headers });
}

function encodeData(value: unknown): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(value)}\n\n`);
}
