import { Elysia } from "elysia";
import { SpeakRequest } from "../contract/index.ts";
import { authenticated, callerOf } from "./authenticate.ts";
import { answers } from "./describe.ts";
import type { HttpGround } from "./ground.ts";
import { putProgress } from "./headers.ts";
import { begin, type ResponseHeaders, run } from "./run.ts";
import { StreamOutlet } from "./stream-outlet.ts";

/** POST /audio/speech: WAV bytes as the provider makes them. */
export function speechController(ground: HttpGround) {
  return new Elysia().use(authenticated(ground.authenticate)).post(
    "/audio/speech",
    async ({ body, request, set }) => {
      const caller = await callerOf(request, ground.authenticate);
      const headers = set.headers as ResponseHeaders;
      const progress = begin(ground, headers, request);
      const outlet = new StreamOutlet<Uint8Array>(progress, (bytes) => bytes);
      const done = run(ground, { capability: "speak", caller, request: body, progress, outlet });
      const finished = done.then(
        () => outlet.end(),
        (error) => outlet.abort(error),
      );
      finished.catch((error) => ground.log.error("stream_failed", { call: progress.id, error }));
      await Promise.race([outlet.opened, done]);
      putProgress(headers, progress, ground.sandbox);
      headers["content-type"] = "audio/wav";
      return new Response(outlet.body);
    },
    {
      body: SpeakRequest,
      detail: { summary: "Text to speech", tags: ["Models at work"], responses: answers("binary", "audio/wav") },
    },
  );
}
