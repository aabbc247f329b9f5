import { type Capability, GatewayError } from "../contract/index.ts";
import { type Order, type Progress, serve } from "../kernel/index.ts";
import { awaitNoMore, awaitProvider, type Visit } from "./endpoint.ts";
import type { HttpGround } from "./ground.ts";
import { callHeaders } from "./headers.ts";

/**
 * Serves what a visitor wants and writes its line in the log, whatever came of it. A stream is cut when its client
 * leaves. A whole answer is not: what the provider makes of it is unknown until it is there, is billed to us all the
 * same, and would be free for whoever hangs up in time.
 */
export async function run<C extends Capability>(
  ground: HttpGround,
  visit: Visit,
  wish: Pick<Order<C>, "capability" | "request" | "outlet">,
) {
  const { caller, progress } = visit;
  const order: Order<C> = { ...wish, caller, progress };
  ground.gate.enter(order);
  if (wish.outlet !== undefined) cutWhenLeft(visit);
  awaitProvider(visit);
  try {
    return await serve(ground.kernel, order);
  } catch (error) {
    // Refused before it was a call: the books know nothing of it, the log does.
    if (progress.errorCode === undefined) {
      const known = error instanceof GatewayError;
      progress.status = known ? error.status : 500;
      progress.errorCode = known ? error.code : "internal_error";
    }
    throw error;
  } finally {
    ground.gate.leave(order);
    awaitNoMore(visit);
    ground.kernel.watch?.ended(progress, wish.capability, wish.outlet !== undefined, visit.request);
    logCall(ground, order);
  }
}

function cutWhenLeft({ request, progress }: Visit): void {
  const { signal } = request;
  if (signal.aborted) progress.cut("left");
  else signal.addEventListener("abort", () => progress.cut("left"));
}

/** A whole answer as JSON, with the headers of its call. */
export function jsonReply(ground: HttpGround, progress: Progress, body: unknown): Response {
  const headers = callHeaders(progress, ground.sandbox, "application/json");
  if (ground.gate.isLeaving) headers.connection = "close";
  return new Response(JSON.stringify(body), { headers });
}

function logCall<C extends Capability>(ground: HttpGround, { capability, caller, progress }: Order<C>): void {
  const { state, notes } = progress;
  ground.log.info("call", {
    call: progress.id,
    client_request_id: progress.clientRequestId,
    account: caller.accountId,
    key: caller.keyId,
    capability,
    model: progress.model,
    route: progress.route,
    status: progress.status,
    state,
    error: progress.errorCode,
    usage: state === "refused" ? undefined : progress.meters,
    usage_source: progress.usageSource,
    cost_nanodollars: progress.costNanodollars,
    first_byte_ms: progress.firstByteMs,
    duration_ms: ground.now() - progress.openedAt,
    attempts: progress.attempts,
    notes: notes.length === 0 ? undefined : notes,
  });
}
