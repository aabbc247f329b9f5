import type { TSchema } from "@sinclair/typebox";
import { GatewayError } from "../contract/index.ts";

/** The first fault that TypeBox found in a value: where, against which schema, and what stood there. */
export interface Fault {
  path: string;
  schema: TSchema;
  value: unknown;
  /** For a union: the faults against each of its members. */
  errors?: Iterable<Fault>[];
}

/** Makes an error of a fault: which field, what was expected, what was there. */
export function explain(fault: Fault): GatewayError {
  const { path, schema, value } = deepest(fault);
  const param = toParam(path);
  const name = param === "" ? "The body" : param;
  const problem = value === undefined ? "is missing" : `is ${shown(value)}`;
  return new GatewayError("invalid_request", `${name} ${problem}, but ${expectation(schema)} was expected`, {
    param: param === "" ? undefined : param,
  });
}

/** Of a union's faults the one of the member that fits best: the deepest, and not its discriminating literal. */
function deepest(fault: Fault): Fault {
  let best: Fault | undefined;
  for (const member of fault.errors ?? []) {
    for (const first of member) {
      const inner = deepest(first);
      const isDeeper = depth(inner) > depth(best ?? fault);
      const isSameDepthButNoLiteral =
        best !== undefined && depth(inner) === depth(best) && isLiteral(best) && !isLiteral(inner);
      if (isDeeper || isSameDepthButNoLiteral) best = inner;
      break;
    }
  }
  if (best === undefined || !isLiteral(best)) return best ?? fault;
  // Every member was refused by its literal: the value is none of the kinds there are.
  const kinds = [...literalsAt(fault, best.path)];
  return { ...best, schema: { anyOf: kinds.map((kind) => ({ const: kind })) } as unknown as TSchema };
}

function* literalsAt(fault: Fault, path: string): Generator<unknown> {
  for (const member of fault.errors ?? []) {
    for (const { path: where, schema } of member) if (where === path && "const" in schema) yield schema.const;
  }
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

function shown(value: unknown): string {
  if (typeof value === "string") return `"${value.length > 60 ? `${value.slice(0, 60)}…` : value}"`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return value !== null && typeof value === "object" ? "an object" : String(value);
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
