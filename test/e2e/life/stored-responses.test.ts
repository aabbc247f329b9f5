import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillWallet, ownerEmail, startGateway } from "../../support/gateway.ts";

const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const model = "famA-4o-mini";
const prompt = "a sentence that stands nowhere else";

test("a stored response outlives the process and its key, and no file shows its text", async () => {
  const first = await startGateway({ home, env: { SANDBOX: "on" } });
  await fillWallet(first);
  const { key } = await first.cli<{ key: string }>("key", "create", "--account", ownerEmail, "--name", "short");
  const authorization = `Bearer ${key}`;
  const made = await first.post("/responses", { model, input: prompt }, { authorization });
  const { id, store } = (await made.json()) as { id: string; store: boolean };
  expect(store).toBe(true);
  const files = readdirSync(home).filter((name) => name.startsWith("modelgate.db"));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(readFileSync(join(home, file), "latin1")).not.toContain(prompt);
  const keyId = key.split("-")[2] as string;
  await first.cli("key", "revoke", keyId);
  await first.stop();

  const second = await startGateway({ home, env: { SANDBOX: "on" } });
  const get = (headers: Record<string, string> = {}) => second.ask(`/responses/${id}`, { headers });
  expect((await get({ authorization })).status).toBe(401);
  expect(await (await get()).json()).toMatchObject({ id, output: [{ role: "assistant" }] });
  const next = await second.post("/responses", { model, input: "And now?", previous_response_id: id });
  expect(await next.json()).toMatchObject({ status: "completed", previous_response_id: id });
  await second.stop();
});
