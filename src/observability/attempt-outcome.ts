import { GatewayError, UpstreamError } from "../contract/index.ts";
import type { Attempt } from "../kernel/index.ts";

/** `answered`, the kind of the provider's error, or why the gateway ended the attempt. */
export function attemptOutcome({ isAnswered, run, error }: Attempt): string {
  if (isAnswered) return "answered";
  if (run.call.cancelReason !== undefined) return "cut";
  if (error instanceof UpstreamError) return error.kind;
  return error instanceof GatewayError ? "refused" : "plugin";
}
