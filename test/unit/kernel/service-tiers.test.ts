import { describe, expect, test } from "bun:test";
import { compilePrice } from "../../../src/contract/index.ts";
import type { Model } from "../../../src/provider/index.ts";
import { definePlugin, openai } from "../../../src/sdk/index.ts";
import { completionOf, Sink } from "./streams.ts";
import { chatCall, chatModel, createBench, runCall } from "./support.ts";

const million = 1_000_000;
const rates = (usd: string) => ({ inputToken: { usd, per: million }, outputToken: { usd, per: million } });
const row: Model = {
  ...chatModel,
  price: { ...rates("2"), serviceTiers: { flex: rates("1"), priority: rates("4") } },
};

/** A provider that says by which tier it served, and what it was sent. */
function tierBench(served: string | undefined, models = [row]) {
  const sent: Record<string, unknown>[] = [];
  const plugin = definePlugin({
    name: "acme",
    baseUrl: "https://acme.example/v1",
    models,
    handlers: openai({ chat: {} }),
  });
  const bench = createBench([plugin], {
    fetch: async (_, init) => {
      const body = JSON.parse(init.body as string) as Record<string, unknown>;
      sent.push(body);
      const answer = { ...completionOf("Hello"), ...(served && { service_tier: served }) };
      if (body.stream !== true) return Response.json(answer);
      const [choice] = answer.choices;
      const chunks = [
        { choices: [{ index: 0, delta: choice?.message, finish_reason: null }], service_tier: served },
        { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
        { choices: [], usage: answer.usage },
      ];
      const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
      return new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { ...bench, sent };
}

/** 120 tokens at these dollars a million, in nanodollars. */
const costAt = (usd: number) => 120 * usd * 1000;

describe("service_tier", () => {
  test.each([
    ["flex", "flex", 1, 2],
    ["flex", "default", 2, 2],
    ["flex", undefined, 2, 2],
    ["priority", "priority", 4, 4],
    ["priority", "performance", 4, 4],
    ["priority", "default", 2, 4],
    ["priority", undefined, 4, 4],
  ])("%p that is served as %p costs $%d a million and is held by $%d", async (asked, served, usd, heldUsd) => {
    for (const stream of [false, true]) {
      const { kernel, ledger, sent } = tierBench(served);
      const request = { service_tier: asked, max_tokens: 100 };
      const sink = stream ? new Sink<never>() : undefined;
      const call = chatCall({ ...request, stream }, sink === undefined ? {} : { sink });
      await runCall(kernel, call);
      expect(sent[0]?.service_tier).toBe(asked);
      expect(ledger.settlement.costNanodollars).toBe(costAt(usd));
      expect([...(call.run?.ignored ?? [])]).toEqual([]);
      // "Say hello" has at most nine tokens, and six more as a message.
      expect(ledger.claims[0]?.holdNanodollars).toBe((15 + 100) * heldUsd * 1000);
    }
  });

  test.each([
    ["batch", undefined, 1],
    [undefined, undefined, 1],
    ["default", "default", 1],
    ["priority", "priority", 1],
  ])("%p that is served as batch costs what the row says of batch, which is less", async (asked, sent, usd) => {
    const serviceTiers = { batch: rates("1"), priority: rates("4") };
    const price = { ...rates("2"), serviceTiers };
    const bench = tierBench("batch", [{ ...row, price }]);
    await runCall(bench.kernel, chatCall(asked === undefined ? {} : { service_tier: asked }));
    expect(bench.sent[0]?.service_tier).toBe((asked === "batch" ? "batch" : sent) as string);
    expect(bench.ledger.settlement.costNanodollars).toBe(costAt(usd));
  });

  test("batch that is asked for and served as something else costs the model's own price", async () => {
    const price = { ...rates("2"), serviceTiers: { batch: rates("1") } };
    for (const served of ["default", undefined]) {
      const { kernel, ledger } = tierBench(served, [{ ...row, price }]);
      await runCall(kernel, chatCall({ service_tier: "batch" }));
      expect(ledger.settlement.costNanodollars).toBe(costAt(2));
    }
  });

  test("without a price of a batch, batch is left out of the request", async () => {
    const bench = tierBench("default");
    const call = chatCall({ service_tier: "batch" });
    await runCall(bench.kernel, call);
    expect(bench.sent[0]?.service_tier).toBeUndefined();
    expect([...(call.run?.ignored ?? [])]).toEqual(["service_tier"]);
  });

  test.each([
    ["scale", undefined],
    ["default", "default"],
    ["auto", "default"],
  ])("%p without a price is sent as %p and costs the model's own price", async (asked, sent) => {
    const bench = tierBench("priority");
    const call = chatCall({ service_tier: asked });
    await runCall(bench.kernel, call);
    expect(bench.sent[0]?.service_tier).toBe(sent as string);
    expect(bench.ledger.settlement.costNanodollars).toBe(costAt(2));
    expect([...(call.run?.ignored ?? [])]).toEqual(sent === undefined ? ["service_tier"] : []);
  });

  test("is not paid for where the provider was asked without it", async () => {
    const { price, ...unpriced } = row;
    const { kernel, ledger } = tierBench("priority", [{ ...unpriced, price: rates("2") }]);
    await runCall(kernel, chatCall({ service_tier: "priority" }));
    expect(price).toBeDefined();
    expect(ledger.settlement.costNanodollars).toBe(costAt(2));
  });
});

test("the version of a price is the same without tiers, and another with each", () => {
  const plain = compilePrice(rates("2")).version;
  expect(compilePrice({ ...rates("2") }).version).toBe(plain);
  expect(compilePrice({ ...rates("2"), serviceTiers: { flex: rates("1") } }).version).not.toBe(plain);
});
