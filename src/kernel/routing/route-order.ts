import type { Model } from "../../contract/index.ts";
import type { CircuitBreaker, CircuitBreakerOptions } from "./circuit-breaker.ts";
import type { PluginHealth } from "./plugin-health.ts";

/** What of a route says when its turn is. */
interface Ranked {
  readonly model: Model;
  readonly circuitBreaker: CircuitBreaker;
  readonly health: PluginHealth;
}

const priorityDefault = 100;
const weightDefault = 1;

/** Five faults in half a minute, at least half of what was tried: a provider that is down is left alone quickly. */
export const routeBounds: CircuitBreakerOptions = {
  faultsMin: 5,
  windowMs: 30_000,
  openMs: 15_000,
  restMsMax: 240_000,
};

/** Lower is tried first. */
export function priorityOf({ priority }: Model): number {
  return priority === undefined ? priorityDefault : priority;
}

/** The share among routes of one priority; 0 is tried only after the others. */
export function weightOf({ weight }: Model): number {
  return weight === undefined ? weightDefault : weight;
}

/** Whether a route is worth a try before those that rest. */
function isReady({ circuitBreaker, health }: Ranked, nowMs: number): boolean {
  return circuitBreaker.isReady(nowMs) && health.openMs(nowMs) === 0;
}

/**
 * The order in which one call tries the routes: by priority, among equals drawn by weight, and those that rest at the
 * very end, because a last resort is better than a refusal.
 */
export function orderRoutes<Route extends Ranked>(
  routes: readonly Route[],
  nowMs: number,
  random: () => number,
): readonly Route[] {
  if (routes.length === 1) return routes;
  const drawn = routes.map((route) => {
    const weight = weightOf(route.model);
    // Each place is drawn with the chance weight / sum of the weights left (Efraimidis and Spirakis, 2006).
    const draw = weight === 0 ? Number.NEGATIVE_INFINITY : Math.log(random()) / weight;
    return { route, draw, ready: isReady(route, nowMs), priority: priorityOf(route.model) };
  });
  drawn.sort((a, b) => {
    if (a.ready !== b.ready) return a.ready ? -1 : 1;
    if (a.priority !== b.priority) return a.priority - b.priority;
    return a.draw === b.draw ? 0 : b.draw - a.draw;
  });
  return drawn.map(({ route }) => route);
}
