import type { Caller, Capability } from "../contract/index.ts";
import { type Order, Progress, serve } from "../kernel/index.ts";
import type { HttpGround } from "./ground.ts";

/** Headers as Elysia's `set` holds them. */
export type ResponseHeaders = Record<string, string | number>;

/** The progress of a call whose id the answer already carries. */
export function begin(ground: HttpGround, headers: ResponseHeaders): Progress {
  return new Progress(headers["x-request-id"] as string, ground.now());
}

/** Serves an order and writes its line in the log, whatever came of it. */
export async function run<C extends Capability>(ground: HttpGround, order: Order<C>) {
  try {
    return await serve(ground.kernel, order);
  } finally {
    logCall(ground, order.capability, order.caller, order.progress);
  }
}

function logCall(ground: HttpGround, capability: Capability, caller: Caller, progress: Progress): void {
  const { id, model, route, status, errorCode, usageSource, costNanodollars, firstByteMs, attempts, notes } = progress;
  ground.log.info("call", {
    call: id,
    account: caller.accountId,
    key: caller.keyId,
    capability,
    model,
    route,
    status,
    error: errorCode,
    usage: usageSource,
    cost_nanodollars: costNanodollars,
    first_byte_ms: firstByteMs,
    duration_ms: ground.now() - progress.openedAt,
    attempts: attempts === 1 ? undefined : attempts,
    notes: notes.length === 0 ? undefined : notes,
  });
}
