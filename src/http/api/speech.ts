import { Buffer } from "node:buffer";
import { Type } from "@sinclair/typebox";
import type { Meters } from "../../contract/index.ts";
import { chooseSpeechFormat } from "../../kernel/index.ts";
import { toNamedEvent } from "../../protocols/inbound.ts";
import { type SpeechFormat, SpeechRequest } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { ByteStream } from "../lifecycle/byte-stream.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { callHeaders, sseReply } from "../lifecycle/respond.ts";
import { SseStream } from "../sse/sse-stream.bun.ts";
import { ByteBody, responses } from "./openapi.ts";

const Body = SpeechRequest;

const mediaTypes: Readonly<Record<SpeechFormat, string>> = {
  wav: "audio/wav",
  pcm: "audio/pcm",
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  aac: "audio/aac",
  flac: "audio/flac",
};

/** POST /audio/speech: the audio as the provider sends it, WAV unless the request names another format. */
export function speechController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/audio/speech",
        body: jsonBody(deps, Body, { capability: "speech" }),
        detail: {
          summary: "Text to speech",
          description: "With `stream_format: sse` the file comes in `speech.audio.delta` events.",
          tags: ["Calls"],
          responses: responses({
            ...Object.fromEntries(Object.values(mediaTypes).map((type) => [type, ByteBody])),
            "text/event-stream": Type.Unknown({ description: "speech.audio.delta events, then speech.audio.done" }),
          }),
        },
      },
      async ({ call, body: { stream_format: format, ...request } }) => {
        if (format === "sse") return await streamEvents(deps, call, request);
        const sink = new ByteStream(call);
        const endSending = call.memory.startSending();
        const answer = executeCall(deps, call, { capability: "speech", request, sink });
        const finished = answer.then(
          () => sink.end(),
          (error) => sink.abort(error),
        );
        finished.catch((error) => deps.log.error("stream_failed", { call: call.id, error })).finally(endSending);
        await Promise.race([sink.opened, answer]);
        call.restoreIdleTimeout();
        const mediaType = mediaTypes[chooseSpeechFormat(request, call.modelEntry.model)];
        return new Response(sink.body, { headers: callHeaders(call, deps.snapshot().sandbox, mediaType) });
      },
    ),
  ];
}

function streamEvents(deps: HttpDeps, call: HttpCall, request: SpeechRequest): Promise<Response> {
  const sink = new SseStream<Uint8Array>(call, (bytes) => {
    return toNamedEvent({ type: "speech.audio.delta", audio: Buffer.from(bytes).toString("base64") });
  });
  const answer = executeCall(deps, call, { capability: "speech", request, sink });
  return sseReply(
    deps,
    call,
    sink,
    answer.then(() => toNamedEvent({ type: "speech.audio.done", ...toUsage(call.meters) })),
  );
}

/** The tokens that are charged; absent where characters are. */
function toUsage({ inputToken: input, outputToken = 0, audioOutputToken: output = outputToken }: Meters) {
  if (input === undefined) return {};
  return { usage: { input_tokens: input, output_tokens: output, total_tokens: input + output } };
}
