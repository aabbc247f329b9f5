import { afterAll, beforeAll, expect, test } from "bun:test";
import { completionOf } from "../../support/chunks.ts";
import { expectError } from "../../support/expect-error.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { jsonReply } from "../../support/reply.ts";
import { type Bench, startBench } from "../replay/bench.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
  const usage = { prompt_tokens: 50, completion_tokens: 70, total_tokens: 120 };
  bench.upstream.answer("openai", jsonReply(completionOf("Fine", usage)));
});
afterAll(() => bench.stop());

interface KeyAnswer {
  budget: { limit_usd: string; used_usd: string; held_usd: string; remaining_usd: string; resets_at: string };
  limits: { requests_per_minute: { limit: number }; concurrent_calls: { limit: number } };
}

test("a key with a budget is let in until it is used up, told so, and let in again when it is raised", async () => {
  const { gateway, ledger } = bench;
  const flags = ["--budget-usd", "0.0026", "--requests-per-minute", "1000", "--concurrent-calls", "4"];
  const { id, key } = await gateway.cli<{ id: string; key: string }>(
    ...["key", "create", "--account", ownerEmail, "--name", "bounded", ...flags],
  );
  const headers = { authorization: `Bearer ${key}` };
  const ask = (model = "famA-4.1") =>
    gateway.post("/chat/completions", { model, messages: [{ role: "user", content: "Hello" }] }, headers);
  const keyOf = async () => (await (await gateway.ask("/key", { headers })).json()) as KeyAnswer;

  const first = await ask();
  expect(first.status).toBe(200);
  const paid = ledger.callOf(first).charged_nanodollars as number;
  expect(paid).toBeGreaterThan(100_000);
  expect(first.headers.get("x-modelgate-cost-usd")).toBe((paid / 1e9).toFixed(9).replace(/0+$/, ""));

  const month = new Date();
  const resetsAt = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1)).toISOString();
  await expectError(await ask(), { status: 403, code: "budget_exceeded", says: `it resets at ${resetsAt}` });
  expect(await keyOf()).toMatchObject({
    budget: { limit_usd: "0.0026", held_usd: "0", resets_at: resetsAt },
    limits: { requests_per_minute: { limit: 1000 }, concurrent_calls: { limit: 4 } },
  });
  expect(Number((await keyOf()).budget.used_usd) * 1e9).toBeCloseTo(paid, 3);
  expect((await ask("famA-4o-mini")).status).toBe(200);

  await gateway.cli("key", "set", id, "--budget-usd", "5");
  const deadline = Date.now() + 60_000;
  let again = await ask();
  while (again.status !== 200 && Date.now() < deadline) {
    await Bun.sleep(50);
    again = await ask();
  }
  expect(again.status).toBe(200);
  expect(Number((await keyOf()).budget.used_usd) * 1e9).toBeCloseTo(2 * paid, 3);
  const listed = await gateway.cli<{ id: string; budget_usd: string; budget_used_usd: string }[]>("key", "list");
  expect(listed.find((line) => line.id === id)).toMatchObject({ budget_usd: "5" });
  const { code, stdout } = await gateway.run("ledger", "verify");
  expect({ code, stdout: code === 0 ? "" : stdout }).toEqual({ code: 0, stdout: "" });
});
