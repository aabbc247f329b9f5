import { afterAll, beforeAll, expect, test } from "bun:test";
import { startScriptedProviders } from "../../support/scripted-providers.ts";
import { until } from "../../support/until.ts";
import { entra } from "./entra.ts";
import { keyBy, newTeam, type ScimGateway, startScim } from "./scim-gateway.ts";

const providers = startScriptedProviders();
let scimGateway: ScimGateway;
beforeAll(async () => {
  scimGateway = await startScim(providers.env);
});
afterAll(async () => {
  await scimGateway.gateway.stop();
  await providers.stop();
});

test("a call that was admitted before its person left is answered and settled, and the next one is refused", async () => {
  const { gateway, scim } = scimGateway;
  const { id } = (await scim("POST", "/Users", { userName: "ada@example.org" })).body;
  const team = await newTeam(scimGateway, "Search");
  const { key, id: keyId } = await keyBy(gateway, team, id);
  const call = () =>
    fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content: "Hi" }] }),
    });
  const { promise, resolve: letGo } = Promise.withResolvers<void>();
  providers.fault = () => {
    providers.fault = undefined;
    return promise.then(async () => new Response("busy", { status: 500 }));
  };
  const running = call();
  await until(() => providers.seen.length === 1);
  const left = scim("PATCH", `/Users/${id}`, entra.disable);
  // At the same moment, and after it: both ask for the key again.
  const besides = await Promise.all(Array.from({ length: 5 }, call));
  expect((await left).body.active).toBe(false);
  const after = await call();
  expect(after.status).toBe(401);
  letGo();
  // The provider failed the first attempt; the second is of the same call.
  const answer = await running;
  expect(answer.status).toBe(200);
  const statuses = besides.map(({ status }) => status);
  expect(statuses.every((status) => status === 200 || status === 401)).toBe(true);
  await Promise.all(besides.map((response) => response.text()));
  await answer.text();
  const served = 1 + statuses.filter((status) => status === 200).length;
  const rows = gateway.store.db.selectFrom("calls").select(["state", "quota_tokens"]).where("key_id", "=", keyId);
  await until(async () => (await rows.execute()).length === served);
  for (const { state, quota_tokens } of await rows.execute()) {
    expect(state).toBe("settled");
    // The model draws on the free quota.
    expect(Number(quota_tokens)).toBeGreaterThan(0);
  }
  const open = gateway.store.db.selectFrom("open_calls").select("id").where("key_id", "=", keyId);
  expect(await open.execute()).toEqual([]);
});
