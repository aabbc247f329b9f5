import { describe, expect, test } from "bun:test";
import { getMeter, type Meters, meterNames } from "../../../src/contract/index.ts";
import { ModelRun } from "../../../src/kernel/index.ts";
import { createUsageMeter } from "../../../src/kernel/settlement.ts";
import { fromIterable, type Model } from "../../../src/provider/index.ts";
import { completionOf, finishChunk, Sink, textChunk, usageChunk } from "./streams.ts";
import { callOf, chatCall, chatModel, createBench, createPlugin, newCall, runCall } from "./support.ts";

const perMillion = (usd: string) => ({ usd, per: 1_000_000 });
const rates = { inputToken: perMillion("1"), outputToken: perMillion("2") };
const units = { page: { usd: "0.01", per: 1 }, second: { usd: "0.001", per: 1 } };
/** A model whose provider bills pages and seconds too. */
const row: Model = { ...chatModel, price: { ...rates, ...units }, pagesMax: 5, secondsMax: 60 };
const tokens = { prompt_tokens: 10, completion_tokens: 2 };
/** Nanodollars of those tokens; of the prompt and an output of ten as they are held; and of five pages and sixty seconds. */
const [tokensCost, tokensHold, unitsMost] = [14_000, 35_000, 110_000_000];

function benchOf(usage: unknown, model = row) {
  const chat = async ({ request }: { request: { stream?: boolean | null } }) =>
    request.stream === true
      ? fromIterable([textChunk("Hello"), finishChunk(), ...(usage === undefined ? [] : [usageChunk(usage)])])
      : completionOf("Hello", usage);
  return createBench([createPlugin({ chat: chat as never }, { models: [model] })]);
}

describe("pages and seconds", () => {
  test.each<[string, object, Meters, number]>([
    ["that are reported", { pages: 2, seconds: 7 }, { page: 2, second: 7 }, 27_000_000],
    ["of which there were none", { pages: 0, seconds: 0 }, { page: 0, second: 0 }, 0],
    ["of which a part is reported", { pages: 1, seconds: 6.2 }, { page: 1, second: 7 }, 17_000_000],
    ["up to the most that the row says", { pages: 5, seconds: 60 }, { page: 5, second: 60 }, unitsMost],
  ])("%s are charged as they are, whole or streamed", async (_, reported, meters, cost) => {
    for (const stream of [false, true]) {
      const { kernel, ledger } = benchOf({ ...tokens, ...reported });
      await runCall(kernel, chatCall({ stream, max_tokens: 10 }, stream ? { sink: new Sink<never>() } : {}));
      expect(ledger.claims[0]?.holdNanodollars).toBe(tokensHold + unitsMost);
      expect(ledger.settlement).toMatchObject({
        meters: { inputToken: 10, outputToken: 2, ...meters },
        usageSource: "reported",
        costNanodollars: tokensCost + cost,
      });
    }
  });

  test.each<[string, object]>([
    ["leaves them out", {}],
    ["has no number of", { pages: null, seconds: "many" }],
    ["counts below zero", { pages: -1, seconds: -0.5e9 }],
  ])("that a report %s are charged as the most that the row says", async (_, reported) => {
    const { kernel, ledger } = benchOf({ ...tokens, ...reported });
    await runCall(kernel, chatCall());
    expect(ledger.settlement).toMatchObject({
      meters: { inputToken: 10, outputToken: 2, page: 5, second: 60 },
      usageSource: "estimated",
      costNanodollars: tokensCost + unitsMost,
    });
  });

  test("of an answer without a report are charged as the most that the row says", async () => {
    for (const stream of [false, true]) {
      const { kernel, ledger } = benchOf(undefined);
      await runCall(kernel, chatCall({ stream }, stream ? { sink: new Sink<never>() } : {}));
      expect(ledger.settlement).toMatchObject({ meters: { page: 5, second: 60 }, usageSource: "estimated" });
    }
  });

  test("of a model without a price for them are not counted, whatever is reported", async () => {
    const { kernel, ledger } = benchOf({ ...tokens, pages: 2, seconds: 7 }, chatModel);
    await runCall(kernel, chatCall());
    expect(ledger.settlement.meters).toEqual({ inputToken: 10, outputToken: 2 });
    expect(ledger.settlement.costNanodollars).toBe(tokensCost);
  });

  test("draw on the free quota by their weights", async () => {
    const { kernel, ledger } = benchOf({ ...tokens, pages: 2, seconds: 7 }, { ...row, premium: false });
    await runCall(kernel, chatCall({ max_tokens: 10 }));
    expect(ledger.claims[0]?.holdTokens).toBe(15 + 10 + 5 * 1000 + 60 * 32);
    expect(ledger.settlement.quotaTokens).toBe(10 + 2 + 2 * 1000 + 7 * 32);
  });

  test("are held and charged for each request of a call that takes several", async () => {
    const chat = async () => completionOf("Hello", { ...tokens, pages: 2, seconds: 7 });
    const plugin = createPlugin({ chat }, { models: [row], maxChoices: { chat: 1 } });
    const { kernel, ledger } = createBench([plugin]);
    await runCall(kernel, chatCall({ n: 3, max_tokens: 10 }));
    expect(ledger.claims[0]?.holdNanodollars).toBe(3 * (tokensHold + unitsMost));
    expect(ledger.settlement.meters).toMatchObject({ page: 6, second: 21 });
  });

  test("are reported by every capability beside its own usage", async () => {
    const usage = { prompt_tokens: 4, input_tokens: 4, output_tokens: 0, total_tokens: 4, pages: 2, seconds: 7 };
    const results = [{ flagged: false, categories: {}, category_scores: {} }];
    const handlers = {
      embeddings: async () => ({ vectors: [[1]], usage }),
      moderation: async () => ({ results, usage }),
      rerank: async () => ({ results: [{ index: 0, relevance_score: 1 }], usage }),
      images: async () => ({ images: [{ data: "AAAA", mediaType: "image/png" }], usage }),
    };
    const requests = {
      embeddings: { input: "Hello" },
      moderation: { input: "Hello" },
      rerank: { query: "Hello", documents: ["Hello"] },
      images: { prompt: "Hello" },
    };
    for (const [capability, request] of Object.entries(requests)) {
      const model = { ...row, capability: capability as keyof typeof requests };
      const { kernel, ledger } = createBench([createPlugin(handlers, { models: [model] })]);
      await runCall(kernel, callOf(capability as "embeddings", { model: "chat-1", ...request } as never));
      expect([capability, ledger.settlement.meters]).toEqual([
        capability,
        expect.objectContaining({ page: 2, second: 7 }),
      ]);
    }
  });
});

describe("searches that a provider runs of itself", () => {
  const search: Model = { ...chatModel, price: { ...rates, webSearch: { usd: "0.01", per: 1 } } };

  test("are owed as they are reported, although the request named none and nothing was held for them", async () => {
    for (const stream of [false, true]) {
      const { kernel, ledger } = benchOf({ ...tokens, web_search_requests: 2 }, search);
      await runCall(kernel, chatCall({ stream, max_tokens: 10 }, stream ? { sink: new Sink<never>() } : {}));
      expect(ledger.settlement).toMatchObject({
        meters: { inputToken: 10, outputToken: 2, webSearch: 2 },
        usageSource: "reported",
        costNanodollars: tokensCost + 20_000_000,
      });
    }
  });

  test("are at most as many as one request uses", async () => {
    const { kernel, ledger } = benchOf({ ...tokens, web_search_requests: 1_000_000 }, search);
    await runCall(kernel, chatCall({ max_tokens: 10 }));
    expect(ledger.settlement).toMatchObject({ meters: { webSearch: 1000 }, usageSource: "estimated" });
  });
});

/** A complete call whose hold has three of a meter, of whose model the row says three too, with this report. */
function chargeOf(name: (typeof meterNames)[number], amount: number) {
  const model: Model = {
    ...chatModel,
    price: { ...rates, [name]: perMillion("1") },
    contextTokens: 10,
    audioMsMax: 3,
    pagesMax: 3,
    secondsMax: 3,
  };
  const modelEntry = { model, compiledPrice: undefined, routes: [] };
  const usageMeterOf = (run: ModelRun) => createUsageMeter({} as never, run, {} as never);
  const run = new ModelRun(newCall(), { modelEntry }, { usageMeterOf });
  run.bounds = { upper: { [name]: 3 } };
  run.usageMeter.report({ [name]: amount, ...(getMeter(name).reportedAs === undefined ? { page: 0, second: 0 } : {}) });
  // The units of a model that is priced by them are read of a report.
  const field = getMeter(name).reportedAs;
  if (field !== undefined) run.usageMeter.report({}, { [field]: amount });
  run.usageMeter.complete = true;
  return { count: run.usageMeter.count(), usageMeter: run.usageMeter };
}

test("each of several requests whose report cannot be used is charged the most units of one", async () => {
  const modelEntry = { model: row, compiledPrice: undefined, routes: [] };
  const handler = { toReport: () => undefined, estimate: async () => ({ inputToken: 30, outputToken: 6 }) };
  const usageMeterOf = (made: ModelRun) => createUsageMeter({} as never, made, handler as never);
  const run = new ModelRun(newCall(), { modelEntry }, { usageMeterOf });
  for (let index = 0; index < 3; index++) {
    run.sent.add({ usage: { prompt_tokens: "many" }, isAnswered: true, isWhole: true } as never);
  }
  run.usageMeter.produced = run.usageMeter.complete = true;
  expect((await run.usageMeter.count()).meters).toEqual({ inputToken: 30, outputToken: 6, page: 15, second: 180 });
});

describe("a report", () => {
  const reported = meterNames.filter((name) => name !== "call");

  test.each(reported.map((name) => [name]))("of more than a call can have of %s is charged as what is held", (name) => {
    for (const amount of [1_000_000, 2 ** 33]) {
      const { count, usageMeter } = chargeOf(name, amount);
      expect(count).toMatchObject({ meters: { [name]: 3 }, source: "estimated" });
      expect(usageMeter.implausible).toMatchObject({ [name]: amount });
    }
  });

  test.each(reported.map((name) => [name]))("of what is held of %s is believed", (name) => {
    const { count, usageMeter } = chargeOf(name, 3);
    expect(count).toMatchObject({ meters: { [name]: 3 }, source: "reported" });
    expect(usageMeter.implausible).toBeUndefined();
  });

  test("has a bound of each unit that one request uses, in the table of meters", () => {
    for (const name of reported) {
      const { kind, requestMax } = getMeter(name);
      expect([name, requestMax === undefined]).toEqual([name, kind !== "unit"]);
    }
  });
});
