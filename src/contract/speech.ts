import { type Static, Type } from "@sinclair/typebox";
import { optional } from "./capability.ts";

/** Body of POST /audio/speech. The answer is always WAV, so `response_format` takes only `wav`. */
export const SpeechRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    input: Type.String({ minLength: 1, maxLength: 100_000 }),
    voice: optional(Type.String({ minLength: 1, maxLength: 200 })),
    response_format: optional(Type.Literal("wav")),
    stream_format: optional(Type.Union([Type.Literal("audio"), Type.Literal("sse")])),
    speed: optional(Type.Number({ minimum: 0.25, maximum: 4 })),
    target_language_code: optional(Type.String({ pattern: "^[a-z]{2,3}-[A-Z]{2}$", description: "Such as hi-IN" })),
    speech_sample_rate: optional(Type.Integer({ minimum: 8000, maximum: 48_000, description: "Hz" })),
    pace: optional(Type.Number({ minimum: 0.3, maximum: 3 })),
  },
  { additionalProperties: true },
);
export type SpeechRequest = Static<typeof SpeechRequest>;

/** What a `speech` handler returns: one valid WAV file, whole or as a stream of its bytes. */
export interface Speech {
  wav: Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array<ArrayBuffer>>;
}
