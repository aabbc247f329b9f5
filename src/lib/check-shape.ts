import { type TSchema, TypeGuard } from "@sinclair/typebox";
import { Value, type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { quoteValue } from "../contract/index.ts";
import { suggestName } from "./did-you-mean.ts";

/** An error in a value, and its path. */
export interface ShapeError {
  /** Such as `.price.inputToken.per` or `.models[2]`; empty when it is the value itself. */
  path: string;
  /** Begins in lower case, because it follows the path: `got 1, expected string`. */
  reason: string;
}

/**
 * Prepares a check of values that people write. The schema is not compiled: for the catalogue's rows that takes longer than
 * to check all of them, and a start waits for it.
 *
 * @returns A function that says what is wrong with a value, `undefined` when nothing is.
 */
export function shapeChecker(schema: TSchema): (value: unknown) => ShapeError | undefined {
  return (value) => {
    if (Value.Check(schema, value)) return undefined;
    const [first] = [...Value.Errors(schema, value)].sort(byUse);
    const error = first && findInner(first);
    if (error === undefined) return { path: "", reason: "it has another shape" };
    return { path: error.path.replace(/\/(\d+)/g, "[$1]").replaceAll("/", "."), reason: describeError(error) };
  };
}

/**
 * Sorts misspelt fields first, because they explain missing ones; then the deepest error, which is nearest to the
 * mistake.
 */
function byUse(a: ValueError, b: ValueError): number {
  const [first, second] = [a, b].map(({ type }) => Number(type === ValueErrorType.ObjectAdditionalProperties));
  return (second as number) - (first as number) || b.path.length - a.path.length;
}

/** Finds the error within the shape that a value resembles, where it may have one of several. */
function findInner(error: ValueError): ValueError {
  const inner = error.errors.flatMap((errors) => [...errors]).filter(({ path }) => path.length > error.path.length);
  const [first] = inner.sort(byUse);
  return first === undefined ? error : findInner(first);
}

function describeError(error: ValueError): string {
  const { schema, type, value } = error;
  const description = schema.description === undefined ? "" : `: ${lowerFirst(schema.description)}`;
  if (type === ValueErrorType.ObjectAdditionalProperties) {
    const field = error.path.slice(error.path.lastIndexOf("/") + 1);
    return `unknown field${suggestName(field, Object.keys(schema.properties))}`;
  }
  const expected = describeChoices(schema);
  if (type === ValueErrorType.ObjectRequiredProperty) {
    return `it is missing${expected === undefined ? "" : `, ${expected}`}${description}`;
  }
  // The description is easier to read than the pattern.
  if (type === ValueErrorType.StringPattern && description !== "") {
    return `got ${quoteValue(value)}, expected ${description.slice(2)}`;
  }
  return `got ${quoteValue(value)}, ${expected ?? `${lowerFirst(error.message)}${description}`}`;
}

/** Describes a value that may be one of several; `undefined` for others. */
function describeChoices({ anyOf, const: only }: TSchema): string | undefined {
  if (only !== undefined) return `expected ${only}`;
  if (!Array.isArray(anyOf)) return undefined;
  const choices: TSchema[] = anyOf;
  if (choices.every((choice) => TypeGuard.IsLiteral(choice))) {
    return `expected one of ${choices.map((choice) => String(choice.const)).join(", ")}`;
  }
  const types = choices.map(({ type }) => type);
  return types.includes(undefined) ? undefined : `expected ${types.join(" or ")}`;
}

export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
