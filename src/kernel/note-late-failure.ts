import { GatewayError, UpstreamFault } from "../contract/index.ts";
import type { Progress } from "./call-context.ts";

/**
 * Holds against its route what went wrong after an answer had begun, or because none ever did. What fails before that is
 * counted with its attempt; a caller who leaves and a wrong request are no fault of anyone here.
 *
 * @returns Whether the route begins to rest by that.
 */
export function logLateFailure(error: unknown, progress: Progress, nowMs: number): boolean {
  const { trying, route, cancelReason } = progress;
  if (trying === undefined || error instanceof GatewayError) return false;
  if (cancelReason === "left" || cancelReason === "draining") return false;
  if (route === undefined && cancelReason !== "timeout") return false;
  if (!(error instanceof UpstreamFault)) return trying.health.fault(nowMs);
  const isItsOwn = error.kind === "bad_response" || error.kind === "overloaded" || error.kind === "timeout";
  return isItsOwn && trying.circuitBreaker.onFailure(nowMs);
}
