import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const file = join(import.meta.dir, "../../../shared/openapi/openai-openapi.json");

/** Why answers cannot be held against OpenAI's description here; absent when they can. */
export const schemaMissing = existsSync(file)
  ? undefined
  : "No API description: expected ../shared/openapi/openai-openapi.json beside the project";

/** The schemas that the gateway's answers must fit. */
export type SchemaName =
  | "CreateChatCompletionResponse"
  | "CreateChatCompletionStreamResponse"
  | "CreateEmbeddingResponse"
  | "CreateTranscriptionResponseJson"
  | "CreateTranscriptionResponseVerboseJson"
  | "ImagesResponse"
  | "ErrorResponse"
  | "ListModelsResponse"
  | "Model"
  | "Response"
  | "ResponseItemList"
  | "ResponseStreamEvent";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Schema = { [key: string]: Json };

const prefix = "#/components/schemas/";
const dropped = /^(x-.*|\$recursive.*|discriminator|nullable|example|examples|deprecated|optional|description|title)$/;

const options = { strict: false, validateFormats: false };
/** Ends at the first fault, which most of the branches of an event's description have at once. */
const quick = new Ajv2020(options);
/** Lists all faults of what the quick one does not take. */
const thorough = new Ajv2020({ ...options, allErrors: true });
const compiled = new Map<Ajv2020, Map<SchemaName, ValidateFunction>>([
  [quick, new Map()],
  [thorough, new Map()],
]);
let document: Record<string, Schema> | undefined;

/**
 * What is wrong with a body by OpenAI's own description, one line a fault; an empty list when nothing is.
 * Where the description is known to lag behind the wire it is followed to the letter all the same, but base64
 * embeddings, which it types as arrays only, and for the null that stands for an absent usage or user of a response.
 */
export function faultsOf(name: SchemaName, body: unknown): string[] {
  const isValid = validatorOf(quick, name);
  if (isValid(body)) return [];
  const findAll = validatorOf(thorough, name);
  findAll(body);
  return (findAll.errors ?? isValid.errors ?? []).map(
    (fault) => `${name}${fault.instancePath} ${fault.message ?? "is wrong"}`,
  );
}

function validatorOf(ajv: Ajv2020, name: SchemaName): ValidateFunction {
  const earlier = compiled.get(ajv)?.get(name);
  if (earlier !== undefined) return earlier;
  const definitions: Schema = {};
  collect(name, definitions);
  const made = ajv.compile({ $ref: `#/$defs/${name}`, $defs: definitions });
  compiled.get(ajv)?.set(name, made);
  return made;
}

/** Puts a schema and all that it refers to below `$defs`, so that only what is used is compiled. */
function collect(name: string, definitions: Schema): void {
  if (definitions[name] !== undefined) return;
  const source = schemas()[name];
  if (source === undefined) throw new Error(`No schema ${name} in the API description`);
  definitions[name] = {};
  const schema = rewrite(source, (reference) => collect(reference, definitions)) as Schema;
  if (name === "Embedding") allow(schema.properties as Schema, "embedding", { type: "string" });
  for (const part of name === "Response" ? (schema.allOf as Schema[]) : []) allowNulls(part);
  if (name === "ModelResponseProperties") allowNulls(schema);
  definitions[name] = schema;
}

function schemas(): Record<string, Schema> {
  document ??= JSON.parse(readFileSync(file, "utf8")).components.schemas as Record<string, Schema>;
  return document;
}

/** OpenAPI 3.0 habits in a 3.1 document, made JSON Schema 2020-12: `nullable`, annotations and `$ref` siblings. */
function rewrite(node: Json, onReference: (name: string) => void): Json {
  if (Array.isArray(node)) return node.map((item) => rewrite(item, onReference));
  if (typeof node !== "object" || node === null) return node;
  const schema: Schema = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "properties") schema[key] = rewriteProperties(value as Schema, onReference);
    else if (!dropped.test(key)) schema[key] = rewrite(value, onReference);
  }
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.slice(prefix.length);
    onReference(name);
    const reference = { $ref: `#/$defs/${name}` };
    return node.nullable === true ? { anyOf: [reference, { type: "null" }] } : reference;
  }
  return node.nullable === true ? { anyOf: [schema, { type: "null" }] } : schema;
}

/** Property names are no keywords: a property called `title` stays. */
function rewriteProperties(properties: Schema, onReference: (name: string) => void): Schema {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, rewrite(value, onReference)]));
}

function allow(properties: Schema, name: string, other: Json): void {
  properties[name] = { anyOf: [properties[name] as Json, other] };
}

function allowNulls({ properties }: Schema): void {
  for (const name of ["usage", "user"]) {
    if ((properties as Schema | undefined)?.[name] !== undefined) allow(properties as Schema, name, { type: "null" });
  }
}
