import {
  type Call,
  capabilityForms,
  GatewayError,
  type Model,
  type ProviderPlugin,
  UpstreamFault,
} from "../../contract/index.ts";
import type { CallContext } from "../call-context.ts";
import { recordFailedAttempt } from "../call-detail.ts";
import type { Kernel } from "../types.ts";
import { BoundUpstream } from "../upstream/upstream.ts";
import {
  isFinal,
  isOfKey,
  maySendAgain,
  recordFailure,
  recordRefusedKey,
  toFault,
  toOwnFailure,
  waitToRetry,
} from "./failures.ts";
import type { PoolKey } from "./health.ts";
import { canServe, orderRoutes, type Route } from "./registry.ts";
import { affinity, ownerOf } from "./stickiness.ts";

/** How many attempts a call gets at a model over all its routes and keys. */
export const attemptsMax = 4;

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
  const { accountId } = call.caller;
  const owner = ownerOf(call);
  const random =
    owner === undefined ? (kernel.random ?? Math.random) : (route: Route) => affinity(owner, route.plugin.name);
  // Of a further endpoint only some plugins of the model may know.
  const { also } = capabilityForms[call.capability];
  const able = call.modelEntry.routes.filter((route) => also === undefined || canServe(route, call.capability));
  const routes = orderRoutes(able, now(), random, accountId);
  const { beginMsMax } = network.bounds;
  const longestMs = Math.max(...routes.map(({ model }) => (model.timeoutSeconds ?? 0) * 1000));
  call.setDeadline(network.timeouts, call.startedMs + Math.max(beginMsMax, longestMs));
  let last: unknown;
  for (const route of routes) {
    // Created by the first failure: most calls need none.
    let triedKeys: Set<number> | undefined;
    let retries = routes.length === 1 ? 1 : 0;
    while (call.attempts - call.attemptsBefore < attemptsMax) {
      const nowMs = now();
      const key = route.keys.take(nowMs, triedKeys, owner);
      if (key === undefined && (route.keys.size > 0 || (triedKeys !== undefined && triedKeys.size > 0))) break;
      call.throwIfCancelled();
      call.attempts++;
      call.currentRoute = route;
      call.keyIndex = key?.index;
      route.circuitBreaker.begin(nowMs, accountId);
      const upstream = new BoundUpstream(network, route, key?.credential, call);
      try {
        const answer = await attempt.run(route.plugin, {
          id: call.id,
          request: attempt.requestFor(route.model),
          model: route.model,
          signal: call.signal,
          upstream,
          warn: (sentence, ignored) => call.warn(sentence, ignored),
        });
        call.route = route.plugin.name;
        call.setDeadline(network.timeouts, call.startedMs + network.bounds.callMsMax);
        recordSuccess(route, key, accountId);
        kernel.observer?.attempted(call, route, nowMs);
        return answer;
      } catch (error) {
        call.resetSignal();
        kernel.observer?.attempted(call, route, nowMs, error);
        recordFailedAttempt(call, { route, error, durationMs: now() - nowMs });
        const keyIndex = key === undefined ? 0 : key.index;
        triedKeys ??= new Set();
        triedKeys.add(keyIndex);
        if (call.cancelReason !== undefined || call.clientLeft || error instanceof GatewayError) throw error;
        if (!upstream.wasAsked && !(error instanceof UpstreamFault)) {
          last = toOwnFailure(kernel, route, call, error);
          break;
        }
        const fault = toFault(kernel, route, call, error);
        last = fault;
        // A part of what was asked for is paid already, and would be again.
        if (upstream.hasServed && isOfKey(fault)) {
          route.circuitBreaker.onSuccess(accountId);
          recordRefusedKey(kernel, route, key, fault);
          throw fault;
        }
        if (isFinal(fault)) {
          recordSuccess(route, key, accountId);
          throw fault;
        }
        if (isOfKey(fault)) {
          // The provider answered, so the route itself works.
          route.circuitBreaker.onSuccess(accountId);
          if (recordRefusedKey(kernel, route, key, fault)) continue;
          break;
        }
        recordFailure(kernel, route, fault, accountId);
        if (upstream.hasServed || !maySendAgain(fault, upstream.wasSent)) throw fault;
        if (retries === 0 || fault !== error || !(await waitToRetry(kernel, call, fault))) break;
        retries--;
        triedKeys.delete(keyIndex);
      }
    }
  }
  throw last;
}

function recordSuccess(route: Route, key: PoolKey | undefined, accountId: string): void {
  route.circuitBreaker.onSuccess(accountId);
  key?.circuitBreaker.onSuccess();
}
