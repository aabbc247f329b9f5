import { Type } from "@sinclair/typebox";
import { TranscribeFields, TranscriptSegment, TranscriptWord } from "../contract/index.ts";

/** The multipart form, for the OpenAPI document. */
export const TranscriptionForm = Type.Object({
  ...TranscribeFields.properties,
  model: Type.Optional(TranscribeFields.properties.model),
  file: Type.String({ format: "binary", description: "mp3, mp4, mpeg, mpga, m4a, wav or webm; at most 25 MB" }),
});

/** The JSON answers, plain and verbose, for the OpenAPI document. */
export const TranscriptionAnswer = Type.Object({
  text: Type.String(),
  task: Type.Optional(Type.Literal("transcribe")),
  language: Type.Optional(Type.String()),
  duration: Type.Optional(Type.Number({ description: "Seconds" })),
  segments: Type.Optional(Type.Array(TranscriptSegment)),
  words: Type.Optional(Type.Array(TranscriptWord)),
  usage: Type.Optional(Type.Object({ type: Type.Literal("duration"), seconds: Type.Integer() })),
});
