import { GatewayError } from "../contract/index.ts";

/**
 * The key of `Authorization: Bearer …`.
 *
 * @throws {GatewayError} `invalid_api_key` when there is none.
 */
export function tokenOf(request: Request): string {
  const header = request.headers.get("authorization");
  if (header === null) {
    const sentence = "No API key was sent: put it in the header 'Authorization: Bearer sk-mg-…'";
    throw new GatewayError("invalid_api_key", sentence);
  }
  if (header.length > 512 || header.slice(0, 7).toLowerCase() !== "bearer ") {
    throw new GatewayError("invalid_api_key", "The Authorization header is not 'Bearer ' and an API key");
  }
  return header.slice(7).trim();
}
