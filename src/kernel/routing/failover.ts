import {
  type Call,
  GatewayError,
  type Model,
  type ProviderPlugin,
  type Upstream,
  UpstreamFault,
} from "../../contract/index.ts";
import type { CallContext } from "../call-context.ts";
import type { Kernel } from "../types.ts";
import { BoundUpstream } from "../upstream/upstream.ts";
import type { Route } from "./registry.ts";
import { orderRoutes } from "./route-order.ts";

/** How many attempts a call gets over all routes and keys. */
export const attemptsMax = 4;
/** The average pause before the only route is tried again; half of it more or less. */
const retryMs = 200;
/** A provider that asks for a longer pause is not waited for. */
const retryMsMax = 5000;

/** What is attempted on each route. */
export interface Attempt<Request, Answer> {
  /** The request as this row of the model takes it. */
  requestFor(model: Model): Request;
  /** Runs the plugin's handler; resolves once the provider has begun to answer with content. */
  run(plugin: ProviderPlugin, call: Call<Request>): Promise<Answer>;
}

/**
 * Tries the routes of a model until one begins to answer. Nothing has reached the caller before that, so a failure that
 * another key or provider may not have is retried there; with a single route, a transient failure is retried on it once.
 * A request that was sent whole is sent again only after the provider refused it (see {@link maySendAgain}).
 *
 * @throws {UpstreamFault | GatewayError} The last failure, or the first that every route would return.
 */
export async function withFailover<Request, Answer>(
  kernel: Kernel,
  call: CallContext,
  attempt: Attempt<Request, Answer>,
): Promise<Answer> {
  const { now, network } = kernel;
  const { modelEntry } = call;
  const isOnly = modelEntry.routes.length === 1;
  const routes = isOnly ? modelEntry.routes : orderRoutes(modelEntry.routes, now(), kernel.random ?? Math.random);
  call.setDeadline(network.timeouts, call.startedMs + network.bounds.beginMsMax);
  let last: unknown;
  for (const route of routes) {
    // Created by the first failure: most calls need none.
    let triedKeys: Set<number> | undefined;
    let retries = isOnly ? 1 : 0;
    while (call.attempts < attemptsMax) {
      const nowMs = now();
      const key = route.keys.size === 0 ? undefined : route.keys.take(nowMs, triedKeys);
      if (key === undefined && (route.keys.size > 0 || (triedKeys !== undefined && triedKeys.size > 0))) break;
      call.throwIfCancelled();
      call.attempts++;
      call.currentRoute = route;
      route.circuitBreaker.begin(nowMs);
      const upstream = new BoundUpstream(network, route, key?.key, call);
      try {
        const answer = await attempt.run(
          route.plugin,
          toPluginCall(route, upstream, call, attempt.requestFor(route.model)),
        );
        call.route = route.plugin.name;
        call.setDeadline(network.timeouts, call.startedMs + network.bounds.callMsMax);
        recordSuccess(route, key?.index);
        kernel.observer?.attempted(call, route, nowMs);
        return answer;
      } catch (error) {
        call.resetSignal();
        kernel.observer?.attempted(call, route, nowMs, error);
        const keyIndex = key === undefined ? 0 : key.index;
        triedKeys ??= new Set();
        triedKeys.add(keyIndex);
        if (call.cancelReason !== undefined || error instanceof GatewayError) throw error;
        const fault = toFault(kernel, route, call, error);
        last = fault;
        if (isFinal(fault)) {
          recordSuccess(route, key?.index);
          throw fault;
        }
        if (isOfKey(fault)) {
          if (recordRefusedKey(kernel, route, key?.index, fault)) continue;
          break;
        }
        recordFailure(kernel, route, fault);
        if (!maySendAgain(fault, upstream)) throw fault;
        if (retries === 0 || fault !== error || !(await waitToRetry(kernel, call, fault))) break;
        retries--;
        triedKeys.delete(keyIndex);
      }
    }
  }
  throw last;
}

/** The error as a fault. A plugin that throws anything else has failed itself. */
function toFault(kernel: Kernel, route: Route, call: CallContext, error: unknown): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  const { name } = route.plugin;
  kernel.log.error("plugin_failed", { call: call.id, plugin: name, error });
  if (route.health.onFault(kernel.now())) kernel.log.error("circuit_opened", { plugin: name });
  return new UpstreamFault("bad_response", "The provider's answer could not be read", { cause: error });
}

/** Whether every route would return the same. */
function isFinal({ kind }: UpstreamFault): boolean {
  return kind === "bad_request" || kind === "context_length";
}

/**
 * Whether the request may be sent again, to this route or another. After a timeout or a broken answer the provider may
 * still be working on it and would bill it, so it may not; it may when no provider has received it, or when the provider
 * answered by an error that it did not serve it.
 */
function maySendAgain({ kind, status }: UpstreamFault, { wasSent }: BoundUpstream): boolean {
  if (!wasSent) return true;
  if (kind === "timeout") return false;
  return kind !== "bad_response" || (status !== undefined && status >= 300);
}

/** Whether another key may work. */
function isOfKey({ kind }: UpstreamFault): boolean {
  return kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
}

function recordSuccess(route: Route, index: number | undefined): void {
  route.circuitBreaker.onSuccess();
  if (index !== undefined) route.keys.onSuccess(index);
}

function recordFailure({ log, now }: Kernel, { plugin, model, circuitBreaker }: Route, { kind }: UpstreamFault): void {
  if (!circuitBreaker.onFailure(now())) return;
  log.warn("circuit_opened", { plugin: plugin.name, model: model.id, kind });
}

/** Returns whether another key of this route may work. */
function recordRefusedKey(kernel: Kernel, route: Route, index: number | undefined, fault: UpstreamFault): boolean {
  const { kind, status, retryAfterMs } = fault;
  kernel.log.warn("upstream_refused_key", { plugin: route.plugin.name, key: index, kind, status });
  // The provider answered, so the route itself works.
  route.circuitBreaker.onSuccess();
  if (index === undefined) return false;
  if (retryAfterMs === undefined) route.keys.onFailure(index, kernel.now());
  else route.keys.pauseUntil(index, kernel.now() + retryAfterMs);
  return true;
}

/** Waits before the only route is tried again. Returns whether it should be. */
async function waitToRetry(kernel: Kernel, call: CallContext, fault: UpstreamFault): Promise<boolean> {
  if (fault.kind !== "overloaded" && fault.kind !== "bad_response" && fault.kind !== "timeout") return false;
  const jitterMs = retryMs * (0.5 + (kernel.random ?? Math.random)());
  const waitMs = fault.retryAfterMs === undefined ? jitterMs : fault.retryAfterMs + jitterMs / 2;
  const { beginMsMax } = kernel.network.bounds;
  if (waitMs > retryMsMax || kernel.now() + waitMs >= call.startedMs + beginMsMax) return false;
  await (kernel.pause ?? pause)(waitMs, call.signal);
  return call.cancelReason === undefined;
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

/** The call as the plugin gets it. */
function toPluginCall<Request>(route: Route, upstream: Upstream, call: CallContext, request: Request): Call<Request> {
  const warn = (sentence: string) => call.warn(sentence);
  return { id: call.id, request, model: route.model, signal: call.signal, upstream, warn };
}
