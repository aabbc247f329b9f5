import { Elysia } from "elysia";
import { SpeakRequest } from "../contract/index.ts";
import { BytesOutlet } from "./bytes-outlet.ts";
import { answers, Bytes, jsonBody } from "./describe.ts";
import { awaitNoMore, jsonEndpoint } from "./endpoint.ts";
import type { HttpGround } from "./ground.ts";
import { callHeaders } from "./headers.ts";
import { run } from "./run.ts";

/** POST /audio/speech: WAV bytes as the provider makes them. */
export function speechController(ground: HttpGround) {
  const answer = jsonEndpoint(ground, SpeakRequest, async (visit, request) => {
    const { progress } = visit;
    const outlet = new BytesOutlet(progress);
    const done = run(ground, visit, { capability: "speak", request, outlet });
    const finished = done.then(
      () => outlet.end(),
      (error) => outlet.abort(error),
    );
    finished.catch((error) => ground.log.error("stream_failed", { call: progress.id, error }));
    await Promise.race([outlet.opened, done]);
    awaitNoMore(visit);
    return new Response(outlet.body, { headers: callHeaders(progress, ground.sandbox, "audio/wav") });
  });
  return new Elysia().post("/audio/speech", answer, {
    parse: "none",
    detail: {
      summary: "Text to speech",
      tags: ["Models at work"],
      requestBody: jsonBody(SpeakRequest),
      responses: answers({ "audio/wav": Bytes }),
    },
  });
}
