/**
 * Schemas of tools' arguments in the form that every provider takes: an object whose members are told at its root. MCP servers write
 * other forms, and OpenAI, Anthropic, Bedrock and Gemini refuse the whole request for one of them.
 */
import { isRecord } from "../lib/json.ts";
import { resolvePointer } from "../lib/json-schema.ts";

/** Keywords that say at the root, in the place of `properties`, which members there are. */
const choiceKeywords = ["anyOf", "oneOf"] as const;
/** Keywords that may not stand at the root of a schema. */
const refusedKeywords: readonly string[] = [...choiceKeywords, "allOf", "$ref", "not", "enum", "const"];

/** Schemas that one root may be made of. The members of others are left out. */
const partsMax = 500;
/** Alternatives that a description names. */
const namedChoicesMax = 20;

/**
 * The schema of a tool's arguments in the form that every provider takes: an object with `properties`. Clients may leave
 * `properties` out for a tool without parameters, and may tell the members in `$ref`, `allOf`, `anyOf` or `oneOf`: then they are told
 * at the root. Members of an alternative are optional, and the description says which of them belong together. The client checks the
 * arguments by its own schema, as it does with those of any model.
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
    // Arguments are always an object, also where the schema allows other types beside it.
    type: typeof type === "string" ? type : "object",
    properties: isRecord(properties) ? properties : {},
    ...(Array.isArray(required) && { required }),
  };
}

/**
 * A function with the schema of its arguments made whole; itself where that is whole, or where it has none, which every
 * provider reads as no arguments.
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
  if (schema === parameters) return definition;
  // A strict schema has to require all members, which one of alternatives cannot.
  const isLoosened = strict === true && isFolded(parameters);
  return { ...definition, parameters: schema, ...(isLoosened && { strict: false }) };
}

/**
 * A tool of Anthropic's Messages whose `input_schema` is an object that tells its members at its root; itself where it is, or has
 * none.
 */
export function withWholeInput<Definition extends { input_schema?: unknown; strict?: unknown }>(
  tool: Definition,
): Definition {
  const { input_schema: schema, strict } = tool;
  if (!isRecord(schema) || (schema.type === "object" && !isFolded(schema))) return tool;
  return { ...tool, input_schema: toWholeSchema(schema), ...(strict === true && { strict: false }) };
}

/** Whether a schema tells its members elsewhere than at its root, or says at the root what may not stand there. */
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
  /** Sets of members of which one is needed beside those; empty where nothing is said. */
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

  /** The schema that a reference leads to; the schema itself where it is none. */
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
