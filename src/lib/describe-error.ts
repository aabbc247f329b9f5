import { GatewayError, UpstreamError } from "../contract/index.ts";

/** An error for a log. */
export interface DescribedError {
  readonly name: string;
  /** Absent: it may have words of a provider or of a request. */
  readonly message?: string;
  readonly code?: string;
  readonly kind?: string;
  readonly status?: number;
  readonly stack?: string;
  readonly cause?: unknown;
}

/**
 * Describes an error for a log. A provider's words may repeat the prompt, so they are content: an error of a provider has its kind and
 * status alone, and one that a parser threw, which quotes what it read, has no message either.
 */
export function describeError(error: Error): DescribedError {
  if (quotes(error)) return withoutWords(error);
  const { name, message, stack = "", cause } = error;
  return {
    name,
    message,
    stack,
    ...(cause !== undefined && { cause: cause instanceof Error ? describeCause(error, cause) : toPlainCause(cause) }),
  };
}

/** Describes an error that others than the gateway may have worded, such as a plugin: where it was thrown, and no message. */
export function withoutWords(error: unknown): DescribedError {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code } = error as Error & { code?: unknown };
  // A plugin may give its error any name.
  const name = /^\w{1,60}$/.test(error.name) ? error.name : "Error";
  if (error instanceof UpstreamError) {
    const { kind, status } = error;
    return { name, kind, ...(status !== undefined && { status }), stack: framesOf(error) };
  }
  return { name, ...(typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) && { code }), stack: framesOf(error) };
}

/** Describes an error in one line: `TypeError: x is undefined`, `UpstreamError: overloaded 503`. */
export function nameError(error: Error): string {
  const { name, message, kind, status, code } = describeError(error);
  const rest = message ?? [kind, status, code].filter((part) => part !== undefined).join(" ");
  return rest === "" ? name : `${name}: ${rest}`;
}

/** The cause of an internal error of a call may be an exception of a plugin. */
function describeCause(error: Error, cause: Error): unknown {
  const isOfPlugin = error instanceof GatewayError && error.code === "internal_error";
  return isOfPlugin || quotes(cause) ? withoutWords(cause) : cause.message;
}

/** A cause that is not an error may be anything, even an object from a provider's answer. */
function toPlainCause(cause: unknown): unknown {
  return typeof cause === "object" ? typeof cause : cause;
}

/**
 * Whether the message may quote a provider: its own error, the error for the client, or text that a parser could not
 * read.
 */
function quotes(error: Error): boolean {
  const { code, cause } = error as Error & { code?: unknown };
  const isUpstream = error instanceof UpstreamError || cause instanceof UpstreamError;
  return isUpstream || error instanceof SyntaxError || code === "ERR_INVALID_URL";
}

/** The places of a stack without the message before them. */
function framesOf({ stack = "", message }: Error): string {
  const start = message === "" ? 0 : stack.indexOf(message);
  if (start === -1) return "";
  const frames = stack.slice(start + message.length).split("\n");
  return frames.filter((line) => /^\s+at /.test(line)).join("\n");
}
