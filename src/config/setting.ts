import { type TSchema, Type } from "@sinclair/typebox";

/** One setting: its variable, what is taken when it is not set, and how its text becomes a checked value. */
export interface Setting<S extends TSchema = TSchema> {
  readonly variable: string;
  readonly schema: S;
  readonly expected: string;
  readonly fallback: string | undefined;
  readonly secret?: true;
  read?(text: string): unknown;
}

export const define = <S extends TSchema>(setting: Setting<S>): Setting<S> => setting;

export const hostForm = "^[A-Za-z0-9._:-]{1,253}$";

export const oneOf = <const T extends string[]>(...words: T) =>
  Type.Union(words.map((word) => Type.Literal(word as T[number])));

export function withoutBrackets(text: string): string {
  return text.replace(/^\[(.*)\]$/, "$1");
}

export function toWhole(text: string): number | string {
  return /^\d{1,16}$/.test(text) ? Number(text) : text;
}
