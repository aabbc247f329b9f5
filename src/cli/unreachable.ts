/** A server or database that the command line names cannot be reached or used. The message is for the operator. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** Codes of the system, of Bun's `fetch` and of Bun's clients of databases for a server that does not answer. */
const connectionCodes = [
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "ConnectionRefused",
  "ConnectionClosed",
  "FailedToOpenSocket",
];

/** Whether an error says that a server cannot be reached, or did not answer in time. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnreachableError || error.name === "TimeoutError") return true;
  return "code" in error && connectionCodes.includes(String(error.code));
}
