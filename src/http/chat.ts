import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type ChatChunk, ChatCompletion, ChatRequest } from "../contract/index.ts";
import { answers, jsonBody } from "./describe.ts";
import { awaitNoMore, jsonEndpoint, type Visit } from "./endpoint.ts";
import { toGatewayError } from "./errors.ts";
import { EventOutlet } from "./event-outlet.bun.ts";
import type { HttpGround } from "./ground.ts";
import { callHeaders } from "./headers.ts";
import { jsonReply, run } from "./run.ts";

const done = "data: [DONE]\n\n";

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, ChatRequest, async (visit, request) => {
    if (request.stream === true) return stream(ground, visit, request);
    return jsonReply(ground, visit.progress, await run(ground, visit, { capability: "chat", request }));
  });
  return new Elysia().post("/chat/completions", answer, {
    parse: "none",
    detail: {
      summary: "Chat text generation",
      description: "With `stream: true` the answer is `text/event-stream`, ended by `data: [DONE]`.",
      tags: ["Models at work"],
      requestBody: jsonBody(ChatRequest),
      responses: answers({
        "application/json": ChatCompletion,
        "text/event-stream": Type.Unknown({ description: "One ChatCompletionChunk an event" }),
      }),
    },
  });
}

async function stream(ground: HttpGround, visit: Visit, request: ChatRequest): Promise<Response> {
  const { progress } = visit;
  const outlet = new EventOutlet<ChatChunk>(progress, eventOf);
  ground.keepAlive.add(outlet);
  const answered = run(ground, visit, { capability: "chat", request, outlet });
  const finished = answered.then(
    () => {
      ground.keepAlive.delete(outlet);
      outlet.send(done);
      outlet.end();
    },
    (error) => {
      ground.keepAlive.delete(outlet);
      outlet.send(eventOf(toGatewayError(error, ground.log).toBody()));
      outlet.end();
    },
  );
  finished.catch((error) => ground.log.error("stream_failed", { call: progress.id, error }));
  // The status line waits for the first piece, or a long silence: until then a failure is an ordinary error answer.
  await Promise.race([outlet.opened, answered]);
  awaitNoMore(visit);
  const headers = callHeaders(progress, ground.sandbox, "text/event-stream; charset=utf-8");
  headers["cache-control"] = "no-cache";
  headers["x-accel-buffering"] = "no";
  return new Response(outlet.body, { headers });
}

function eventOf(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
