import {
  type Call,
  GatewayError,
  type Model,
  type ProviderPlugin,
  type Upstream,
  UpstreamFault,
} from "../../contract/index.ts";
import type { Progress } from "../call-context.ts";
import type { Kernel } from "../kernel.ts";
import { BoundUpstream } from "../upstream/upstream.ts";
import { pause } from "./pause.ts";
import type { ModelEntry, Route } from "./registry.ts";
import { orderRoutes } from "./route-order.ts";

/** How many tries a call gets over all routes and keys. */
export const attemptsMax = 4;
/** How long the only route is left alone before its one retry, in the middle; the half of it more or less. */
const retryMs = 200;
/** A provider that wants to be left alone for longer is not waited for: the caller is told. */
const retryMsMax = 5000;

/** What is tried on each route. */
export interface Attempt<Request, Answer> {
  /** The request as this row of the model takes it. */
  requestFor(model: Model): Request;
  /** Runs the handler; resolves once the provider has begun to answer with substance. */
  run(plugin: ProviderPlugin, call: Call<Request>): Promise<Answer>;
}

/**
 * Tries the routes of an offer until one begins to answer. Nothing has reached the caller before that, so a failure
 * that another key or provider may not have is tried there; where there is one route only, a passing failure is tried
 * there once more. A request that was sent whole is sent again only after the provider refused it (see
 * {@link maySendAgain}).
 *
 * @throws {UpstreamFault | GatewayError} The last failure, or the first that would be the same everywhere.
 */
export async function attempt<Request, Answer>(
  kernel: Kernel,
  modelEntry: ModelEntry,
  progress: Progress,
  trial: Attempt<Request, Answer>,
): Promise<Answer> {
  const { now, network } = kernel;
  const isOnly = modelEntry.routes.length === 1;
  const routes = isOnly ? modelEntry.routes : orderRoutes(modelEntry.routes, now(), kernel.random ?? Math.random);
  progress.limit(network.deadlines, progress.openedAt + network.bounds.beginMsMax);
  let last: unknown;
  for (const route of routes) {
    // Made by the first failure: most calls need none.
    let tried: Set<number> | undefined;
    let retries = isOnly ? 1 : 0;
    while (progress.attempts < attemptsMax) {
      const nowMs = now();
      const taken = route.keys.size === 0 ? undefined : route.keys.take(nowMs, tried);
      if (taken === undefined && (route.keys.size > 0 || (tried !== undefined && tried.size > 0))) break;
      if (progress.cancelReason !== undefined) throw new UpstreamFault("bad_response", "The call was cut off");
      progress.attempts++;
      progress.trying = route;
      route.circuitBreaker.begin(nowMs);
      const upstream = new BoundUpstream(network, route, taken?.key, progress);
      try {
        const answer = await trial.run(route.plugin, callOf(route, upstream, progress, trial.requestFor(route.model)));
        progress.route = route.plugin.name;
        progress.limit(network.deadlines, progress.openedAt + network.bounds.callMsMax);
        noteAnswer(route, taken?.index);
        kernel.watch?.attempted(progress, route, nowMs);
        return answer;
      } catch (error) {
        progress.resetSignal();
        kernel.watch?.attempted(progress, route, nowMs, error);
        const index = taken === undefined ? 0 : taken.index;
        tried ??= new Set();
        tried.add(index);
        if (progress.cancelReason !== undefined || error instanceof GatewayError) throw error;
        const fault = readFailure(kernel, route, progress, error);
        last = fault;
        if (isFinal(fault)) {
          noteAnswer(route, taken?.index);
          throw fault;
        }
        if (isOfKey(fault)) {
          if (noteRefusedKey(kernel, route, taken?.index, fault)) continue;
          break;
        }
        if (route.circuitBreaker.onFailure(now())) {
          kernel.log.warn("circuit_opened", {
            plugin: route.plugin.name,
            model: modelEntry.model.id,
            kind: fault.kind,
          });
        }
        if (!maySendAgain(fault, upstream)) throw fault;
        if (retries === 0 || fault !== error || !(await waitToRetry(kernel, progress, fault))) break;
        retries--;
        tried.delete(index);
      }
    }
  }
  throw last;
}

/** What went wrong, as a fault of the provider: a plugin that throws something else has a fault of its own. */
function readFailure(kernel: Kernel, route: Route, progress: Progress, error: unknown): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  const { name } = route.plugin;
  kernel.log.error("plugin_failed", { call: progress.id, plugin: name, error });
  if (route.health.fault(kernel.now())) kernel.log.error("circuit_opened", { plugin: name });
  return new UpstreamFault("bad_response", "The provider's answer could not be read", { cause: error });
}

/** Whether every route would say the same. */
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

/** Whether another key may do better. */
function isOfKey({ kind }: UpstreamFault): boolean {
  return kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
}

function noteAnswer(route: Route, index: number | undefined): void {
  route.circuitBreaker.onSuccess();
  if (index !== undefined) route.keys.onSuccess(index);
}

/** Notes a refused key; says whether another of this route may do better. */
function noteRefusedKey(kernel: Kernel, route: Route, index: number | undefined, fault: UpstreamFault): boolean {
  const { kind, status, retryAfterMs } = fault;
  kernel.log.warn("upstream_refused_key", { plugin: route.plugin.name, key: index, kind, status });
  // It answered, if only to refuse: the route itself is well.
  route.circuitBreaker.onSuccess();
  if (index === undefined) return false;
  if (retryAfterMs === undefined) route.keys.onFailure(index, kernel.now());
  else route.keys.rest(index, kernel.now() + retryAfterMs);
  return true;
}

/** Waits before the only route is tried again; says whether that is worth it. */
async function waitToRetry(kernel: Kernel, progress: Progress, fault: UpstreamFault): Promise<boolean> {
  if (fault.kind !== "overloaded" && fault.kind !== "bad_response" && fault.kind !== "timeout") return false;
  const jitterMs = retryMs * (0.5 + (kernel.random ?? Math.random)());
  const waitMs = fault.retryAfterMs === undefined ? jitterMs : fault.retryAfterMs + jitterMs / 2;
  const { beginMsMax } = kernel.network.bounds;
  if (waitMs > retryMsMax || kernel.now() + waitMs >= progress.openedAt + beginMsMax) return false;
  await (kernel.pause ?? pause)(waitMs, progress.signal);
  return progress.cancelReason === undefined;
}

function callOf<Request>(route: Route, upstream: Upstream, progress: Progress, request: Request): Call<Request> {
  const warn = (sentence: string) => progress.note(sentence);
  return { id: progress.id, request, model: route.model, signal: progress.signal, upstream, warn };
}
