import { type Caller, type Capability, GatewayError } from "../contract/index.ts";
import { makeCallId, type Order, Progress, serve } from "../kernel/index.ts";
import type { HttpGround } from "./ground.ts";

/** Headers as Elysia's `set` holds them. */
export type ResponseHeaders = Record<string, string | number>;

/** Gives a request its id, which its answer carries whatever comes of it. */
export function identify(ground: HttpGround, headers: ResponseHeaders): string {
  const id = makeCallId(ground.now());
  headers["x-request-id"] = id;
  return id;
}

/** The progress of a new call; its id in the books is the answer's `x-request-id`. It is cut when the client leaves. */
export function begin(ground: HttpGround, headers: ResponseHeaders, request: Request): Progress {
  const progress = new Progress(identify(ground, headers), ground.now());
  request.signal.addEventListener("abort", () => progress.cut("left"));
  return progress;
}

/** Serves an order and writes its line in the log, whatever came of it. */
export async function run<C extends Capability>(ground: HttpGround, order: Order<C>) {
  try {
    return await serve(ground.kernel, order);
  } catch (error) {
    // Refused before it was a call: the books know nothing of it, the log does.
    if (error instanceof GatewayError && order.progress.errorCode === undefined) {
      order.progress.status = error.status;
      order.progress.errorCode = error.code;
    }
    throw error;
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
