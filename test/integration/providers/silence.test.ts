import { expect, test } from "bun:test";
import { call, enter, manifestOf, open, provider, start, useNode } from "./fixture.ts";

const key = "provider-key-first-0001";

/** How long a call of a provider that is silent for three seconds takes, by the setting and the row of the model. */
async function callSilent(env: Record<string, string>, timeoutSeconds: number) {
  const store = await (await open("sqlite"))();
  const node = await start(store, env);
  const admin = await enter(store);
  const { send } = await useNode(node, admin.cookie);
  const upstream = provider(key);
  upstream.answer.delayMs = 3000;
  const models = [{ id: "acme/chat", premium: false, timeoutSeconds }];
  await send("POST", "/providers", { name: "acme", manifest: { ...manifestOf(upstream.baseUrl), models }, key });
  const startedAt = Date.now();
  const response = await call(node.origin, admin.key);
  const body = (await response.json()) as { error?: { code: string } };
  return { code: body.error?.code, ms: Date.now() - startedAt };
}

test("the timeout that the operator sets is the most that a model may be silent for", async () => {
  expect((await callSilent({ UPSTREAM_TIMEOUT_SECONDS: "1" }, 900)).code).toBe("upstream_timeout");
});

test("a model's own timeout counts where it is shorter, and where the operator sets none", async () => {
  expect((await callSilent({ UPSTREAM_TIMEOUT_SECONDS: "900" }, 1)).code).toBe("upstream_timeout");
  const longer = await callSilent({}, 900);
  expect(longer.code).toBeUndefined();
  expect(longer.ms).toBeGreaterThanOrEqual(3000);
});
