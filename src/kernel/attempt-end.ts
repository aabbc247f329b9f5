import { GatewayError, UpstreamError } from "../contract/index.ts";
import type { Attempt } from "./call.ts";

/** How an attempt ended, for everything that counts attempts. */
export interface AttemptEnd {
  /** `answered`, the kind of the provider's error, or why the gateway ended the attempt. */
  readonly outcome: string;
  /**
   * The effect on the health of its route, key and provider. `nothing`: the attempt says nothing about them. `routeFailure`: it
   * counts against the route and the key, while the provider works.
   */
  readonly health: "nothing" | "success" | "failure" | "routeFailure";
}

/** Kinds of errors that the request causes; the provider works. */
const ofRequest: ReadonlySet<string> = new Set(["bad_request", "context_length", "request_too_large"]);

/** Classifies an attempt whose provider began to answer, or that failed. */
export function classifyAttempt({ isAnswered, error, run }: Pick<Attempt, "isAnswered" | "error" | "run">): AttemptEnd {
  const { cancelReason } = run.call;
  const isCut = cancelReason !== undefined;
  if (isAnswered) return { outcome: "answered", health: isCut && cancelReason !== "timeout" ? "nothing" : "success" };
  // A provider that is silent for too long has failed, whoever ends the attempt.
  const health = isCut && cancelReason !== "timeout" ? "nothing" : healthOf(error);
  return { outcome: isCut ? "cut" : outcomeOf(error), health };
}

function outcomeOf(error: unknown): string {
  if (error instanceof UpstreamError) return error.kind;
  return error instanceof GatewayError ? "refused" : "plugin";
}

function healthOf(error: unknown): AttemptEnd["health"] {
  if (error instanceof GatewayError) return "nothing";
  if (!(error instanceof UpstreamError)) return "failure";
  if (error.kind === "model_not_found") return "routeFailure";
  return ofRequest.has(error.kind) || error.isOfRequest ? "success" : "failure";
}
