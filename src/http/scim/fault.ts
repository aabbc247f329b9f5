import { GatewayError } from "../../contract/index.ts";

/** Kinds of errors that SCIM tells apart (RFC 7644, section 3.12). */
export type ScimType =
  | "invalidFilter"
  | "invalidPath"
  | "invalidSyntax"
  | "invalidValue"
  | "mutability"
  | "noTarget"
  | "tooMany"
  | "uniqueness";

const types: ReadonlySet<string> = new Set<ScimType>([
  "invalidFilter",
  "invalidPath",
  "invalidSyntax",
  "invalidValue",
  "mutability",
  "noTarget",
  "tooMany",
  "uniqueness",
]);

/** The error for a request that cannot be carried out as it is: status 400. */
export function fault(type: ScimType, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { publicCode: type });
}

/** The body of an error (RFC 7644, section 3.12), where the status is text. */
export function toErrorBody(error: GatewayError | undefined, { status, detail }: { status: number; detail: string }) {
  const type = error && typeOf(error);
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    ...(type !== undefined && { scimType: type }),
    detail,
    status: String(status),
  };
}

/** Fields whose value somebody else has. */
const uniqueFields: ReadonlySet<string> = new Set(["email", "displayName"]);

function typeOf({ code, publicCode, param = "" }: GatewayError): string | undefined {
  if (types.has(publicCode)) return publicCode;
  if (code === "conflict" && uniqueFields.has(param)) return "uniqueness";
  return code === "invalid_request" ? "invalidValue" : undefined;
}
