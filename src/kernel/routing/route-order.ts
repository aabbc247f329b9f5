import type { Model } from "../../contract/index.ts";
import type { CircuitBreaker, CircuitBreakerOptions, PluginHealth } from "./circuit-breaker.ts";

interface Ranked {
  readonly model: Model;
  readonly circuitBreaker: CircuitBreaker;
  readonly health: PluginHealth;
}

const priorityDefault = 100;
const weightDefault = 1;

/** Five failures in half a minute, at least half of the attempts: a provider that is down is avoided quickly. */
export const routeCircuitOptions: CircuitBreakerOptions = {
  failuresMin: 5,
  windowMs: 30_000,
  openMs: 15_000,
  openMsMax: 240_000,
};

/** Lower is tried first. */
export function getPriority({ priority }: Model): number {
  return priority === undefined ? priorityDefault : priority;
}

/** The share among routes of one priority; 0 is tried only after the others. */
export function getWeight({ weight }: Model): number {
  return weight === undefined ? weightDefault : weight;
}

function isReady({ circuitBreaker, health }: Ranked, nowMs: number): boolean {
  return circuitBreaker.isReady(nowMs) && health.openForMs(nowMs) === 0;
}

/**
 * The order in which one call tries the routes: by priority, among equals drawn by weight. Routes with an open circuit
 * come last, because a last resort is better than a refusal.
 */
export function orderRoutes<Route extends Ranked>(
  routes: readonly Route[],
  nowMs: number,
  random: () => number,
): readonly Route[] {
  if (routes.length === 1) return routes;
  const drawn = routes.map((route) => {
    const weight = getWeight(route.model);
    // Each place is drawn with the chance weight / sum of the weights left (Efraimidis and Spirakis, 2006).
    const draw = weight === 0 ? Number.NEGATIVE_INFINITY : Math.log(random()) / weight;
    return { route, draw, ready: isReady(route, nowMs), priority: getPriority(route.model) };
  });
  drawn.sort((a, b) => {
    if (a.ready !== b.ready) return a.ready ? -1 : 1;
    if (a.priority !== b.priority) return a.priority - b.priority;
    return a.draw === b.draw ? 0 : b.draw - a.draw;
  });
  return drawn.map(({ route }) => route);
}
