import { badRequest, decodePercent, type GatewayError } from "../contract/index.ts";

import { isRecord } from "./json.ts";
import type { SchemaBudget } from "./schema-budget.ts";

/** A schema as it was sent, and what the references that led to it point to: what a cycle is known by. */
interface Piece {
  schema: unknown;
  targets: readonly unknown[];
}

/** Schemas that hold for one place together, as `allOf` says. */
export type Pieces = readonly Piece[];

/** One place of a schema with its `$ref` and `allOf` worked in. The schemas below it are still in pieces. */
export interface FlatSchema {
  /** Lower case, each once; `undefined` when nothing is said. */
  types: string[] | undefined;
  /** Of `enum` or `const`. */
  values: unknown[] | undefined;
  properties: Map<string, Piece[]> | undefined;
  required: Set<string>;
  items: Piece[] | undefined;
  /** Schemas of a tuple's places. */
  places: Pieces[] | undefined;
  /** Of `anyOf` or `oneOf`. */
  choices: Pieces[] | undefined;
  /** All other keywords. */
  rest: Map<string, unknown>;
}

/** A place in a schema that is written out. */
export interface Pointer {
  /** A JSON pointer, cut where it gets so long that nobody reads it. */
  readonly text: string;
  /** Its parts: a property is two, `items` is one. */
  readonly depth: number;
}

export const rootPointer: Pointer = { text: "", depth: 1 };

const pointerCharactersMax = 1000;
const partCharactersMax = 200;

/** The place below another, through these keywords and names. */
export function pointBelow({ text, depth }: Pointer, ...parts: readonly (string | number)[]): Pointer {
  let below = text;
  for (const part of parts) {
    if (below.length > pointerCharactersMax) break;
    const name = String(part);
    const shown = name.length > partCharactersMax ? `${name.slice(0, partCharactersMax)}…` : name;
    below += `/${shown.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  }
  return { text: below, depth: depth + parts.length };
}

const stepsMax = 128;
/** Of what could not be kept so many places are told. */
const droppedMax = 100;

/** Keywords that only make or name schemas: taken out without a report, because nothing is lost with them. */
const scaffolding = new Set(["$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "$ref", "allOf"]);

/** The place that pieces are merged into. */
interface Place {
  readonly flat: FlatSchema;
  readonly pointer: Pointer;
  /** What references pointed to here: a schema says the second time what it said the first. */
  readonly taken: Set<unknown>;
}

/** Flattens the places of one schema document, and pays for each step, so that a small text cannot unfold without end. */
export class SchemaFlattener {
  readonly #dropped = new Set<string>();
  readonly #root: unknown;
  readonly #param: string | undefined;
  readonly #budget: SchemaBudget;
  readonly #targets = new Map<string, unknown>();

  constructor(root: unknown, param: string | undefined, budget: SchemaBudget) {
    this.#root = root;
    this.#param = param;
    this.#budget = budget;
  }

  /** JSON pointers of what could not be kept: the first of them. */
  get dropped(): string[] {
    return [...this.#dropped];
  }

  drop(pointer: Pointer, ...parts: readonly string[]): void {
    if (this.#dropped.size < droppedMax) this.#dropped.add(pointBelow(pointer, ...parts).text);
  }

  /** @throws {GatewayError} `invalid_request` when the request's schemas have taken all steps that they may. */
  pay(steps: number): void {
    this.#budget.pay(steps, this.#param);
  }

  /**
   * Merges the pieces of one place.
   *
   * @throws {GatewayError} `invalid_request` beyond 128 steps down or the request's budget.
   */
  flatten(pieces: Pieces, pointer: Pointer): FlatSchema {
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
    const place: Place = { flat, pointer, taken: new Set() };
    for (const piece of pieces) this.#take(place, piece, pointer.depth);
    return flat;
  }

  #take(place: Place, piece: Piece, depth: number): void {
    this.pay(1);
    if (depth > stepsMax) throw this.#badRequest(`is nested more than ${stepsMax} steps deep`);
    const { schema, targets } = piece;
    if (schema === true) return;
    if (!isRecord(schema)) {
      this.drop(place.pointer);
      return;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      this.pay(1);
      if (scaffolding.has(keyword)) continue;
      this.pay(this.#weigh(keyword, value));
      if (!this.#takeKeyword(place.flat, keyword, value, targets)) this.drop(place.pointer, keyword);
    }
    if (typeof schema.$ref === "string") this.#follow(place, schema.$ref, targets, depth);
    if (Array.isArray(schema.allOf)) {
      for (const part of schema.allOf) this.#take(place, { schema: part, targets }, depth + 1);
    }
  }

  #follow(place: Place, ref: string, targets: readonly unknown[], depth: number): void {
    const target = this.#find(ref);
    const isCycle = targets.includes(target) || target === this.#root;
    if (target !== undefined && !isCycle) {
      if (place.taken.has(target)) return;
      place.taken.add(target);
      this.#take(place, { schema: target, targets: [...targets, target] }, depth + 1);
      return;
    }
    this.drop(place.pointer, "$ref");
    // A cycle ends in the bare type of what it leads back to.
    if (isRecord(target) && target.type !== undefined) this.#takeKeyword(place.flat, "type", target.type, []);
  }

  #find(ref: string): unknown {
    if (!this.#targets.has(ref)) this.#targets.set(ref, resolve(this.#root, ref));
    return this.#targets.get(ref);
  }

  /** The steps that it takes to read and write out a keyword's value, without the schemas below, which pay for themselves. */
  #weigh(keyword: string, value: unknown): number {
    if (keyword === "properties") {
      return isRecord(value) ? this.#budget.weigh(Object.keys(value)) : 0;
    }
    if (Array.isArray(value) && subschemas.has(keyword)) return value.length;
    return subschemas.has(keyword) ? 0 : this.#budget.weigh(value);
  }

  /** @returns Whether the keyword could be taken beside what is there already. */
  #takeKeyword(flat: FlatSchema, keyword: string, value: unknown, targets: readonly unknown[]): boolean {
    const piece = (schema: unknown): Piece[] => [{ schema, targets }];
    switch (keyword) {
      case "type":
        return takeTypes(flat, Array.isArray(value) ? value : [value]);
      case "enum":
        return Array.isArray(value) && this.#takeValues(flat, value);
      case "const":
        return this.#takeValues(flat, [value]);
      case "required":
        if (!Array.isArray(value)) return false;
        for (const name of value) if (typeof name === "string") flat.required.add(name);
        return true;
      case "properties":
        return takeProperties(flat, value, targets);
      case "items":
        if (Array.isArray(value)) return takePlaces(flat, value.map(piece));
        if (value === false) return true;
        flat.items ??= [];
        flat.items.push({ schema: value, targets });
        return true;
      case "prefixItems":
        return Array.isArray(value) && takePlaces(flat, value.map(piece));
      case "anyOf":
      case "oneOf":
        if (!Array.isArray(value) || flat.choices !== undefined) return false;
        flat.choices = value.map(piece);
        return true;
      default:
        return this.#takeOther(flat.rest, keyword, value);
    }
  }

  #takeValues(flat: FlatSchema, values: unknown[]): boolean {
    if (flat.values === undefined) {
      flat.values = values;
      return true;
    }
    this.pay(flat.values.length);
    const texts = new Set(values.map((value) => this.#budget.textOf(value)));
    const common = flat.values.filter((value) => texts.has(this.#budget.textOf(value)));
    if (common.length > 0) flat.values = common;
    return common.length > 0;
  }

  /** Of two bounds the narrower stands, of two annotations the outer one. */
  #takeOther(rest: Map<string, unknown>, keyword: string, value: unknown): boolean {
    const known = rest.get(keyword);
    const bound = /^(?:exclusiveM|m)(in|ax)(?:imum$|[A-Z])/.exec(keyword)?.[1];
    if (known === undefined) rest.set(keyword, value);
    else if (bound !== undefined && typeof known === "number" && typeof value === "number") {
      rest.set(keyword, bound === "in" ? Math.max(known, value) : Math.min(known, value));
    } else return annotations.has(keyword) || this.#budget.textOf(known) === this.#budget.textOf(value);
    return true;
  }

  #badRequest(reason: string): GatewayError {
    return badRequest(`The JSON schema ${reason}: send a smaller one, with fewer references`, this.#param);
  }
}

/** Keywords whose values are schemas that are taken at their own places. */
const subschemas = new Set(["items", "prefixItems", "anyOf", "oneOf"]);

function takeTypes(flat: FlatSchema, given: unknown[]): boolean {
  const types = new Set(given.filter((type) => typeof type === "string").map((type) => type.toLowerCase()));
  if (types.size === 0) return false;
  if (flat.types === undefined) {
    flat.types = [...types];
    return true;
  }
  const known = new Set(flat.types);
  const narrow = [...types].filter((type) => known.has(type) || (type === "integer" && known.has("number")));
  if (known.has("integer") && types.has("number")) narrow.push("integer");
  if (narrow.length > 0) flat.types = [...new Set(narrow)];
  return narrow.length > 0;
}

function takeProperties(flat: FlatSchema, value: unknown, targets: readonly unknown[]): boolean {
  if (!isRecord(value)) return false;
  flat.properties ??= new Map();
  for (const [name, schema] of Object.entries(value)) {
    const pieces = flat.properties.get(name);
    if (pieces === undefined) flat.properties.set(name, [{ schema, targets }]);
    else pieces.push({ schema, targets });
  }
  return true;
}

function takePlaces(flat: FlatSchema, places: Pieces[]): boolean {
  if (flat.places !== undefined) return false;
  flat.places = places;
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
