import { Elysia } from "elysia";
import { SpeechRequest } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { ByteStream } from "../middleware/byte-stream.ts";
import { apiKeyRoutes, executeCall, readJsonCall } from "../middleware/handle-call.ts";
import { callHeaders } from "../middleware/headers.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { Bytes, responses } from "./openapi.ts";

const Body = requestBody(SpeechRequest);

/** POST /audio/speech: WAV bytes as the provider makes them. */
export function speechController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/audio/speech",
    async ({ call, body }) => {
      const { progress } = call;
      const outlet = new ByteStream(progress);
      const done = executeCall(deps, call, { capability: "speech", request: body, outlet });
      const finished = done.then(
        () => outlet.end(),
        (error) => outlet.abort(error),
      );
      finished.catch((error) => deps.log.error("stream_failed", { call: progress.id, error }));
      await Promise.race([outlet.opened, done]);
      call.restoreIdleTimeout();
      return new Response(outlet.body, { headers: callHeaders(progress, deps.shelf().sandbox, "audio/wav") });
    },
    {
      parse: [readJsonCall(deps), "json"],
      body: Body,
      detail: {
        summary: "Text to speech",
        tags: ["Models at work"],
        responses: responses({ "audio/wav": Bytes }),
      },
    },
  );
}
