import type { Capability, ErrorCode } from "../contract/index.ts";
import type { Progress } from "./call-context.ts";
import type { Route } from "./routing/registry.ts";

/**
 * Told of calls on their way, for metrics and traces. It is called between the steps of a call, so it neither throws
 * nor waits. What it wants to know it reads from the progress; a prompt or an answer is never handed to it.
 */
export interface CallObserver {
  /** An attempt at a route ended: it began to answer, or failed with the error. */
  attempted(progress: Progress, route: Route, startedMs: number, error?: unknown): void;
  /** A call ended; nothing of it changes any more. Of the request only the headers are of use. */
  ended(progress: Progress, capability: Capability, isStreamed: boolean, request: Request): void;
  /** An error was answered, of a call or of what never became one. */
  refused(code: ErrorCode): void;
}
