import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { ValueErrorType } from "@sinclair/typebox/errors";
import type { ValidationError } from "elysia";
import { GatewayError, quoteValue } from "../contract/index.ts";

/** The first fault that TypeBox found in a value: where, against which schema, and what stood there. */
export interface Fault {
  type?: ValueErrorType;
  path: string;
  schema: TSchema;
  value: unknown;
  /** For a union: the faults against each of its members. */
  errors?: Iterable<Fault>[];
}

/**
 * A TypeBox schema for the `body` of a route, validated by Elysia through the Standard Schema interface, so that a fault
 * becomes our own error at once. Elysia's own `ValidationError` writes the whole refused body out as indented JSON before
 * anybody asks: of a nested body of 20 MB that took 7 s and ended in "Out of memory".
 */
export function requestBody<Schema extends TSchema>(schema: Schema): Schema {
  let check: TypeCheck<Schema> | undefined;
  const validate = (value: unknown) => {
    check ??= TypeCompiler.Compile(schema);
    if (check.Check(value)) return { value };
    throw validationError(check.Errors(value).First() as unknown as Fault | undefined);
  };
  // Not enumerable, so that it is no part of the schema in the OpenAPI document.
  return Object.defineProperty({ ...schema }, "~standard", { value: { version: 1, vendor: "modelgate", validate } });
}

/** The body of a form of the dashboard: these fields and no others. */
export function formBody<Fields extends TProperties>(fields: Fields) {
  return requestBody(Type.Object(fields, { additionalProperties: false }));
}

/** Our error of what Elysia refused by itself: a query. */
export function explainValidation({ validator, value }: ValidationError): GatewayError {
  const fault = "Errors" in validator ? validator.Errors(value).First() : undefined;
  return validationError(fault as unknown as Fault | undefined);
}

function validationError(fault: Fault | undefined): GatewayError {
  if (fault === undefined) return new GatewayError("invalid_request", "The request does not fit what was expected");
  if (fault.type === ValueErrorType.ObjectAdditionalProperties) {
    const param = fault.path.slice(1);
    return new GatewayError("invalid_request", `${param} is no field of this request; leave it out`, { param });
  }
  return explain(fault);
}

/** Makes an error of a fault: which field, what was expected, what was there. */
export function explain(fault: Fault): GatewayError {
  const { path, schema, value } = deepest(fault);
  const param = toParam(path);
  const name = param === "" ? "The body" : param;
  const problem = value === undefined ? "is missing" : `is ${describe(value)}`;
  return new GatewayError("invalid_request", `${name} ${problem}, but ${expectation(schema)} was expected`, {
    param: param === "" ? undefined : param,
  });
}

/** Of a union's faults the deepest of the member that was meant: one whose discriminating literal (`type`) fits. */
function deepest(fault: Fault): Fault {
  let best: Fault | undefined;
  const kinds: Fault[] = [];
  for (const member of fault.errors ?? []) {
    const faults = firstOf(member);
    const kind = faults.find((one) => isLiteral(one) && depth(one) === depth(fault) + 1);
    if (kind !== undefined) kinds.push(kind);
    else if (faults[0] !== undefined) {
      const inner = deepest(faults[0]);
      if (depth(inner) > depth(best ?? fault)) best = inner;
    }
  }
  const [kind] = kinds;
  if (best !== undefined || kind === undefined) return best ?? fault;
  // Every member was refused by its literal: the value is none of the kinds there are.
  return { ...kind, schema: { anyOf: kinds.map(({ schema }) => ({ const: schema.const })) } as unknown as TSchema };
}

/** Some of a member's faults: enough to find its literal among them, and not all of a list of thousands. */
function firstOf(member: Iterable<Fault>): Fault[] {
  const faults: Fault[] = [];
  for (const fault of member) if (faults.push(fault) === 16) break;
  return faults;
}

const depth = (fault: Fault) => fault.path.split("/").length;
const isLiteral = (fault: Fault) => "const" in fault.schema;

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
  if (Array.isArray(value)) return `an array of ${value.length}`;
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
  const { minimum, maximum, minItems, maxItems, minLength, maxLength, pattern } = schema;
  switch (schema.type) {
    case "integer":
    case "number":
      return `${schema.type === "integer" ? "a whole number" : "a number"}${range(minimum, maximum, "")}`;
    case "array":
      return `an array${range(minItems, maxItems, " items")}`;
    case "string":
      return `a string${range(minLength, maxLength, " characters")}${pattern === undefined ? "" : ` of the form ${pattern}`}`;
    default:
      return schema.type === "object" ? "an object" : `a ${schema.type}`;
  }
}

function range(low: number | undefined, high: number | undefined, unit: string): string {
  if (low !== undefined && high !== undefined) return ` of ${low} to ${high}${unit}`;
  if (low !== undefined) return ` of at least ${low}${unit}`;
  return high === undefined ? "" : ` of at most ${high}${unit}`;
}
