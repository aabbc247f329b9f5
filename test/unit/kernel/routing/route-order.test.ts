import { describe, expect, test } from "bun:test";
import { KeyPool, PluginHealth, RouteCircuit } from "../../../../src/kernel/routing/circuits.ts";
import { orderRoutes, type Route, routeCircuitOptions } from "../../../../src/kernel/routing/registry.ts";
import { randomBelow } from "../../../support/random.ts";
import { chatModel, createPlugin } from "../support.ts";

const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) });

function routeOf(id: string, changes: { priority?: number; weight?: number; rests?: boolean } = {}): Route {
  const { rests, ...row } = changes;
  const circuitBreaker = new RouteCircuit(routeCircuitOptions);
  if (rests) circuitBreaker.pauseFor(1000, 0);
  const model = { ...chatModel, ...row, id };
  return { plugin, model, baseUrl: plugin.baseUrl, keys: new KeyPool([]), health: new PluginHealth(), circuitBreaker };
}

const order = (routes: Route[], random = () => 0.5) =>
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
