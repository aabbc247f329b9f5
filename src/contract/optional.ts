import { type TNull, type TOptional, type TSchema, type TUnion, Type } from "@sinclair/typebox";

/** A field that may be left out or be `null`, which OpenAI's clients send for "not set". Both mean absent. */
export function optional<T extends TSchema>(schema: T): TOptional<TUnion<[T, TNull]>> {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/** A schema that `null` fits too. */
export function nullable<Schema extends TSchema>(schema: Schema): TUnion<[Schema, TNull]> {
  return Type.Union([schema, Type.Null()]);
}

/** A JSON object that may have further members. */
export const open = { additionalProperties: true } as const;
