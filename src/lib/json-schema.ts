import { badRequest, decodePercent, GatewayError, getOwn } from "../contract/index.ts";
import { isExactNumber, isRecord } from "./json.ts";

const budgetStepsMax = 20_000;
/** Number of characters that take as long as one step to compare or write out. */
const charactersPerStep = 100;

/**
 * The steps that all JSON schemas of one request may take to be rewritten, counted after their references are put in
 * place. A few kilobytes of references can unfold to any size, so the work is bounded by what comes out of a text, not by its length.
 *
 * @example
 * const budget = new SchemaBudget();
 * const reduced = [{ const: "a" }, { const: "b" }].map((schema) => reduceSchema(schema, strictSubset, "tools", budget).schema);
 * reduced.map((schema) => schema.enum); // => [["a"], ["b"]]
 */
export class SchemaBudget {
  #steps = 0;
  /** A value that references lead to a thousand times is written as text once. */
  readonly #texts = new WeakMap<object, string>();

  /** @throws {GatewayError} `invalid_request` beyond 20 000 steps. */
  pay(steps: number, param: string | undefined): void {
    this.#steps += steps;
    if (this.#steps <= budgetStepsMax) return;
    const counts = `keywords, names, values and ${charactersPerStep} characters of text counting as one each`;
    const message = `The JSON schemas of this request unfold to more than ${budgetStepsMax} members, ${counts}: send smaller ones, with fewer references`;
    throw badRequest(message, param);
  }

  /** Steps that it takes to copy or compare a value: one for each member of a list, plus the steps for its text. */
  weigh(value: unknown): number {
    const count = Array.isArray(value) ? value.length : 0;
    const characters =
      typeof value === "string" ? value.length : typeof value === "object" ? this.textOf(value).length : 0;
    return count + Math.floor(characters / charactersPerStep);
  }

  /** JSON of a value: what two values are compared by. */
  textOf(value: unknown): string {
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    let text = this.#texts.get(value);
    if (text === undefined) {
      text = JSON.stringify(value);
      this.#texts.set(value, text);
    }
    return text;
  }
}

/** A schema as it was sent, and the targets of the references that led to it: a target that repeats is a cycle. */
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
  /** Values of `enum` or `const`. */
  values: unknown[] | undefined;
  properties: Map<string, Piece[]> | undefined;
  required: Set<string>;
  items: Piece[] | undefined;
  /** Schemas of a tuple's places. */
  places: Pieces[] | undefined;
  /** Alternatives of `anyOf` or `oneOf`. */
  choices: Pieces[] | undefined;
  /** All other keywords. */
  rest: Map<string, unknown>;
}

/** A place in a schema that is written out. */
export interface Pointer {
  /** A JSON pointer, cut off if it gets too long to read. */
  readonly text: string;
  /** Its parts: a property is two, `items` is one. */
  readonly depth: number;
}

const rootPointer: Pointer = { text: "", depth: 1 };

const pointerCharactersMax = 1000;
const partCharactersMax = 200;

/** The place below another, through these keywords and names. */
function pointBelow({ text, depth }: Pointer, ...parts: readonly (string | number)[]): Pointer {
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
/** Limit of the places that are named as dropped. */
const droppedMax = 100;

/** Keywords that only make or name schemas: taken out without a report, because nothing is lost with them. */
const scaffolding = new Set(["$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "$ref", "allOf"]);

/** The place that pieces are merged into. */
interface Place {
  readonly flat: FlatSchema;
  readonly pointer: Pointer;
  /** Targets of references so far: a schema that is referenced again adds nothing new. */
  readonly taken: Set<unknown>;
}

/** Flattens the places of one schema document. It pays for each step, which bounds how far a small text can unfold. */
class SchemaFlattener {
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
    if (!this.#targets.has(ref)) this.#targets.set(ref, resolvePointer(this.#root, ref));
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

  /** @returns Whether the keyword could be merged into what is there already. */
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

  /** Keeps the narrower of two bounds, and the outer of two annotations. */
  #takeOther(rest: Map<string, unknown>, keyword: string, value: unknown): boolean {
    const other = rest.get(keyword);
    const bound = /^(?:exclusiveM|m)(in|ax)(?:imum$|[A-Z])/.exec(keyword)?.[1];
    if (other === undefined) rest.set(keyword, value);
    else if (bound !== undefined && typeof other === "number" && typeof value === "number") {
      rest.set(keyword, bound === "in" ? Math.max(other, value) : Math.min(other, value));
    } else return annotations.has(keyword) || this.#budget.textOf(other) === this.#budget.textOf(value);
    return true;
  }

  #badRequest(reason: string): GatewayError {
    return badRequest(`The JSON schema ${reason}: send a smaller one, with fewer references`, this.#param);
  }
}

/** Keywords whose values are schemas with places of their own. */
const subschemas = new Set(["items", "prefixItems", "anyOf", "oneOf"]);

function takeTypes(flat: FlatSchema, typeNames: unknown[]): boolean {
  const types = new Set(typeNames.filter((type) => typeof type === "string").map((type) => type.toLowerCase()));
  if (types.size === 0) return false;
  if (flat.types === undefined) {
    flat.types = [...types];
    return true;
  }
  const flatTypes = new Set(flat.types);
  const narrow = [...types].filter((type) => flatTypes.has(type) || (type === "integer" && flatTypes.has("number")));
  if (flatTypes.has("integer") && types.has("number")) narrow.push("integer");
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

/** The part of a schema that a local reference names, such as `#/$defs/place`; `undefined` for none, or another reference. */
export function resolvePointer(root: unknown, ref: string): unknown {
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

/** The subset of JSON schemas that a provider takes, as data. */
export interface SchemaSubset {
  /**
   * Keywords that are kept in addition to `type`, `enum`, `properties`, `required`, `items` and `anyOf`, which all
   * subsets have.
   */
  readonly keywords: ReadonlySet<string>;
  /** Values of `format` that are kept. */
  readonly formats: ReadonlySet<string>;
  /** Form of "or null": `nullable: true` next to the type, or an `anyOf` with `{ "type": "null" }`. */
  readonly nullForm: "nullable" | "anyOf";
  /** `strings`: an `enum` of anything else, or of an empty text, becomes a sentence of the description. */
  readonly enumOf: "strings" | "anything";
  /** Whether every object says `additionalProperties: false`. */
  readonly closedObjects: boolean;
  /** Whether an array must say `items`; where it does not, strings are assumed. */
  readonly itemsRequired: boolean;
  /** Whether each place must say a type; where it does not, it is a text that may be any value as JSON. */
  readonly typesRequired?: boolean;
}

/** A schema within a subset, and JSON pointers (`/properties/a/not`), as it is written out, of the first 100 things that were left out. */
export interface ReducedSchema {
  schema: Record<string, unknown>;
  dropped: string[];
}

/**
 * The subset of strict structured outputs: objects closed, no bounds on numbers, lengths or counts.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 *
 * @example
 * reduceSchema({ type: "integer", minimum: 1 }, strictSubset).dropped; // => ["/minimum"]
 */
export const strictSubset: SchemaSubset = {
  keywords: new Set(["title", "description", "default"]),
  formats: new Set(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]),
  nullForm: "anyOf",
  enumOf: "anything",
  closedObjects: true,
  itemsRequired: false,
};

/**
 * The subset of OpenAPI 3.0 schemas, as providers take them whose own format is protobuf.
 *
 * @see https://ai.google.dev/api/caching#Schema
 *
 * @example
 * reduceSchema({ type: ["string", "null"] }, openApiSubset).schema; // => { type: "string", nullable: true }
 */
export const openApiSubset: SchemaSubset = {
  keywords: new Set(
    `title description default example propertyOrdering minItems maxItems minimum maximum minLength maxLength pattern
    minProperties maxProperties`.split(/\s+/),
  ),
  formats: new Set(["enum", "date-time", "float", "double", "int32", "int64"]),
  nullForm: "nullable",
  enumOf: "strings",
  closedObjects: false,
  itemsRequired: true,
  typesRequired: true,
};

/**
 * The subset of JSON Schema itself, as such providers take it.
 *
 * @see https://ai.google.dev/api/generate-content#generationconfig
 *
 * @example
 * reduceSchema({ type: "string", pattern: "^a" }, jsonSchemaSubset).dropped; // => ["/pattern"]
 */
export const jsonSchemaSubset: SchemaSubset = {
  ...openApiSubset,
  keywords: new Set(["title", "description", "minItems", "maxItems", "minimum", "maximum", "additionalProperties"]),
  nullForm: "anyOf",
  enumOf: "anything",
  itemsRequired: false,
  typesRequired: false,
};

/** The types that a keyword speaks of: where a place has several types, it goes to these. */
const keywordTypes: Readonly<Record<string, readonly string[]>> = {
  minProperties: ["object"],
  maxProperties: ["object"],
  propertyOrdering: ["object"],
  minItems: ["array"],
  maxItems: ["array"],
  uniqueItems: ["array"],
  minLength: ["string"],
  maxLength: ["string"],
  pattern: ["string"],
  format: ["string", "number", "integer"],
  minimum: ["number", "integer"],
  maximum: ["number", "integer"],
  exclusiveMinimum: ["number", "integer"],
  exclusiveMaximum: ["number", "integer"],
  multipleOf: ["number", "integer"],
};

/**
 * Rewrites a JSON schema in the words a provider takes: references are put in place (a cycle ends in a bare type),
 * `allOf` is merged, `oneOf` becomes `anyOf`, `const` a one-value `enum`, and "or null" takes the subset's form.
 * Keywords that the subset lacks are left out and reported.
 *
 * @param param Request field that contains the schema, for the error.
 * @param budget Shared by all schemas of one request, which bounds what they unfold to together.
 * @throws {GatewayError} `invalid_request` when it is not an object, nested beyond 128 steps or unfolding to more than
 *   the budget has left.
 *
 * @example
 * const { schema } = reduceSchema({ const: "yes" }, openApiSubset);
 * schema.enum; // => ["yes"]
 */
export function reduceSchema(
  schema: unknown,
  subset: SchemaSubset,
  param?: string,
  budget = new SchemaBudget(),
): ReducedSchema {
  if (!isRecord(schema)) throw badRequest("Cannot read the JSON schema: expected an object", param);
  const flattener = new SchemaFlattener(schema, param, budget);
  const reduced = reducePlace({ flattener, subset }, [{ schema, targets: [] }], rootPointer);
  return { schema: reduced, dropped: flattener.dropped };
}

/** More than any provider takes of a schema. */
const everything: SchemaSubset = {
  keywords: { has: () => true } as unknown as ReadonlySet<string>,
  formats: { has: () => true } as unknown as ReadonlySet<string>,
  nullForm: "anyOf",
  enumOf: "anything",
  closedObjects: true,
  itemsRequired: true,
};

/**
 * A schema with its references put in place, as long as {@link reduceSchema} can make it for any provider.
 *
 * @returns `undefined` for one that is refused.
 *
 * @example
 * const schema = { $defs: { a: { type: "string" } }, properties: { x: { $ref: "#/$defs/a" } } };
 * unfoldSchema(schema, new SchemaBudget()).properties; // => { x: { type: "string" } }
 */
export function unfoldSchema(schema: unknown, budget: SchemaBudget): Record<string, unknown> | undefined {
  try {
    return reduceSchema(schema, everything, undefined, budget).schema;
  } catch (error) {
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

interface Reduction {
  flattener: SchemaFlattener;
  subset: SchemaSubset;
}

type Schema = Record<string, unknown>;

function reducePlace(reduction: Reduction, pieces: Pieces, pointer: Pointer): Schema {
  const flat = reduction.flattener.flatten(pieces, pointer);
  const types = getTypes(flat);
  const choices = flat.choices && reduceChoices(reduction, flat.choices, pointBelow(pointer, "anyOf"));
  const nullable = isNullable(flat, types, choices?.nullable === true);
  const plain = types?.filter((type) => type !== "null" || types.length === 1);
  // Each type takes the keywords and values that fit it.
  if (plain !== undefined && plain.length > 1)
    reduction.flattener.pay(plain.length * (flat.rest.size + (flat.values?.length ?? 0)));
  const result = getAnnotations(reduction, flat, pointer);
  const alternatives = choices?.schemas ?? [];
  if (plain === undefined || plain.length === 1) {
    const assertions = getAssertions(reduction, flat, plain?.[0], pointer);
    const sentences = [result.description, assertions.description].filter((text) => typeof text === "string");
    Object.assign(result, assertions);
    if (sentences.length > 1) result.description = sentences.join("\n");
  } else if (alternatives.length === 0) {
    alternatives.push(...plain.map((type) => getAssertions(reduction, flat, type, pointer)));
  }
  addChoices(result, alternatives);
  const isUntyped = result.type === undefined && result.anyOf === undefined && result.enum === undefined;
  if (reduction.subset.typesRequired && isUntyped && pointer !== rootPointer) {
    result.type = "string";
    result.description = [result.description, "Any value, as JSON"]
      .filter((text) => typeof text === "string")
      .join("\n");
  }
  return nullable ? withNull(result, reduction.subset) : result;
}

function isNullable(flat: FlatSchema, types: string[] | undefined, byChoice: boolean): boolean {
  if (types?.length === 1 && types[0] === "null") return false;
  if (flat.rest.get("nullable") === true) return true;
  if (flat.values?.includes(null) === false) return false;
  return types === undefined ? byChoice : types.includes("null");
}

/** The types that are said, or those that the other keywords speak of. */
function getTypes(flat: FlatSchema): string[] | undefined {
  if (flat.types !== undefined) return flat.types;
  if (flat.properties !== undefined) return ["object"];
  if (flat.items !== undefined || flat.places !== undefined) return ["array"];
  const kinds = new Set(flat.values?.map(getType));
  const [kind] = kinds;
  return kinds.size === 1 && kind !== undefined ? [kind] : kinds.size > 1 ? [...kinds] : undefined;
}

function getType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "object" && isExactNumber(value)) return /^-?\d+$/.test(value.rawJSON) ? "integer" : "number";
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** Reduces the alternatives at one place. "Or null" is returned apart from them. */
function reduceChoices(reduction: Reduction, choices: readonly Pieces[], pointer: Pointer) {
  const all = choices.map((pieces, index) => reducePlace(reduction, pieces, pointBelow(pointer, index)));
  const others = all.filter((schema) => schema.type !== "null");
  if (others.length === 0) return { schemas: all.slice(0, 1), nullable: false };
  const nullable = others.length < all.length;
  if (others.every((schema) => Object.keys(schema).length > 0)) return { schemas: others, nullable };
  // A choice that may be anything bounds nothing; most often it was a choice between `required` lists.
  reduction.flattener.drop(pointer);
  return { schemas: [], nullable };
}

function addChoices(result: Schema, schemas: Schema[]): void {
  const [only] = schemas;
  if (schemas.length === 1 && only !== undefined) mergeInto(result, only);
  else if (schemas.length > 1) result.anyOf = schemas;
}

function getAnnotations(reduction: Reduction, flat: FlatSchema, pointer: Pointer): Schema {
  const result: Schema = {};
  for (const [keyword, value] of flat.rest) {
    if (keyword === "nullable" || keyword in keywordTypes) continue;
    if (reduction.subset.keywords.has(keyword)) result[keyword] = value;
    else if (!(keyword === "additionalProperties" && value === false && reduction.subset.closedObjects)) {
      reduction.flattener.drop(pointer, keyword);
    }
  }
  return result;
}

function getAssertions(reduction: Reduction, flat: FlatSchema, type: string | undefined, pointer: Pointer): Schema {
  const result: Schema = type === undefined ? {} : { type };
  for (const [keyword, value] of flat.rest) {
    const types = getOwn(keywordTypes, keyword);
    if (types === undefined || (type !== undefined && !types.includes(type))) continue;
    const isKept =
      keyword === "format"
        ? typeof value === "string" && reduction.subset.formats.has(value)
        : reduction.subset.keywords.has(keyword);
    if (isKept) result[keyword] = value;
    else reduction.flattener.drop(pointer, keyword);
  }
  if (type === "object") addProperties(reduction, flat, result, pointer);
  if (type === "array") addItems(reduction, flat, result, pointer);
  if (flat.values !== undefined) addValues(reduction, flat.values, result, pointer);
  return result;
}

function addProperties(reduction: Reduction, flat: FlatSchema, result: Schema, pointer: Pointer): void {
  if (flat.properties !== undefined) {
    // `fromEntries` makes own members of every name, `__proto__` included.
    result.properties = Object.fromEntries(
      [...flat.properties].map(([name, pieces]) => [
        name,
        reducePlace(reduction, pieces, pointBelow(pointer, "properties", name)),
      ]),
    );
  }
  const required = [...flat.required].filter((name) => flat.properties?.has(name));
  if (required.length > 0) result.required = required;
  if (required.length < flat.required.size) reduction.flattener.drop(pointer, "required");
  if (reduction.subset.closedObjects) result.additionalProperties = false;
}

function addItems(reduction: Reduction, flat: FlatSchema, result: Schema, pointer: Pointer): void {
  if (flat.items !== undefined) {
    result.items = reducePlace(reduction, flat.items, pointBelow(pointer, "items"));
  } else if (flat.places !== undefined) {
    const places = reduceChoices(reduction, flat.places, pointBelow(pointer, "prefixItems"));
    const items: Schema = {};
    addChoices(items, places.schemas);
    result.items = places.nullable ? withNull(items, reduction.subset) : items;
  }
  if (flat.places !== undefined) reduction.flattener.drop(pointer, "prefixItems");
  const empty = !isRecord(result.items) || Object.keys(result.items).length === 0;
  if (reduction.subset.itemsRequired && empty) result.items = { type: "string" };
}

function addValues(reduction: Reduction, values: unknown[], result: Schema, pointer: Pointer): void {
  const fitting = values.filter((value) => {
    if (value === null) return result.type === "null";
    return (
      result.type === undefined ||
      getType(value) === result.type ||
      (result.type === "number" && getType(value) === "integer")
    );
  });
  if (fitting.length === 0) return;
  if (reduction.subset.enumOf === "anything" || fitting.every((value) => typeof value === "string" && value !== "")) {
    result.enum = fitting;
  } else if (result.type !== "null") {
    result.description = `One of: ${fitting.map((value) => JSON.stringify(value)).join(", ")}`;
    reduction.flattener.drop(pointer, "enum");
  }
}

/** Merges the only remaining alternative of a choice into its place. A description of the place itself stays. */
function mergeInto(result: Schema, only: Schema): void {
  for (const [keyword, value] of Object.entries(only)) {
    const memberValue = result[keyword];
    if (memberValue === undefined || keyword === "type") result[keyword] = value;
    else if (keyword === "properties") result[keyword] = { ...memberValue, ...(value as object) };
    else if (keyword === "required")
      result[keyword] = [...new Set([...(memberValue as string[]), ...(value as string[])])];
  }
}

function withNull(schema: Schema, subset: SchemaSubset): Schema {
  if (subset.nullForm === "nullable") return { ...schema, nullable: true };
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: "null" }] };
  const { title, description, default: preset, ...inner } = schema;
  const outer = Object.entries({ title, description, default: preset }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(outer), anyOf: [inner, { type: "null" }] };
}
