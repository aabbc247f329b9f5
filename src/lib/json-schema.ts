import { badRequest, GatewayError, getOwn } from "../contract/index.ts";

import {
  type FlatSchema,
  type Pieces,
  type Pointer,
  pointBelow,
  rootPointer,
  SchemaFlattener,
} from "./flatten-schema.ts";
import { isRecord } from "./json.ts";
import { SchemaBudget } from "./schema-budget.ts";

/** Which JSON schemas a provider takes, as data. */
export interface SchemaSubset {
  /** Keywords kept beside `type`, `enum`, `properties`, `required`, `items` and `anyOf`, which every subset has. */
  readonly keywords: ReadonlySet<string>;
  /** Values of `format` that are kept. */
  readonly formats: ReadonlySet<string>;
  /** How "or null" is said: `nullable: true` beside the type, or an `anyOf` with `{ "type": "null" }`. */
  readonly nullForm: "nullable" | "anyOf";
  /** `strings`: an `enum` of anything else becomes a sentence of the description. */
  readonly enumOf: "strings" | "anything";
  /** Whether every object says `additionalProperties: false`. */
  readonly closedObjects: boolean;
  /** Whether an array must say `items`; where it does not, strings are assumed. */
  readonly itemsRequired: boolean;
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
  keywords: new Set("title description minItems maxItems minimum maximum additionalProperties".split(" ")),
  nullForm: "anyOf",
  enumOf: "anything",
  itemsRequired: false,
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
 * What the subset has no word for is left out and reported.
 *
 * @param param The request field the schema stands in, for the error.
 * @param budget Shared by all schemas of one request, which bounds what they unfold to together.
 * @throws {GatewayError} `invalid_request` when it is not an object, nested beyond 128 steps or unfolding to more than the
 *   budget has left.
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
  return Number.isInteger(value) ? "integer" : typeof value;
}

/** The alternatives at one place; "or null" stands apart from them. */
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
    const kept =
      keyword === "format"
        ? typeof value === "string" && reduction.subset.formats.has(value)
        : reduction.subset.keywords.has(keyword);
    if (kept) result[keyword] = value;
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
      (result.type === "number" && typeof value === "number")
    );
  });
  if (fitting.length === 0) return;
  if (reduction.subset.enumOf === "anything" || fitting.every((value) => typeof value === "string")) {
    result.enum = fitting;
  } else if (result.type !== "null") {
    result.description = `One of: ${fitting.map((value) => JSON.stringify(value)).join(", ")}`;
    reduction.flattener.drop(pointer, "enum");
  }
}

/** Puts the only schema left of a choice into its place; a description of the place itself stands. */
function mergeInto(result: Schema, only: Schema): void {
  for (const [keyword, value] of Object.entries(only)) {
    const known = result[keyword];
    if (known === undefined || keyword === "type") result[keyword] = value;
    else if (keyword === "properties") result[keyword] = { ...known, ...(value as object) };
    else if (keyword === "required") result[keyword] = [...new Set([...(known as string[]), ...(value as string[])])];
  }
}

function withNull(schema: Schema, subset: SchemaSubset): Schema {
  if (subset.nullForm === "nullable") return { ...schema, nullable: true };
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: "null" }] };
  const { title, description, default: preset, ...inner } = schema;
  const outer = Object.entries({ title, description, default: preset }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(outer), anyOf: [inner, { type: "null" }] };
}
