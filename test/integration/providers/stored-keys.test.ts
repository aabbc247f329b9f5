import { expect, test } from "bun:test";
import { type call, enter, open, provider, start, useNode } from "./fixture.ts";

const [revoked, fresh] = ["provider-key-revoked-0001", "provider-key-fresh-0002"];
const model = "gpt-4.1-mini";

const ask: typeof call = (origin, key) =>
  fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
  });

test("a revoked key of the environment is replaced by a stored one without a restart, and the choice outlives one", async () => {
  const store = await (await open("sqlite"))();
  const upstream = provider(fresh);
  const env = {
    OPENAI_API_KEY: revoked,
    OPENAI_BASE_URL: upstream.baseUrl,
    SECRETS_KEY: "a-secrets-key-of-thirty-two-characters",
  };
  const node = await start(store, env);
  const admin = await enter(store);
  const { send, find } = await useNode(node, admin.cookie);
  const keys = async () => ((await find("openai"))?.keys ?? []) as unknown as { in_force: boolean; source: string }[];
  expect((await ask(node.origin, admin.key)).ok).toBe(false);

  // Chosen before there is a stored key, it changes nothing yet.
  expect((await send("POST", "/providers/openai", { uses_stored_keys: true })).status).toBe(200);
  expect(await keys()).toMatchObject([{ source: "OPENAI_API_KEY", in_force: true }]);
  expect((await send("POST", "/providers/openai/keys", { key: fresh })).status).toBe(200);
  expect(await keys()).toMatchObject([
    { source: "OPENAI_API_KEY", in_force: false },
    { source: null, in_force: true },
  ]);
  expect((await ask(node.origin, admin.key)).status).toBe(200);
  expect(upstream.asked.at(-1)).toBe(fresh);

  // Another process reads the choice from the database.
  const after = await start(store, env);
  expect((await ask(after.origin, admin.key)).status).toBe(200);
  expect(upstream.asked.at(-1)).toBe(fresh);
  const page = await useNode(after, admin.cookie);
  expect((await page.send("POST", "/providers/openai", { uses_stored_keys: false })).status).toBe(200);
  await ask(after.origin, admin.key);
  expect(upstream.asked.at(-1)).toBe(revoked);
});
