import { expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../src/contract/index.ts";
import { buildRegistry, type CancelReason, ConnectionError, type Route } from "../../../src/kernel/index.ts";
import { RouteStats } from "../../../src/providers/route-stats.ts";
import { helloPlugin } from "../http/support.ts";
import { attemptOf } from "../kernel/support.ts";

function setup() {
  const { registry } = buildRegistry([helloPlugin], () => ({ keys: ["key-one", "key-two"] }));
  const [{ routes } = { routes: [] }] = registry.modelEntries;
  const route = routes[0] as Route;
  const [, second] = [route.keys.take(0), route.keys.take(0)];
  const stats = new RouteStats(
    undefined,
    () => 1000,
    () => 5000,
  );
  const attempt = (error?: unknown, cancelReason?: CancelReason) => {
    const made = attemptOf(route, second);
    made.run.call.cancelReason = cancelReason;
    if (error === undefined) made.isAnswered = true;
    else made.fail(error, 1000);
    stats.attempted(made);
    return made.run;
  };
  return { stats, route, attempt };
}

test("counts successes and failures by route and by key", () => {
  const { stats, route, attempt } = setup();
  attempt();
  attempt(new UpstreamError("rate_limited", "slow down, secret prompt", { status: 429 }));
  const expected = { calls: 2, errors: 1, lastError: { at: 5000, reason: "rate limited (status 429)" } };
  expect(stats.ofRoute(route)).toMatchObject(expected);
  expect(stats.ofKey(route, 1)).toMatchObject(expected);
  expect(stats.ofKey(route, 0)).toMatchObject({ calls: 0, errors: 0, lastError: undefined });
});

test.each([
  ["the request's own fault", new UpstreamError("bad_request", "no"), { calls: 1, errors: 0 }],
  ["too long a prompt", new UpstreamError("context_length", "no"), { calls: 1, errors: 0 }],
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
  attempt(new UpstreamError("bad_response", "x"), "client_disconnected");
  expect(stats.ofRoute(route).calls).toBe(0);
  const run = attempt();
  const error = new GatewayError("upstream_error", "The stream ended early");
  run.failure = { error, status: error.status, code: error.code };
  stats.ended(run.call, new Request("http://gateway.example"));
  expect(stats.ofRoute(route)).toMatchObject({ calls: 1, errors: 1, lastError: { reason: "the answer broke off" } });
});
