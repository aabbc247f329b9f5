import { type Static, Type } from "@sinclair/typebox";
import { optional } from "../contract/index.ts";
import type { AnswerStream } from "./answer-stream.ts";

/** Formats of speech. Every model makes the first two; the others are those that its row names. */
export const speechFormats = ["wav", "pcm", "mp3", "opus", "aac", "flac"] as const;
export type SpeechFormat = (typeof speechFormats)[number];

/** Body of POST /audio/speech. */
export const SpeechRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, maxLength: 200 }),
    input: Type.String({ minLength: 1, maxLength: 100_000 }),
    voice: optional(Type.String({ minLength: 1, maxLength: 200 })),
    response_format: optional(
      Type.Union(
        speechFormats.map((name) => Type.Literal(name)),
        { description: "Default wav" },
      ),
    ),
    stream_format: optional(Type.Union([Type.Literal("audio"), Type.Literal("sse")])),
    speed: optional(Type.Number({ minimum: 0.25, maximum: 4 })),
    target_language_code: optional(Type.String({ pattern: "^[a-z]{2,3}-[A-Z]{2}$", description: "Such as hi-IN" })),
    speech_sample_rate: optional(Type.Integer({ minimum: 8000, maximum: 48_000, description: "Hz" })),
    pace: optional(Type.Number({ minimum: 0.3, maximum: 3 })),
  },
  { additionalProperties: true },
);
export type SpeechRequest = Static<typeof SpeechRequest>;

/**
 * Answer of a `speech` handler, whole or as a stream of its bytes: one valid WAV file, or a file of the requested
 * `response_format`. A handler is called only with formats that the row of the model names.
 */
export interface Speech {
  audio: Uint8Array<ArrayBuffer> | AnswerStream<Uint8Array<ArrayBuffer>>;
  /** The provider's report once all of the bytes were read, by `TokenUsage`, where it bills tokens. */
  readUsage?(): Record<string, unknown> | undefined;
}
