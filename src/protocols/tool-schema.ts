/**
 * Normalizes the JSON schemas of tools' arguments to an object whose `properties` are listed at its root. MCP servers use other forms,
 * and OpenAI, Anthropic, Bedrock and Gemini reject the whole request for one of them.
 */
import { isRecord } from "../lib/json.ts";
import { resolvePointer } from "../lib/json-schema.ts";

/** Keywords that list alternatives. */
const choiceKeywords = ["anyOf", "oneOf"] as const;
/** Keywords that providers reject at the root of a schema. */
const refusedKeywords: readonly string[] = [...choiceKeywords, "allOf", "$ref", "not", "enum", "const"];

/** Schemas that one root may be made of. The members of others are left out. */
const partsMax = 500;
/** Alternatives that a description names. */
const namedChoicesMax = 20;

/**
 * Returns the schema of a tool's arguments in the form that every provider takes: an object with `properties`. Clients may leave
 * `properties` out for a tool without parameters. Properties in `$ref`, `allOf`, `anyOf` or `oneOf` move to the root. Those of an
 * alternative become optional, and the description lists which of them belong together. The client validates the arguments against
 * its own schema, as it does for any model.
 *
 * @returns The schema itself where it is whole.
 *
 * @example
 * toWholeSchema({ type: "object" }); // => { type: "object", properties: {} }
 * toWholeSchema({ anyOf: [{ properties: { id: {} }, required: ["id"] }, { properties: { url: {} }, required: ["url"] }] });
 * // => { type: "object", properties: { id: {}, url: {} }, description: 'Give one of: "id"; "url"' }
 */
export function toWholeSchema(schema: object | null | undefined): object {
  const whole: Record<string, unknown> = isRecord(schema) ? schema : {};
  const { type, properties, required } = whole;
  const isListed = required === undefined || Array.isArray(required);
  if (isFolded(whole)) return foldRoot(whole);
  if (typeof type === "string" && isRecord(properties) && isListed) return whole;
  const { required: _, ...rest } = whole;
  return {
    ...rest,
    // Arguments are always an object, even if the schema also allows other types.
    type: typeof type === "string" ? type : "object",
    properties: isRecord(properties) ? properties : {},
    ...(Array.isArray(required) && { required }),
  };
}

/**
 * Returns a function with the schema of its arguments normalized, or the same function if nothing changes. Every provider takes a
 * function without a schema as one without arguments.
 *
 * @example
 * withWholeSchema({ name: "now", parameters: { type: "object" } }).parameters; // => { type: "object", properties: {} }
 */
export function withWholeSchema<Definition extends { parameters?: unknown; strict?: unknown }>(
  definition: Definition,
): Definition {
  const { parameters, strict } = definition;
  if (!isRecord(parameters)) return definition;
  const schema = toWholeSchema(parameters);
  return schema === parameters ? definition : { ...definition, parameters: schema, ...loosened(strict, parameters) };
}

/** Returns a tool of the Messages API with its `input_schema` normalized, or the same tool if providers take it as it is. */
export function withWholeInput<Definition extends { input_schema?: unknown; strict?: unknown }>(
  tool: Definition,
): Definition {
  const { input_schema: schema } = tool;
  if (!isRecord(schema) || (schema.type === "object" && !isFolded(schema))) return tool;
  return { ...tool, input_schema: toWholeSchema(schema), ...loosened(tool.strict, schema) };
}

/** A strict schema has to require all members, which one of alternatives cannot. */
function loosened(strict: unknown, schema: Readonly<Record<string, unknown>>): { strict?: false } {
  return strict === true && isFolded(schema) ? { strict: false } : {};
}

/** Whether a schema has a keyword at its root that providers reject. */
function isFolded(schema: Readonly<Record<string, unknown>>): boolean {
  for (const keyword of refusedKeywords) if (schema[keyword] !== undefined) return true;
  return false;
}

function foldRoot(schema: Record<string, unknown>): object {
  const { properties, required, choices, isClosed } = new MemberReader(schema);
  const others = Object.entries(schema).filter(([keyword]) => !refusedKeywords.includes(keyword));
  const { required: _, description, ...rest } = Object.fromEntries(others);
  const sentences = [
    ...(typeof description === "string" ? [description] : []),
    ...(choices.length > 0 ? [`Give one of: ${choices.map(nameAll).join("; ")}`] : []),
  ];
  return {
    ...rest,
    type: "object",
    properties: Object.fromEntries([...properties].map(([name, { schemas }]) => [name, anyOf(schemas)])),
    ...(required.size > 0 && { required: [...required] }),
    ...(isClosed && { additionalProperties: false }),
    ...(sentences.length > 0 && { description: sentences.join("\n") }),
  };
}

const nameAll = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(" with ");

/** A schema for what fits any of them, each told once. */
function anyOf(schemas: readonly unknown[]): unknown {
  const [first] = schemas;
  if (schemas.length === 1) return first;
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return different.length === 1 ? first : { anyOf: different };
}

/**
 * Reads the members of a root in one pass over the schemas that it is made of. Each is read once, so references that lead to one
 * another end, and the work grows no faster than the text.
 */
class MemberReader {
  /** Schemas by the name of the member; several where alternatives say different things. The outermost schema counts. */
  readonly properties = new Map<string, { depth: number; schemas: unknown[] }>();
  /** Members that are always needed. */
  readonly required = new Set<string>();
  /** Alternative sets of required members, in addition to those; empty if no set is required. */
  choices: readonly (readonly string[])[] = [];
  /** There are no other members. */
  isClosed = false;

  readonly #root: object;
  readonly #seen = new Set<object>();

  constructor(root: object) {
    this.#root = root;
    this.#take(root, 0);
  }

  /** @param depth Alternatives that the schema is part of, one in another. */
  #take(schema: unknown, depth: number): void {
    if (!isRecord(schema) || !mayBeObject(schema) || this.#seen.has(schema) || this.#seen.size >= partsMax) return;
    this.#seen.add(schema);
    const { properties, required, additionalProperties, $ref, allOf } = schema;
    for (const [name, member] of isRecord(properties) ? Object.entries(properties) : []) {
      const present = this.properties.get(name);
      if (present === undefined) this.properties.set(name, { depth, schemas: [member] });
      else if (depth > 0 && present.depth >= depth) present.schemas.push(member);
    }
    if (depth === 0) {
      for (const name of namesIn(required)) this.required.add(name);
      this.isClosed ||= additionalProperties === false;
    }
    if (typeof $ref === "string") this.#take(resolvePointer(this.#root, $ref), depth);
    for (const part of listOf(allOf)) this.#take(part, depth);
    for (const keyword of choiceKeywords) this.#takeChoices(listOf(schema[keyword]), depth);
  }

  #takeChoices(schemas: readonly unknown[], depth: number): void {
    const objects = schemas.map((schema) => this.#follow(schema)).filter(mayBeObject);
    const [only] = objects;
    if (objects.length === 1) {
      this.#take(only, depth);
      return;
    }
    for (const schema of objects) this.#take(schema, depth + 1);
    if (depth > 0 || only === undefined) return;
    const needed = objects.map((schema) => namesIn(schema.required));
    const common = needed.reduce((some, names) => some.intersection(names));
    for (const name of common) this.required.add(name);
    const others = needed.map((names) => [...names].filter((name) => !this.required.has(name)));
    const isTold = this.choices.length === 0 && others.length <= namedChoicesMax;
    if (isTold && others.every((names) => names.length > 0)) this.choices = others;
  }

  /** Resolves a reference. Returns any other schema as it is. */
  #follow(schema: unknown): unknown {
    return isRecord(schema) && typeof schema.$ref === "string" ? resolvePointer(this.#root, schema.$ref) : schema;
  }
}

function mayBeObject(schema: unknown): schema is Record<string, unknown> {
  if (!isRecord(schema)) return false;
  const { type } = schema;
  return Array.isArray(type) ? type.includes("object") : typeof type !== "string" || type === "object";
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const namesIn = (value: unknown) => new Set(listOf(value).filter((name) => typeof name === "string"));
