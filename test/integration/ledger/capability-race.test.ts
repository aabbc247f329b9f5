import { afterEach, describe, expect, test } from "bun:test";
import {
  type Caller,
  type Capability,
  GatewayError,
  type ModelCapability,
  makeCallId,
} from "../../../src/contract/index.ts";
import type { ExchangeRequest } from "../../../src/kernel/call.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import type { ChatCompletion, ChatRequest, Handlers, Model } from "../../../src/provider/index.ts";
import { wavOf } from "../../support/wav.ts";
import { callOf, chatModel, createBench, createPlugin, runCall } from "../../unit/kernel/support.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import { addAccount, type BillingFixture, budgetOfKey, dayMs, ledgerFixture, newYear } from "./fixture.ts";

const engines = useEngines();
const cent = 10_000_000;
const million = 1_000_000;
const prompt = "鿿".repeat(300);

/** What each provider uses is all that its request allows, which is as dear as its model can be. */
type Size<C extends Capability> = { request: ExchangeRequest<C>; handlers: Handlers; model: Partial<Model> };
const tokens = { inputToken: { usd: "0.5", per: million }, outputToken: { usd: "1", per: million } };
/** Of models that are priced by tokens of sound and pictures. */
const byToken: { [C in Capability]?: Size<C> } = {
  images: {
    request: { model: "m", prompt, n: 2, quality: "hd", size: "1024x1024" },
    handlers: {
      images: async () => ({ images: [{ data: "aGk=", mediaType: "image/png" }], usage: usageOf(2 * bytes, 2000) }),
    },
    model: {
      imageOutputTokensMax: { low: 10, high: 3000, "high 1024x1024": 1000 },
      price: { ...tokens, imageOutputToken: { usd: "2", per: million } },
    },
  },
  transcription: {
    request: { model: "m", prompt, file: new File([wavOf(2000)], "a.wav") },
    handlers: {
      transcription: async () => ({
        text: "x",
        usage: { ...usageOf(bytes + 128, 32), input_token_details: { text_tokens: bytes + 64 } },
      }),
    },
    model: { outputTokensMax: 1, price: { ...tokens, audioInputToken: { usd: "3", per: million } } },
  },
  speech: {
    request: { model: "m", input: "x".repeat(100) },
    handlers: { speech: async () => ({ audio: wavOf(1000), readUsage: () => usageOf(164, 1000) }) },
    model: { outputTokensMax: 1000, price: { ...tokens, audioOutputToken: { usd: "2", per: million } } },
  },
};
const usageOf = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});

const sizes: { [C in Capability]?: Size<C> } = {
  chat: {
    request: { model: "m", n: 128, messages: [{ role: "user", content: prompt }] },
    handlers: { chat: async ({ request }) => completeAll(request) },
    model: { contextTokens: 100_000, outputTokensMax: 16_384 },
  },
  embeddings: {
    request: { model: "m", input: [prompt, prompt] },
    handlers: {
      embeddings: async () => ({ vectors: [[1], [2]], usage: { prompt_tokens: 2 * bytes, total_tokens: 2 * bytes } }),
    },
    model: { price: { inputToken: { usd: "0.5", per: million } } },
  },
  images: {
    request: { model: "m", prompt, n: 10 },
    handlers: {
      images: async () => ({ images: Array.from({ length: 10 }, () => ({ data: "aGk=", mediaType: "image/png" })) }),
    },
    model: { price: { image: { usd: "0.0007", per: 1 } } },
  },
  transcription: {
    request: { model: "m", file: new File([wavOf(2000)], "a.wav") },
    handlers: { transcription: async () => ({ text: "x", duration: 2 }) },
    model: { price: { audioMs: { usd: "0.0004", per: 1000 } } },
  },
  speech: {
    request: { model: "m", input: "x".repeat(100) },
    handlers: { speech: async () => ({ audio: wavOf(1000) }) },
    model: { price: { character: { usd: "0.000009", per: 1 } } },
  },
};
const bytes = 3 * 300;
const sink = { open: () => undefined, write: () => undefined };

function completeAll({ n, max_tokens, max_completion_tokens }: ChatRequest): ChatCompletion {
  const tokens = max_tokens ?? max_completion_tokens ?? 16_384;
  const choices = Array.from({ length: n ?? 1 }, (_, index) => ({
    index,
    message: { role: "assistant" as const, content: "x" },
    finish_reason: "length" as const,
  }));
  const usage = { prompt_tokens: bytes, completion_tokens: tokens * choices.length };
  return { id: "1", object: "chat.completion", created: 1, model: "m", choices, usage } as unknown as ChatCompletion;
}

describe.each(engineNames)("64 calls at once that use all they may: %s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);
  let fixture: BillingFixture;
  afterEach(() => fixture.ledger.close());

  async function race(capability: ModelCapability, premium: boolean, caller: Partial<Caller>, from = sizes) {
    const { request, handlers, model } = from[capability] as NonNullable<(typeof sizes)["chat"]>;
    const row: Model = { ...chatModel, id: "m", capability, premium, ...model };
    const { kernel, log } = createBench([createPlugin(handlers, { models: [row] })]);
    const limits = { requestsPerMinute: 1e6, tokensPerMinute: 1e12 };
    const by: Caller = { accountId: "acc_1", keyId: "key_1", limits, freeTokensPerDay: 10_000, ...caller };
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const about = { id: makeCallId(newYear), openedAt: newYear, caller: by, sink };
        const call = callOf(capability, { ...request } as never, about);
        return await runCall({ ...kernel, ledger: fixture.ledger }, call).then(
          () => "served",
          (error) => (error instanceof GatewayError ? error.code : String(error)),
        );
      }),
    );
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    expect((await verifyLedger(fixture.store)).differences).toEqual([]);
    return outcomes;
  }

  test.each(["chat", "embeddings", "images", "transcription", "speech"] as const)(
    "%s never take a wallet of one cent below zero",
    async (capability) => {
      fixture = await ledgerFixture(undefined, make);
      await addAccount(fixture.store, "acc_1", cent);
      const outcomes = await race(capability, true, {});
      expect(new Set(outcomes)).toEqual(new Set(["served", "insufficient_balance"]));
      const { balanceNanodollars } = await readWalletState(fixture.store, "acc_1");
      expect(balanceNanodollars).toBeGreaterThanOrEqual(0);
      expect(balanceNanodollars).toBeLessThan(cent);
    },
  );

  test.each(["images", "transcription", "speech"] as const)(
    "%s by the token never take a wallet of one cent below zero",
    async (capability) => {
      fixture = await ledgerFixture(undefined, make);
      await addAccount(fixture.store, "acc_1", cent);
      const outcomes = await race(capability, true, {}, byToken);
      expect(new Set(outcomes)).toEqual(new Set(["served", "insufficient_balance"]));
      const { balanceNanodollars } = await readWalletState(fixture.store, "acc_1");
      expect(balanceNanodollars).toBeGreaterThanOrEqual(0);
      expect(balanceNanodollars).toBeLessThan(cent);
    },
  );

  test("chat never takes a key beyond its budget", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1", 100 * cent);
    const outcomes = await race("chat", true, { budgets: [budgetOfKey(cent)] });
    expect(new Set(outcomes)).toEqual(new Set(["served", "budget_exceeded"]));
    expect((await readWalletState(fixture.store, "acc_1")).balanceNanodollars).toBeGreaterThanOrEqual(99 * cent);
  });

  test("chat never takes an account beyond its daily quota", async () => {
    fixture = await ledgerFixture(undefined, make);
    await addAccount(fixture.store, "acc_1");
    const caller = { accountId: "acc_1", freeTokensPerDay: 10_000 };
    expect(new Set(await race("chat", false, caller))).toEqual(new Set(["served", "quota_exceeded"]));
    const { usedTokens } = await fixture.ledger.readQuotaState(caller);
    expect(usedTokens).toBeLessThanOrEqual(10_000);
    expect(usedTokens).toBeGreaterThan(9_000);
    fixture.clock.time += dayMs;
  });
});
