import type { CircuitState } from "./circuit-breaker.ts";
import type { ModelEntry } from "./registry.ts";
import { priorityOf, weightOf } from "./route-order.ts";

/** One way to serve a model, as a caller may see it: who, and whether it works; no keys and no addresses. */
export interface RouteState {
  plugin: string;
  priority: number;
  weight: number;
  state: CircuitState;
}

/** The routes of an offer, the first to be tried first. */
export function describeRoutes({ routes }: ModelEntry, nowMs: number): RouteState[] {
  return routes.map(({ plugin, model, circuitBreaker, health, keys }) => {
    const isWithoutKey = keys.size > 0 && keys.readyAt(nowMs) === 0;
    const state = health.openMs(nowMs) > 0 || isWithoutKey ? "open" : circuitBreaker.stateAt(nowMs);
    return { plugin: plugin.name, priority: priorityOf(model), weight: weightOf(model), state };
  });
}
