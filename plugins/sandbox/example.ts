import { isRecord, parseJson } from "modelgate/plugin";
import { getOwn } from "../../src/contract/index.ts";

/** Below this, only what a schema requires is filled in. */
const depthMax = 6;
/** Maximum number of values. A schema can describe an endless value; the rest is left out. */
const valuesMax = 2000;
const formats: Record<string, string> = {
  date: "2026-01-01",
  time: "12:00:00Z",
  "date-time": "2026-01-01T12:00:00Z",
  duration: "PT1S",
  email: "sandbox@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

type Schema = Record<string, unknown>;

/** A value that fits a JSON schema as far as simple schemas go: types, enums, references, bounds; no patterns. */
export function createExample(schema: unknown, text: string): unknown {
  const root = isRecord(schema) ? schema : {};
  return example(root, { root, text, depth: 0, budget: { left: valuesMax } });
}

/** The last JSON schema of an object that a prompt spells out, as clients do that ask for `json_object`. */
export function findSchema(text: string): Schema | undefined {
  let match: Schema | undefined;
  let [start, depth] = [0, 0];
  // Braces and whole JSON strings; a brace in a string does not count.
  for (const { 0: token, index } of text.matchAll(/[{}]|"(?:[^"\\\n]|\\.)*"?/g)) {
    if (token === "{" && depth++ === 0) start = index;
    if (token !== "}" || depth === 0 || --depth > 0) continue;
    const value = parseJson(text.slice(start, index + 1));
    if (isRecord(value) && isRecord(value.properties)) match = value;
  }
  return match;
}

interface Place {
  root: Schema;
  text: string;
  depth: number;
  budget: { left: number };
}

function example(schema: Schema, place: Place): unknown {
  if (place.budget.left-- <= 0) return null;
  const { $ref, const: constant, enum: values } = schema;
  if (typeof $ref === "string") return example(refer(place.root, $ref), below(place));
  if (constant !== undefined) return constant;
  if (Array.isArray(values) && values.length > 0) return values[0];
  const choices = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (choices !== undefined) return example(choose(choices, place), below(place));
  if (Array.isArray(schema.allOf)) return example(merge(schema, place), place);
  switch (getType(schema)) {
    case "object":
      return exampleObject(schema, place);
    case "array":
      return exampleArray(schema, place);
    case "integer":
      return exampleNumber(schema, 1);
    case "number":
      return exampleNumber(schema, 0.5);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return exampleString(schema, place.text);
  }
}

function exampleObject(schema: Schema, place: Place): Schema {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const names = place.depth < depthMax ? Object.keys(properties) : required;
  spend(place, names.length);
  const object: Schema = {};
  for (const name of names) {
    if (place.budget.left <= 0) break;
    const property = properties[name];
    object[name] = example(isRecord(property) ? property : {}, below(place));
  }
  return object;
}

function exampleArray(schema: Schema, place: Place): unknown[] {
  const minimum = typeof schema.minItems === "number" ? schema.minItems : 0;
  const length = Math.min(100, Math.max(minimum, place.depth < depthMax && schema.maxItems !== 0 ? 1 : 0));
  const items = isRecord(schema.items) ? schema.items : {};
  return Array.from({ length }, () => example(items, below(place)));
}

function exampleNumber(schema: Schema, step: number): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema;
  if (typeof multipleOf === "number" && multipleOf > 0) {
    const least =
      typeof minimum === "number" ? minimum : typeof exclusiveMinimum === "number" ? exclusiveMinimum + multipleOf : 0;
    return Math.ceil(least / multipleOf) * multipleOf;
  }
  if (typeof minimum === "number") return minimum;
  if (typeof exclusiveMinimum === "number") return exclusiveMinimum + step;
  if (typeof maximum === "number") return Math.min(step, maximum);
  if (typeof exclusiveMaximum === "number") return Math.min(step, exclusiveMaximum - step);
  return step;
}

function exampleString(schema: Schema, text: string): string {
  const format = typeof schema.format === "string" ? getOwn(formats, schema.format) : undefined;
  if (format !== undefined) return format;
  const { minLength = 0, maxLength = 200 } = schema as { minLength?: number; maxLength?: number };
  return text.slice(0, maxLength).padEnd(Math.min(minLength, 10_000), ".");
}

function getType(schema: Schema): unknown {
  const { type } = schema;
  if (Array.isArray(type)) return type.find((name) => name !== "null") ?? "null";
  if (type !== undefined) return type;
  if (isRecord(schema.properties)) return "object";
  return isRecord(schema.items) ? "array" : "string";
}

/**
 * Picks the first alternative that is not `null`. Deep down it picks `null` if it can, which ends a recursive schema.
 */
function choose(choices: unknown[], place: Place): Schema {
  spend(place, choices.length);
  const schemas = choices.filter(isRecord);
  const isNull = (schema: Schema) => schema.type === "null";
  const branch = place.depth < depthMax ? schemas.find((schema) => !isNull(schema)) : schemas.find(isNull);
  return branch ?? schemas[0] ?? {};
}

/** A list of names or choices that references lead to again and again is read each time: so many of it count as a value. */
function spend({ budget }: Place, length: number): void {
  budget.left -= Math.floor(length / 100);
}

function merge({ allOf, ...schema }: Schema, place: Place): Schema {
  const all: Schema = { ...schema };
  const properties = new Map<string, unknown>();
  const required = new Set<unknown>();
  for (const part of [schema, ...(allOf as unknown[]).filter(isRecord)]) {
    Object.assign(all, part);
    const members = isRecord(part.properties) ? Object.entries(part.properties) : [];
    const names = Array.isArray(part.required) ? part.required : [];
    spend(place, members.length + names.length);
    for (const [name, member] of members) properties.set(name, member);
    for (const name of names) required.add(name);
  }
  return { ...all, properties: Object.fromEntries(properties), required: [...required] };
}

function refer(root: Schema, reference: string): Schema {
  let place: unknown = root;
  for (const step of reference.replace(/^#\/?/, "").split("/")) {
    if (step === "") continue;
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    place = isRecord(place) ? place[name] : undefined;
  }
  return isRecord(place) ? place : {};
}

function below(place: Place): Place {
  return { ...place, depth: place.depth + 1 };
}
