/**
 * Step 5: checks a body against the schema of its endpoint, and says in one message what is wrong with it.
 */
import { Kind, type Static, type TProperties, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { ValueErrorType } from "@sinclair/typebox/errors";
import { GatewayError, quoteValue } from "../../contract/index.ts";

/** A validation error of TypeBox: where, against which schema, and the value there. */
export interface SchemaError {
  type?: ValueErrorType;
  path: string;
  schema: TSchema;
  value: unknown;
  /** For a union: the errors against each of its members. */
  errors?: Iterable<SchemaError>[] | undefined;
}

const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>();

/** The value, if it matches the schema. @throws {GatewayError} `invalid_request` */
export function checkBody<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = TypeCompiler.Compile(schema as TSchema);
    compiled.set(schema, check);
  }
  if (check.Check(value)) return value as Static<Schema>;
  throw validationError(selectError(takeFirst(check.Errors(value), "")));
}

/** The query, if it matches the schema; of a parameter that comes twice, the last. @throws {GatewayError} `invalid_request` */
export function checkQuery<Schema extends TSchema>(schema: Schema, query: URLSearchParams): Static<Schema> {
  return checkBody(schema, Object.fromEntries(query));
}

TypeRegistry.Set("UploadedFile", (_, value) => value instanceof File);

/** A file of a form. */
export function uploadedFile(description: string) {
  return Type.Unsafe<File>({ [Kind]: "UploadedFile", type: "string", format: "binary", description });
}

/** The body of a dashboard form: these fields and no others. */
export function formBody<Fields extends TProperties>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false });
}

function validationError(error: SchemaError | undefined): GatewayError {
  if (error === undefined) return new GatewayError("invalid_request", "The request does not match the schema");
  if (error.type === ValueErrorType.ObjectAdditionalProperties) {
    const param = error.path.slice(1);
    return new GatewayError("invalid_request", `Unknown field '${param}'; leave it out`, { param });
  }
  return toInvalidRequest(error);
}

/**
 * Selects the error to report: the first, unless that is a missing field and the `type` next to it is wrong. Then the
 * wrong `type` is the cause: a tool of another type rightly lacks a `function`.
 */
function selectError([first, ...others]: SchemaError[]): SchemaError | undefined {
  if (first?.type !== ValueErrorType.ObjectRequiredProperty) return first;
  const place = first.path.slice(0, first.path.lastIndexOf("/") + 1);
  return (
    others.find((error) => isLiteral(error) && error.value !== undefined && error.path === `${place}type`) ?? first
  );
}

/** The message for the caller: which field, what was there, what was expected. */
export function toInvalidRequest(error: SchemaError): GatewayError {
  const { path, schema, value } = deepest(error);
  const param = toParam(path);
  const name = param === "" ? "The body" : param;
  const problem = value === undefined ? "is missing" : `is ${describe(value)}`;
  return new GatewayError("invalid_request", `${name} ${problem}, but ${expectation(schema)} was expected`, {
    param: param === "" ? undefined : param,
  });
}

/** For a union, the deepest error of the member that was meant: the one whose discriminating literal (`type`) fits. */
function deepest(error: SchemaError): SchemaError {
  let best: SchemaError | undefined;
  const kinds: SchemaError[] = [];
  for (const member of error.errors ?? []) {
    const errors = takeFirst(member, error.path);
    const kind = errors.find((one) => isLiteral(one) && depth(one) === depth(error) + 1);
    if (kind !== undefined) kinds.push(kind);
    const first = selectError(errors);
    if (kind === undefined && first !== undefined) {
      const inner = deepest(first);
      if (depth(inner) > depth(best ?? error)) best = inner;
    }
  }
  const [kind] = kinds;
  if (best !== undefined || kind === undefined) return best ?? error;
  // No member has this literal: list all of them.
  return { ...kind, schema: Type.Union(kinds.map(({ schema }) => Type.Literal(schema.const as string))) };
}

/**
 * The first errors of a member: enough to find its literal among them. An error at the place of the union is about the
 * whole value. The items of a list that is too long are not looked at: there may be 200 000 of them.
 */
function takeFirst(member: Iterable<SchemaError>, path: string): SchemaError[] {
  const errors: SchemaError[] = [];
  for (const error of member) {
    const isWhole = error.path === path || error.type === ValueErrorType.ArrayMaxItems;
    if (errors.push(error) === 16 || isWhole) break;
  }
  return errors;
}

const depth = (error: SchemaError) => error.path.split("/").length;
const isLiteral = (error: Pick<SchemaError, "schema">) => "const" in error.schema;

/** `/messages/0/role` → `messages[0].role` */
function toParam(path: string): string {
  let param = "";
  for (const part of path.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    param += /^\d+$/.test(name) ? `[${name}]` : param === "" ? name : `.${name}`;
  }
  return param;
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : `an array of ${value.length}`;
  return value !== null && typeof value === "object" ? "an object" : quoteValue(value);
}

function expectation(schema: TSchema): string {
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.anyOf)) {
    const members = (schema.anyOf as TSchema[]).filter((member) => member.type !== "null").map(expectation);
    return members.length > 1
      ? `${members.length > 2 ? "one of " : ""}${members.join(members.length > 2 ? ", " : " or ")}`
      : (members[0] as string);
  }
  const { minimum, maximum, minItems, maxItems, minLength, maxLength, pattern, title } = schema;
  switch (schema.type) {
    case "integer":
    case "number":
      return `${schema.type === "integer" ? "a whole number" : "a number"}${range(minimum, maximum, "")}`;
    case "array":
      return `an array${range(minItems, maxItems, " items")}`;
    case "string":
      // A title says how long the text is, where that matters.
      if (pattern !== undefined && title !== undefined) return `a string of the form ${title}`;
      return `a string${range(minLength, maxLength, " characters")}${pattern === undefined ? "" : ` of the form ${pattern}`}`;
    default:
      if (schema.type === undefined) return "a value";
      return schema.type === "object" ? `an object${ofType(schema)}` : `a ${schema.type}`;
  }
}

/** The `type` that identifies an object of a union, as text for an error. */
function ofType(schema: TSchema): string {
  const type = schema.properties?.type?.const;
  return type === undefined ? "" : ` of type ${JSON.stringify(type)}`;
}

function range(low: number | undefined, high: number | undefined, unit: string): string {
  if (low !== undefined && high !== undefined) return ` of ${low} to ${high}${unit}`;
  if (low !== undefined) return ` of at least ${low}${low === 1 ? unit.replace(/s$/, "") : unit}`;
  return high === undefined ? "" : ` of at most ${high}${unit}`;
}
