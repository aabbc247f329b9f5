import { type TNull, type TOptional, type TSchema, type TUnion, Type } from "@sinclair/typebox";

/** What a model can do; each is one endpoint and one handler of a plugin. */
export const capabilities = ["chat", "embeddings", "images", "transcription", "speech"] as const;

export type Capability = (typeof capabilities)[number];

/** The endpoint of each capability, below the base path. */
export const endpointOf: Record<Capability, string> = {
  chat: "/chat/completions",
  embeddings: "/embeddings",
  images: "/images/generations",
  transcription: "/audio/transcriptions",
  speech: "/audio/speech",
};

/** A field that may be left out or be `null`, which OpenAI's clients send for "not set". Both mean absent. */
export function optional<T extends TSchema>(schema: T): TOptional<TUnion<[T, TNull]>> {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}
