import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { catalogueRow } from "../../support/catalogue.ts";
import { completionOf, finishChunk, textChunk, usageChunk } from "../../support/chunks.ts";
import type { CallRow } from "../../support/ledger-view.ts";
import { binaryReply, eventsReply, jsonReply, type Reply } from "../../support/reply.ts";
import { wavOf } from "../../support/wav.ts";
import { type Bench, startBench } from "../replay/bench.ts";
import { expectCost } from "../replay/expect-ledger.ts";

const messages = [{ role: "user", content: "Count" }];
const model = "famA-4.1";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

/** Asks until the provider has the request, and hands out how to leave. */
async function askAndLeave(path: string, body: unknown, reply: Reply, readFirst: boolean): Promise<CallRow> {
  const { gateway, upstream, ledger } = bench;
  const provider = path === "/audio/speech" ? "groq" : "openai";
  upstream.answer(provider, reply);
  const asked = upstream.seen.length;
  const controller = new AbortController();
  const asking = gateway.ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: controller.signal,
  });
  if (readFirst) await (await asking).body?.getReader().read();
  while (upstream.seen.length === asked) await Bun.sleep(2);
  controller.abort();
  await asking.catch(() => undefined);
  // The provider's side ends too: what nobody waits for is not made.
  expect(await upstream.seen.at(-1)?.left).toBe(true);
  await ledger.untilSettled();
  return ledger.latest() as CallRow;
}

const numbers = Array.from({ length: 200 }, (_, index) => textChunk(`number ${index} `));
const slowStream: Reply = {
  ...eventsReply(...numbers, finishChunk(), "[DONE]"),
  slices: 2000,
  fault: { kind: "drip", gapMs: 20 },
};
const hang: Reply = { ...jsonReply(completionOf("never")), fault: { kind: "hang" } };

describe("a client that leaves", () => {
  test("in the middle of a stream pays for what was said until then, and no more", async () => {
    const call = await askAndLeave("/chat/completions", { model, messages, stream: true }, slowStream, true);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated", status: 499 });
    expect(call.output_tokens).toBeGreaterThan(0);
    expect(call.output_tokens).toBeLessThan(400);
    expectCost(call, catalogueRow(model));
  });

  test("in the middle of a stream of a model that reasons pays what the provider reports at its end", async () => {
    const { gateway, upstream, ledger } = bench;
    const usage = { prompt_tokens: 7, completion_tokens: 5000, total_tokens: 5007 };
    const events = [...numbers.slice(0, 20), finishChunk(), usageChunk(usage), "[DONE]"];
    upstream.answer("openai", { ...eventsReply(...events), slices: 50, fault: { kind: "drip", gapMs: 10 } });
    const controller = new AbortController();
    const response = await gateway.ask("/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "famA-5", messages, stream: true }),
      signal: controller.signal,
    });
    await response.body?.getReader().read();
    controller.abort();
    await ledger.untilSettled();
    expect(ledger.latest()).toMatchObject({
      state: "settled",
      status: 499,
      usage_source: "reported",
      output_tokens: 5000,
    });
  });

  test("before the first byte of a stream pays the prompt, which the provider bills", async () => {
    const call = await askAndLeave("/chat/completions", { model, messages, stream: true }, hang, false);
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated", status: 499, output_tokens: 0 });
    expect(call.input_tokens).toBeGreaterThan(0);
  });

  test("in the middle of speech pays for what was spoken until then", async () => {
    const reply: Reply = {
      ...binaryReply(wavOf(20_000), "audio/wav"),
      slices: 1000,
      fault: { kind: "drip", gapMs: 20 },
    };
    const call = await askAndLeave("/audio/speech", { model: "famT/v1-english", input: "Hello" }, reply, true);
    expect(call).toMatchObject({ state: "settled", characters: 1 });
  });

  test("and holds nothing afterwards, by the ledger too", async () => {
    const key = (await (await bench.gateway.ask("/key")).json()) as { wallet: { held_usd: string } };
    expect(key.wallet.held_usd).toBe("0");
    expect((await bench.gateway.run("ledger", "verify")).code).toBe(0);
  });

  test("does not disturb the next one", async () => {
    bench.upstream.answer("openai", jsonReply(completionOf("Fine")));
    expect((await bench.gateway.post("/chat/completions", { model, messages })).status).toBe(200);
  });
});
