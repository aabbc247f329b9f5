import { expect, test } from "bun:test";
import { GatewayError, UpstreamFault } from "../../../src/contract/index.ts";
import { buildRegistry, CallContext, ConnectionError, type Route } from "../../../src/kernel/index.ts";
import { RouteStats } from "../../../src/providers/route-stats.ts";
import { helloPlugin } from "../http/support.ts";
import { caller } from "../kernel/support.ts";

function setup() {
  const { registry } = buildRegistry([helloPlugin], () => ({ keys: ["key-one", "key-two"] }));
  const [{ routes } = { routes: [] }] = registry.modelEntries;
  const route = routes[0] as Route;
  const stats = new RouteStats(
    undefined,
    () => 1000,
    () => 5000,
  );
  const attempt = (error?: unknown, change: Partial<CallContext> = {}) => {
    const call = Object.assign(new CallContext("req", 0, caller), { keyIndex: 1, currentRoute: route, ...change });
    stats.attempted(call, route, 900, error);
    return call;
  };
  return { stats, route, attempt };
}

test("counts successes and failures by route and by key", () => {
  const { stats, route, attempt } = setup();
  attempt();
  attempt(new UpstreamFault("rate_limited", "slow down, secret prompt", { status: 429 }));
  const expected = { calls: 2, errors: 1, lastError: { at: 5000, reason: "rate limited (status 429)" } };
  expect(stats.ofRoute(route)).toMatchObject(expected);
  expect(stats.ofKey(route, 1)).toMatchObject(expected);
  expect(stats.ofKey(route, 0)).toMatchObject({ calls: 0, errors: 0, lastError: undefined });
});

test.each([
  ["the request's own fault", new UpstreamFault("bad_request", "no"), { calls: 1, errors: 0 }],
  ["too long a prompt", new UpstreamFault("context_length", "no"), { calls: 1, errors: 0 }],
  ["a connection that failed", new ConnectionError({ code: "ECONNREFUSED" }), { calls: 1, errors: 1 }],
  ["a plugin that throws", new TypeError("x"), { calls: 1, errors: 1 }],
  ["a refusal of the gateway", new GatewayError("invalid_request", "no"), { calls: 0, errors: 0 }],
])("%s", (_, error, expected) => {
  const { stats, route, attempt } = setup();
  attempt(error);
  expect(stats.ofRoute(route)).toMatchObject(expected);
});

test("a client that leaves counts against no route, and an answer that breaks off does", () => {
  const { stats, route, attempt } = setup();
  attempt(new UpstreamFault("bad_response", "x"), { cancelReason: "client_disconnected" });
  expect(stats.ofRoute(route).calls).toBe(0);
  const call = attempt(undefined, { route: helloPlugin.name, errorCode: "upstream_error" });
  stats.ended(call, new Request("http://gateway.example"));
  expect(stats.ofRoute(route)).toMatchObject({ calls: 1, errors: 1, lastError: { reason: "the answer broke off" } });
});
