import { GatewayError, UpstreamFault } from "../../contract/index.ts";
import type { CallContext } from "../call-context.ts";
import type { Kernel } from "../types.ts";
import { LongAnswerFault } from "../upstream/http-client.ts";
import type { PoolKey } from "./health.ts";
import type { Route } from "./registry.ts";

/** The average pause before the only route is tried again; half of it more or less. */
const retryMs = 200;
/** A provider that asks for a longer pause is not waited for. */
const retryMsMax = 5000;

/**
 * What a plugin throws that is neither a fault nor a refusal, before it has asked its provider: a failure of the gateway,
 * which another route may not have. It says nothing about the provider, so it counts against no route.
 */
export function toOwnFailure(kernel: Kernel, route: Route, call: CallContext, error: unknown): GatewayError {
  kernel.log.error("plugin_failed", { call: call.id, plugin: route.plugin.name, error });
  const sentence =
    "The gateway could not make the provider's request of this one, and sent nothing; the operator finds the reason in the " +
    "log under its x-request-id";
  return new GatewayError("internal_error", sentence, { cause: error });
}

/** The error as a fault. A plugin that throws anything else behind its provider's answer has failed itself. */
export function toFault(kernel: Kernel, route: Route, call: CallContext, error: unknown): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  const { name } = route.plugin;
  kernel.log.error("plugin_failed", { call: call.id, plugin: name, error });
  if (route.health.onFailure(kernel.now(), call.caller.accountId)) kernel.log.error("circuit_opened", { plugin: name });
  return new UpstreamFault("bad_response", "The provider's answer could not be read", { cause: error });
}

/** Whether every route would return the same. */
export function isFinal({ kind }: UpstreamFault): boolean {
  return kind === "bad_request" || kind === "context_length";
}

/**
 * Whether the request may be sent again, to this route or another. After a timeout or a broken answer the provider may
 * still be working on it and would bill it, so it may not; it may when no provider has received it, or when the provider
 * answered by an error that it did not serve it.
 */
export function maySendAgain({ kind, status }: UpstreamFault, wasSent: boolean): boolean {
  if (!wasSent) return true;
  if (kind === "timeout") return false;
  return kind !== "bad_response" || (status !== undefined && status >= 300);
}

/** Whether another key may work. */
export function isOfKey({ kind }: UpstreamFault): boolean {
  return kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
}

export function recordFailure(
  { log, now }: Kernel,
  { plugin, model, circuitBreaker }: Route,
  { kind, isOfRequest }: UpstreamFault,
  account: string,
): void {
  // The provider answered, and other requests fit.
  if (isOfRequest || kind === "request_too_large") circuitBreaker.onSuccess(account);
  else if (circuitBreaker.onFailure(now(), account))
    log.warn("circuit_opened", { plugin: plugin.name, model: model.id, kind });
}

/** Returns whether another key of this route may work. */
export function recordRefusedKey(
  kernel: Kernel,
  route: Route,
  key: PoolKey | undefined,
  fault: UpstreamFault,
): boolean {
  const { kind, status, retryAfterMs } = fault;
  kernel.log.warn("upstream_refused_key", { plugin: route.plugin.name, key: key?.index, kind, status });
  if (key === undefined) return false;
  if (retryAfterMs === undefined) key.circuitBreaker.onFailure(kernel.now());
  else key.circuitBreaker.openUntil(kernel.now() + retryAfterMs);
  return true;
}

/** Waits before the only route is tried again. Returns whether it should be: not where another model is next. */
export async function waitToRetry(kernel: Kernel, call: CallContext, fault: UpstreamFault): Promise<boolean> {
  if (!isLastModel(call)) return false;
  if (fault.kind !== "overloaded" && fault.kind !== "bad_response" && fault.kind !== "timeout") return false;
  const jitterMs = retryMs * (0.5 + (kernel.random ?? Math.random)());
  const waitMs = fault.retryAfterMs === undefined ? jitterMs : fault.retryAfterMs + jitterMs / 2;
  const { beginMsMax } = kernel.network.bounds;
  if (waitMs > retryMsMax || kernel.now() + waitMs >= call.startedMs + beginMsMax) return false;
  await (kernel.pause ?? pause)(waitMs, call.signal);
  return call.cancelReason === undefined;
}

function isLastModel({ candidates, modelEntry }: CallContext): boolean {
  return candidates === undefined || candidates.at(-1)?.modelEntry.model.id === modelEntry.model.id;
}

/** Resolves after a while, or at once when the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/**
 * Counts a failure after the answer began, or a timeout before it, against the route. Other failures were counted with
 * their attempt; a client that disconnects and an invalid request count against no route. Nor does an answer that lasts longer
 * than a call may, while its provider is not silent: its client reads slowly, or has asked for so much.
 *
 * @returns Whether a circuit opened.
 */
export function recordLateFailure(error: unknown, call: CallContext, nowMs: number): boolean {
  const { currentRoute, route, cancelReason } = call;
  if (currentRoute === undefined || error instanceof GatewayError || error instanceof LongAnswerFault) return false;
  if (cancelReason !== undefined && cancelReason !== "timeout") return false;
  if (route === undefined && cancelReason !== "timeout") return false;
  if (isOverlong(call)) return false;
  const { accountId } = call.caller;
  if (!(error instanceof UpstreamFault)) return currentRoute.health.onFailure(nowMs, accountId);
  if (error.isOfRequest) return false;
  const isOfRoute = error.kind === "bad_response" || error.kind === "overloaded" || error.kind === "timeout";
  return isOfRoute && currentRoute.circuitBreaker.onFailure(nowMs, accountId);
}

/** Whether an answer lasted longer than a call may, although its provider was not silent. */
export function isOverlong({ route, cancelReason, sent }: CallContext): boolean {
  return route !== undefined && cancelReason === "timeout" && ![...sent].some(({ isTimedOut }) => isTimedOut);
}
