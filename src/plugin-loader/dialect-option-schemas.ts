import { type TSchema, Type } from "@sinclair/typebox";
import type { Capability } from "../contract/index.ts";
import type { ChatOptions, RequestOptions, TranscriptionOptions } from "../sdk/index.ts";

const words = Type.Array(Type.String({ minLength: 1 }));
const request = {
  omit: words,
  rename: Type.Record(Type.String(), Type.String()),
  values: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
  extra: Type.Record(Type.String(), Type.Unknown()),
} satisfies Record<keyof RequestOptions, TSchema>;

const chat = {
  ...request,
  messageOmit: words,
  systemRole: Type.Union([Type.Literal("system"), Type.Literal("developer")]),
  functions: Type.Union([Type.Literal("pass"), Type.Literal("convert")]),
  reasoningEfforts: words,
  toolEfforts: words,
  reasoningOmit: words,
  streamOptions: Type.Boolean(),
  drop: words,
  reasoningFields: words,
  think: Type.Boolean(),
  finishReasons: Type.Record(Type.String(), Type.String()),
  streamsSchemas: Type.Boolean(),
  usageIn: Type.String({ minLength: 1 }),
} satisfies Record<keyof ChatOptions, TSchema>;

const transcription = { ...request, verbose: Type.Boolean() } satisfies Record<keyof TranscriptionOptions, TSchema>;

const closed = (fields: Record<string, TSchema>) =>
  Type.Optional(Type.Partial(Type.Object(fields), { additionalProperties: false }));

/** What a manifest may say under `quirks`: the options of the dialect, by capability. */
export const DialectOptions = Type.Object(
  {
    chat: closed(chat),
    embeddings: closed(request),
    images: closed(request),
    transcription: closed(transcription),
    speech: closed(request),
  } satisfies Record<Capability, TSchema>,
  { additionalProperties: false },
);
