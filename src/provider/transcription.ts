import { type Static, Type } from "@sinclair/typebox";

/** The largest audio file taken, in bytes. */
export const audioFileBytesMax = 25 * 1024 * 1024;

/** The accepted audio formats, by file extension. */
export const audioFormats = ["mp3", "mp4", "mpeg", "mpga", "m4a", "wav", "webm"] as const;

/** Fields of POST /audio/transcriptions other than the file, converted from the text of the multipart form. */
export const TranscriptionFields = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 200, default: "famW-large-v3-turbo" }),
  language: Type.Optional(Type.String({ pattern: "^[a-z]{2,3}(-[A-Za-z]{2,4})?$", description: "ISO 639-1 code" })),
  response_format: Type.Optional(
    Type.Union([Type.Literal("json"), Type.Literal("text"), Type.Literal("verbose_json")]),
  ),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  prompt: Type.Optional(Type.String({ maxLength: 10_000 })),
  stream: Type.Optional(Type.Boolean()),
  timestamp_granularities: Type.Optional(
    Type.Array(Type.Union([Type.Literal("word"), Type.Literal("segment")]), { maxItems: 2 }),
  ),
});
export type TranscriptionFields = Static<typeof TranscriptionFields>;

/** Request of a `transcription` handler: the checked fields and the file, with its length where it could be read. */
export interface TranscriptionRequest extends TranscriptionFields {
  file: File;
  /** Length of the audio in milliseconds as the file itself says; absent when it does not. A caller can forge it. */
  audioMs?: number | undefined;
  /** Shortest and longest time that a file of this size and format can play, in milliseconds. Set by the kernel. */
  audioMsMin?: number | undefined;
  audioMsMax?: number | undefined;
  /** Names of the form's fields that no transcription takes. They are not sent, and are reported to the caller. */
  unknownFields?: readonly string[] | undefined;
}

export const TranscriptSegment = Type.Object({
  id: Type.Integer(),
  seek: Type.Integer(),
  start: Type.Number({ description: "Seconds" }),
  end: Type.Number({ description: "Seconds" }),
  text: Type.String(),
  tokens: Type.Array(Type.Integer()),
  temperature: Type.Number(),
  avg_logprob: Type.Number(),
  compression_ratio: Type.Number(),
  no_speech_prob: Type.Number(),
});
export type TranscriptSegment = Static<typeof TranscriptSegment>;

export const TranscriptWord = Type.Object({ word: Type.String(), start: Type.Number(), end: Type.Number() });
export type TranscriptWord = Static<typeof TranscriptWord>;

/** Answer of a `transcription` handler. Only the text is always known. */
export interface Transcript {
  text: string;
  /** Language name or code as the provider says it. */
  language?: string | undefined;
  /** Length of the audio in seconds as the provider measured it. */
  duration?: number | undefined;
  segments?: TranscriptSegment[] | undefined;
  words?: TranscriptWord[] | undefined;
  /** Usage as the provider reported it, by `TokenUsage`, if it bills tokens. The kernel drops any other fields. */
  usage?: Record<string, unknown> | undefined;
}
