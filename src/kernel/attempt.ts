import {
  type Call,
  GatewayError,
  type Model,
  type ProviderPlugin,
  type Upstream,
  UpstreamFault,
} from "../contract/index.ts";
import type { Kernel } from "./kernel.ts";
import type { Progress } from "./progress.ts";
import type { Offer, Route } from "./registry.ts";
import { BoundUpstream } from "./upstream.ts";

/** How many tries a call gets over all routes and keys. */
export const attemptsMax = 4;
const keyRestMs = { key: 300_000, quota: 300_000, limited: 10_000 } as const;

/** What is tried on each route. */
export interface Trial<Request, Answer> {
  /** The request as this row of the model takes it. */
  requestFor(model: Model): Request;
  /** Runs the handler; resolves once the provider has begun to answer with substance. */
  run(plugin: ProviderPlugin, call: Call<Request>): Promise<Answer>;
}

/**
 * Tries the routes of an offer in turn until one begins to answer. Nothing has reached the caller before that, so a
 * failure that another key or provider may not have is tried there.
 *
 * @throws {UpstreamFault | GatewayError} The last failure, or the first that would be the same everywhere.
 */
export async function attempt<Request, Answer>(
  kernel: Kernel,
  offer: Offer,
  progress: Progress,
  trial: Trial<Request, Answer>,
): Promise<Answer> {
  let last: unknown;
  for (const route of offer.routes) {
    const tried = new Set<number>();
    while (progress.attempts < attemptsMax) {
      const taken = route.keys.size === 0 ? undefined : route.keys.take(kernel.now(), tried);
      if (taken === undefined && (route.keys.size > 0 || tried.size > 0)) break;
      tried.add(taken === undefined ? 0 : taken.index);
      if (progress.cutReason !== undefined) throw new UpstreamFault("broken", "The call was cut off");
      progress.attempts++;
      try {
        const upstream = new BoundUpstream(kernel.network, route, taken?.key, progress);
        const answer = await trial.run(route.plugin, callOf(route, upstream, progress, trial.requestFor(route.model)));
        progress.route = route.plugin.name;
        return answer;
      } catch (error) {
        last = error;
        if (progress.cutReason !== undefined || error instanceof GatewayError) throw error;
        if (!(error instanceof UpstreamFault)) {
          kernel.log.error("plugin_failed", { call: progress.id, plugin: route.plugin.name, error });
          last = new UpstreamFault("broken", "The provider's answer could not be read", { cause: error });
          break;
        }
        if (error.kind === "bad_request" || error.kind === "too_long") throw error;
        if (!restKey(kernel, route, taken?.index, error)) break;
      }
    }
  }
  throw last;
}

/** Puts the key to rest where the fault is the key's; says whether another key of this route may do better. */
function restKey(kernel: Kernel, route: Route, index: number | undefined, fault: UpstreamFault): boolean {
  const { kind } = fault;
  if (kind !== "key" && kind !== "quota" && kind !== "limited") return false;
  kernel.log.warn("upstream_refused_key", { plugin: route.plugin.name, key: index, kind, status: fault.status });
  if (index === undefined) return false;
  const restMs = fault.retryAfterMs === undefined ? keyRestMs[kind] : fault.retryAfterMs;
  route.keys.rest(index, kernel.now() + restMs);
  return true;
}

function callOf<Request>(route: Route, upstream: Upstream, progress: Progress, request: Request): Call<Request> {
  const note = (sentence: string) => progress.note(sentence);
  return { id: progress.id, request, model: route.model, signal: progress.signal, upstream, note };
}
