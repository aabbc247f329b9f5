import { GatewayError } from "../../contract/index.ts";
import type { ErrorFormat } from "../lifecycle/http-call.ts";

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

export const mediaType = "application/scim+json";

/** Writes errors as RFC 7644 has them (section 3.12), where the status is text. */
export const scimErrorFormat: ErrorFormat = {
  toError(error) {
    const { status, message } = error;
    const type = typeOf(error);
    const body = {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      ...(type !== undefined && { scimType: type }),
      detail: message,
      status: String(status),
    };
    return { status, body, headers: { "content-type": mediaType } };
  },
};

/** Fields whose value somebody else has. */
const uniqueFields: ReadonlySet<string> = new Set(["email", "displayName"]);

function typeOf({ code, publicCode, param = "" }: GatewayError): string | undefined {
  if (types.has(publicCode)) return publicCode;
  if (code === "conflict" && uniqueFields.has(param)) return "uniqueness";
  return code === "invalid_request" ? "invalidValue" : undefined;
}
