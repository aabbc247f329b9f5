import { Elysia } from "elysia";
import { type ChatChunk, ChatCompletion, ChatRequest } from "../contract/index.ts";
import { authenticated, callerOf } from "./authenticate.ts";
import { answers } from "./describe.ts";
import { toGatewayError } from "./errors.ts";
import type { HttpGround } from "./ground.ts";
import { putProgress } from "./headers.ts";
import { begin, type ResponseHeaders, run } from "./run.ts";
import { StreamOutlet } from "./stream-outlet.ts";

const encoder = new TextEncoder();
const doneBytes = encoder.encode("data: [DONE]\n\n");

/** POST /chat/completions, whole or as server-sent events. */
export function chatController(ground: HttpGround) {
  return new Elysia().use(authenticated(ground.authenticate)).post(
    "/chat/completions",
    async ({ body, request, set }) => {
      const caller = await callerOf(request, ground.authenticate);
      const headers = set.headers as ResponseHeaders;
      const progress = begin(ground, headers, request);
      if (body.stream !== true) {
        const completion = await run(ground, { capability: "chat", caller, request: body, progress });
        putProgress(headers, progress, ground.sandbox);
        return completion;
      }
      const outlet = new StreamOutlet<ChatChunk>(progress, encodeChunk);
      const done = run(ground, { capability: "chat", caller, request: body, progress, outlet });
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
      putProgress(headers, progress, ground.sandbox);
      headers["content-type"] = "text/event-stream; charset=utf-8";
      headers["cache-control"] = "no-cache";
      headers["x-accel-buffering"] = "no";
      return new Response(outlet.body);
    },
    {
      body: ChatRequest,
      detail: {
        summary: "Chat text generation",
        description: "With `stream: true` the answer is `text/event-stream`, ended by `data: [DONE]`.",
        tags: ["Models at work"],
        responses: answers(ChatCompletion),
      },
    },
  );
}

function encodeChunk(chunk: ChatChunk): Uint8Array {
  return encodeData(chunk);
}

function encodeData(value: unknown): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(value)}\n\n`);
}
