import { GatewayError } from "../../contract/index.ts";

/** LiteLLM takes a 401 for an `AuthenticationError` only if it begins as OpenAI's sentence does. */
export function refused(problem: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_api_key", `Incorrect API key provided: the token is refused, ${problem}`, { cause });
}

/** A text of a token as it can be shown. */
export function show(value: unknown): string {
  const text = typeof value === "string" ? value : String(value);
  return `"${text.slice(0, 100).replace(/[^\x20-\x7e]|"/g, "?")}"`;
}
