import { UpstreamError } from "../contract/index.ts";
import { toFigures, toWrittenText } from "../provider/index.ts";
import { isRecord } from "./json.ts";

/** Expected shape of a value: a type, a list of such, or an object with these members; `{}` is any object. */
export type Shape = "string" | "number" | "boolean" | "any" | readonly [Shape] | { readonly [name: string]: Shape };

/** Value of a shape; each member of an object may be absent. */
export type ParsedShape<S> = S extends "string"
  ? string
  : S extends "number"
    ? number
    : S extends "boolean"
      ? boolean
      : S extends "any"
        ? unknown
        : S extends readonly [infer Member]
          ? ParsedShape<Member>[]
          : keyof S extends never
            ? Record<string, unknown>
            : { -readonly [Name in keyof S]?: ParsedShape<S[Name]> | undefined };

/**
 * Repairs an answer in place to fit a shape. A number that came as text, or a text that came as parts or a number, is
 * converted. Other members of a wrong kind, most often `null`, are deleted and count as absent. Members that the shape
 * does not name stay as they are.
 *
 * @returns Whether the value itself is of the kind.
 * @throws {UpstreamError} `bad_response` for a list with a wrong member: only part of its content could be returned.
 *
 * @example
 * parseShape({ text: "Hi", signature: null }, { text: "string", signature: "string" }); // => true
 * parseShape(null, { text: "string" }); // => false
 */
export function parseShape<const S extends Shape>(value: unknown, shape: S): value is ParsedShape<S> {
  return fits(value, shape);
}

function fits(value: unknown, shape: Shape): boolean {
  if (typeof shape === "string") return shape === "any" || typeof value === shape;
  if (isList(shape)) {
    if (!Array.isArray(value)) return false;
    if (value.every((member) => fits(member, shape[0]))) return true;
    throw new UpstreamError("bad_response", "The provider's response does not match its schema");
  }
  if (!isRecord(value)) return false;
  for (const name in shape) {
    const member = value[name];
    if (member === undefined || fits(member, shape[name] as Shape)) continue;
    const coerced = coerce(member, shape[name] as Shape);
    if (coerced === undefined) delete value[name];
    else value[name] = coerced;
  }
  return true;
}

/** A text or a number that came in another form; `undefined` for what is neither. */
function coerce(value: unknown, shape: Shape): unknown {
  if (value === null) return undefined;
  if (shape === "string") return toWrittenText(value);
  const figure = shape === "number" ? toFigures(value) : undefined;
  return typeof figure === "number" ? figure : undefined;
}

const isList = (shape: Shape): shape is readonly [Shape] => Array.isArray(shape);
