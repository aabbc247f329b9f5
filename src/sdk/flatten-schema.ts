import { decodePercent, type GatewayError } from "../contract/index.ts";
import { badRequest } from "./errors.ts";
import { isRecord } from "./json.ts";

/** A schema as it was sent, and the references that led to it: what a cycle is known by. */
interface Piece {
  schema: unknown;
  refs: readonly string[];
}

/** Schemas that hold for one place together, as `allOf` says. */
export type Pieces = readonly Piece[];

/** One place of a schema with its `$ref` and `allOf` worked in. The schemas below it are still in pieces. */
export interface FlatSchema {
  /** Lower case; `undefined` when nothing is said. */
  types: string[] | undefined;
  /** Of `enum` or `const`. */
  values: unknown[] | undefined;
  properties: Map<string, Pieces> | undefined;
  required: Set<string>;
  items: Pieces | undefined;
  /** Schemas of a tuple's places. */
  places: Pieces[] | undefined;
  /** Of `anyOf` or `oneOf`. */
  choices: Pieces[] | undefined;
  /** All other keywords. */
  rest: Map<string, unknown>;
}

/** Of a JSON pointer's parts: a property is two, `items` is one. */
const stepsMax = 128;
const piecesMax = 3000;

/** Keywords that only make or name schemas: taken out without a report, because nothing is lost with them. */
const scaffolding = new Set(["$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "$ref", "allOf"]);

/** Flattens the places of one schema document, and counts them, so that a small text cannot unfold without end. */
export class SchemaFlattener {
  /** JSON pointers of what could not be kept. */
  readonly dropped = new Set<string>();
  readonly #root: unknown;
  readonly #param: string | undefined;
  #pieces = 0;

  constructor(root: unknown, param: string | undefined) {
    this.#root = root;
    this.#param = param;
  }

  /**
   * Merges the pieces of one place.
   *
   * @throws {GatewayError} `invalid_request` beyond 128 steps or 3000 schemas.
   */
  flatten(pieces: Pieces, pointer: string): FlatSchema {
    const flat: FlatSchema = {
      types: undefined,
      values: undefined,
      properties: undefined,
      required: new Set(),
      items: undefined,
      places: undefined,
      choices: undefined,
      rest: new Map(),
    };
    const depth = pointer.split("/").length;
    for (const piece of pieces) this.#take(flat, piece, pointer, depth);
    return flat;
  }

  #take(flat: FlatSchema, piece: Piece, pointer: string, depth: number): void {
    this.#pieces += 1;
    if (depth > stepsMax) throw this.#badRequest(`is nested more than ${stepsMax} steps deep`);
    if (this.#pieces > piecesMax) throw this.#badRequest(`unfolds to more than ${piecesMax} schemas`);
    const { schema, refs } = piece;
    if (schema === true) return;
    if (!isRecord(schema)) {
      this.dropped.add(pointer);
      return;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      if (!scaffolding.has(keyword) && !takeKeyword(flat, keyword, value, refs))
        this.dropped.add(`${pointer}/${keyword}`);
    }
    if (typeof schema.$ref === "string") this.#follow(flat, piece, pointer, depth);
    if (Array.isArray(schema.allOf)) {
      for (const part of schema.allOf) this.#take(flat, { schema: part, refs }, pointer, depth + 1);
    }
  }

  #follow(flat: FlatSchema, piece: Piece, pointer: string, depth: number): void {
    const ref = (piece.schema as { $ref: string }).$ref;
    const target = resolve(this.#root, ref);
    const isCycle = piece.refs.includes(ref) || target === this.#root;
    if (target !== undefined && !isCycle) {
      this.#take(flat, { schema: target, refs: [...piece.refs, ref] }, pointer, depth + 1);
      return;
    }
    this.dropped.add(`${pointer}/$ref`);
    // A cycle ends in the bare type of what it leads back to.
    if (isRecord(target) && target.type !== undefined) takeKeyword(flat, "type", target.type, []);
  }

  #badRequest(reason: string): GatewayError {
    return badRequest(`The JSON schema ${reason}: send a smaller one, with fewer references`, this.#param);
  }
}

/** One part of a JSON pointer, escaped. */
export function pointerPart(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** @returns Whether the keyword could be taken beside what is there already. */
function takeKeyword(flat: FlatSchema, keyword: string, value: unknown, refs: readonly string[]): boolean {
  const piece = (schema: unknown): Pieces => [{ schema, refs }];
  switch (keyword) {
    case "type":
      return takeTypes(flat, Array.isArray(value) ? value : [value]);
    case "enum":
      return Array.isArray(value) && takeValues(flat, value);
    case "const":
      return takeValues(flat, [value]);
    case "required":
      if (!Array.isArray(value)) return false;
      for (const name of value) if (typeof name === "string") flat.required.add(name);
      return true;
    case "properties":
      return takeProperties(flat, value, refs);
    case "items":
      if (Array.isArray(value)) return takePlaces(flat, value.map(piece));
      if (value === false) return true;
      flat.items = [...(flat.items ?? []), ...piece(value)];
      return true;
    case "prefixItems":
      return Array.isArray(value) && takePlaces(flat, value.map(piece));
    case "anyOf":
    case "oneOf":
      if (!Array.isArray(value) || flat.choices !== undefined) return false;
      flat.choices = value.map(piece);
      return true;
    default:
      return takeOther(flat.rest, keyword, value);
  }
}

function takeTypes(flat: FlatSchema, given: unknown[]): boolean {
  const types = given.filter((type) => typeof type === "string").map((type) => type.toLowerCase());
  if (types.length === 0) return false;
  if (flat.types === undefined) {
    flat.types = types;
    return true;
  }
  const known = flat.types;
  const narrow = types.filter((type) => known.includes(type) || (type === "integer" && known.includes("number")));
  if (known.includes("integer") && types.includes("number")) narrow.push("integer");
  if (narrow.length > 0) flat.types = [...new Set(narrow)];
  return narrow.length > 0;
}

function takeValues(flat: FlatSchema, values: unknown[]): boolean {
  if (flat.values === undefined) {
    flat.values = values;
    return true;
  }
  const texts = new Set(values.map((value) => JSON.stringify(value)));
  const common = flat.values.filter((value) => texts.has(JSON.stringify(value)));
  if (common.length > 0) flat.values = common;
  return common.length > 0;
}

function takeProperties(flat: FlatSchema, value: unknown, refs: readonly string[]): boolean {
  if (!isRecord(value)) return false;
  flat.properties ??= new Map();
  for (const [name, schema] of Object.entries(value)) {
    flat.properties.set(name, [...(flat.properties.get(name) ?? []), { schema, refs }]);
  }
  return true;
}

function takePlaces(flat: FlatSchema, places: Pieces[]): boolean {
  if (flat.places !== undefined) return false;
  flat.places = places;
  return true;
}

/** Of two bounds the narrower stands, of two annotations the outer one. */
function takeOther(rest: Map<string, unknown>, keyword: string, value: unknown): boolean {
  const known = rest.get(keyword);
  const bound = /^(?:exclusiveM|m)(in|ax)(?:imum$|[A-Z])/.exec(keyword)?.[1];
  if (known === undefined) rest.set(keyword, value);
  else if (bound !== undefined && typeof known === "number" && typeof value === "number") {
    rest.set(keyword, bound === "in" ? Math.max(known, value) : Math.min(known, value));
  } else return annotations.has(keyword) || JSON.stringify(known) === JSON.stringify(value);
  return true;
}

/** Keywords that say something about a place and bound nothing. */
const annotations = new Set(["title", "description", "default", "example", "examples", "deprecated", "readOnly"]);

function resolve(root: unknown, ref: string): unknown {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let at = root;
  for (const part of ref.slice(2).split("/")) {
    const name = decodePercent(part.replaceAll("~1", "/").replaceAll("~0", "~"));
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
