import { describe, expect, test } from "bun:test";
import { CircuitBreaker, PluginHealth } from "../../../../src/kernel/routing/circuit-breaker.ts";
import { orderRoutes, routeCircuitOptions } from "../../../../src/kernel/routing/route-order.ts";
import { randomBelow } from "../../../support/random.ts";
import { chatModel } from "../support.ts";

function routeOf(id: string, changes: { priority?: number; weight?: number; rests?: boolean } = {}) {
  const { rests, ...row } = changes;
  const circuitBreaker = new CircuitBreaker(routeCircuitOptions);
  if (rests) circuitBreaker.openUntil(1000);
  return { circuitBreaker, health: new PluginHealth(), model: { ...chatModel, ...row, id } };
}

const order = (routes: ReturnType<typeof routeOf>[], random = () => 0.5) =>
  orderRoutes(routes, 0, random)
    .map(({ model }) => model.id)
    .join("");

describe("the order of routes", () => {
  test("is by priority, 100 when there is none", () => {
    expect(order([routeOf("a", { priority: 200 }), routeOf("b"), routeOf("c", { priority: 1 })])).toBe("cba");
  });

  test("has those that rest at the end, but has them", () => {
    expect(order([routeOf("a", { priority: 1, rests: true }), routeOf("b", { priority: 300 })])).toBe("ba");
    expect(order([routeOf("a", { rests: true })])).toBe("a");
  });

  test("draws equals by weight", () => {
    const routes = [routeOf("a", { weight: 3 }), routeOf("b"), routeOf("c", { weight: 0 })];
    const below = randomBelow(7);
    const random = () => below(2 ** 31) / 2 ** 31;
    const firsts = Array.from({ length: 4000 }, () => order(routes, random));
    const share = firsts.filter((text) => text.startsWith("a")).length / firsts.length;
    expect(share).toBeGreaterThan(0.72);
    expect(share).toBeLessThan(0.78);
    expect(firsts.every((text) => text.endsWith("c"))).toBe(true);
  });
});
