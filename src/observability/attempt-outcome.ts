import { GatewayError, UpstreamFault } from "../contract/index.ts";
import type { Progress } from "../kernel/index.ts";

/** `answered`, the kind of the provider's fault, or why the gateway ended the attempt. */
export function attemptOutcome(progress: Progress, error: unknown): string {
  if (error === undefined) return "answered";
  if (progress.cancelReason !== undefined) return "cut";
  if (error instanceof UpstreamFault) return error.kind;
  return error instanceof GatewayError ? "refused" : "plugin";
}
