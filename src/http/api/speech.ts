import { Elysia } from "elysia";
import { SpeechRequest } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { ByteStream } from "../middleware/byte-stream.ts";
import { apiKeyRoutes, callHeaders, executeCall, readJsonCall } from "../middleware/handle-call.ts";
import { requestBody } from "../middleware/validation-errors.ts";
import { Bytes, responses } from "./openapi.ts";

const Body = requestBody(SpeechRequest);

/** POST /audio/speech: WAV bytes as the provider sends them. */
export function speechController(deps: HttpDeps) {
  return new Elysia().use(apiKeyRoutes(deps)).post(
    "/audio/speech",
    async ({ call, body }) => {
      const sink = new ByteStream(call);
      const answer = executeCall(deps, call, { capability: "speech", request: body, sink });
      const finished = answer.then(
        () => sink.end(),
        (error) => sink.abort(error),
      );
      finished.catch((error) => deps.log.error("stream_failed", { call: call.id, error }));
      await Promise.race([sink.opened, answer]);
      call.restoreIdleTimeout();
      return new Response(sink.body, { headers: callHeaders(call, deps.snapshot().sandbox, "audio/wav") });
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
