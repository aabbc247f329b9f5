import { type TSchema, Type } from "@sinclair/typebox";
import { GatewayError, quoteValue } from "../../contract/index.ts";

const limitMax = 100;
const limitDefault = 20;

/** Parameters of a query, for the OpenAPI document. */
export function parameters(named: Readonly<Record<string, { description: string; schema: object; required?: true }>>) {
  return Object.entries(named).map(([name, { description, schema, required = false }]) => ({
    name,
    in: "query" as const,
    description,
    required,
    schema: schema as never,
    ...((schema as { type?: string }).type === "array" && { style: "form" as const, explode: true }),
  }));
}

/** Query parameters shared by all lists. */
export const listParameters = toListParameters(limitMax);

/** Query parameters of a list with another maximum page size. */
export function toListParameters(maximum: number) {
  return {
    limit: {
      description: "Entries on a page",
      schema: { type: "integer", minimum: 1, maximum, default: limitDefault },
    },
    after: { description: "The id of the last entry of the previous page", schema: { type: "string" } },
  };
}

/** All values of a parameter, however clients write lists: `a=1&a=2`, `a[]=1` or `a[0]=1`. */
export function readAll(query: URLSearchParams, name: string): string[] {
  const isIt = (param: string) =>
    param === name || (param.startsWith(`${name}[`) && /^\[\d*\]$/.test(param.slice(name.length)));
  return [...query].filter(([param, value]) => isIt(param) && value !== "").map(([, value]) => value);
}

/** A whole number of a query. @throws {GatewayError} `invalid_request` */
export function readWhole(
  query: URLSearchParams,
  name: string,
  [low, high]: readonly [number, number],
): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= low && value <= high) return value;
  throw invalid(name, `${name} is ${quoteValue(text)}, expected a whole number from ${low} to ${high}`);
}

/** `true` or `false`; absent: false. @throws {GatewayError} `invalid_request` */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name);
  if (text === null || text === "" || text === "false") return false;
  if (text === "true") return true;
  throw invalid(name, `${name} is ${quoteValue(text)}, expected true or false`);
}

/** The page of a list that a query asks for. @throws {GatewayError} `invalid_request` */
export function readPage(query: URLSearchParams, maximum = limitMax): { limit: number; after: string | undefined } {
  return { limit: readWhole(query, "limit", [1, maximum]) ?? limitDefault, after: query.get("after") ?? undefined };
}

/**
 * The entries of a list that is read as a whole which {@link toList} takes for a page.
 *
 * @throws {GatewayError} `invalid_request` for an `after` that is the id of none.
 */
export function pickPage<Entry>(
  entries: readonly Entry[],
  query: URLSearchParams,
  idOf: (entry: Entry) => string,
  limitMax?: number,
): readonly Entry[] {
  const { limit, after } = readPage(query, limitMax);
  const place = after === undefined ? 0 : entries.findIndex((entry) => idOf(entry) === after) + 1;
  if (after !== undefined && place === 0) throw invalid("after", "No entry of this list has the id in after");
  return entries.slice(place, place + limit + 1);
}

/** Makes a page of a list. `entries` must have one entry more than the limit if another page follows. */
export function toList<Entry, Json extends { id: string }>(
  entries: readonly Entry[],
  limit: number,
  toJson: (entry: Entry) => Json,
) {
  const data = entries.slice(0, limit).map(toJson);
  return {
    object: "list" as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: entries.length > limit,
  };
}

/** The schema of {@link toList}, for the OpenAPI document. */
export function listOf(entry: TSchema) {
  const id = Type.Union([Type.String(), Type.Null()]);
  return Type.Object({
    object: Type.Literal("list"),
    data: Type.Array(entry),
    first_id: id,
    last_id: id,
    has_more: Type.Boolean(),
  });
}

/** Seconds since 1970, as OpenAI's API has times. */
export function toSeconds(at: number): number {
  return Math.floor(at / 1000);
}

export function toSecondsOrNull(at: number | undefined): number | null {
  return at === undefined ? null : toSeconds(at);
}

export function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
