import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ChatUsage, isAmount, type ModelCapability, meterNames } from "../../../src/contract/index.ts";
import { fromIterable, type Model, type ProviderPlugin } from "../../../src/provider/index.ts";
import { runs } from "../../support/hostile.ts";
import { completionOf, finishChunk, Sink, textChunk, usageChunk } from "../../unit/kernel/streams.ts";
import { callOf, chatModel, createBench, createPlugin, runCall } from "../../unit/kernel/support.ts";

const bad = fc.constantFrom(
  -1,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  2 ** 53 - 1,
  2 ** 40,
  1e308,
  "7",
  null,
);
const figure = fc.oneof(bad, fc.nat(1000), fc.constant(undefined));
const usages = fc.record({
  prompt_tokens: figure,
  completion_tokens: figure,
  total_tokens: figure,
  prompt_tokens_details: fc.oneof(bad, fc.record({ cached_tokens: figure, cache_write_tokens: figure })),
  completion_tokens_details: fc.oneof(bad, fc.record({ reasoning_tokens: figure })),
});
const reports = fc.oneof(bad, usages, fc.array(figure, { maxLength: 2 })) as fc.Arbitrary<ChatUsage>;

const price = { usd: "75", per: 1_000_000 };
const row = (capability: ModelCapability, premium: boolean): Model => {
  const prices = { inputToken: price, outputToken: price, cacheReadToken: price, cacheWriteToken: price };
  return { ...chatModel, capability, premium, price: { ...prices, audioMs: price }, quotaWeights: { audioMs: 1000 } };
};

async function* chunksWith(usage: ChatUsage) {
  yield textChunk("Hello");
  yield finishChunk();
  yield usageChunk(usage);
}

const messages = [{ role: "user" as const, content: "Say hello" }];
const model = chatModel.id;

/** A call of each kind whose provider reports the given usage. */
const kinds: Record<
  string,
  (usage: ChatUsage) => { plugin: Parameters<typeof createPlugin>; call: ReturnType<typeof callOf> }
> = {
  chat: (usage) => ({
    plugin: [{ chat: async () => completionOf("Hello", usage) }],
    call: callOf("chat", { model, messages }),
  }),
  "chat, fanned out": (usage) => ({
    plugin: [{ chat: async () => completionOf("Hello", usage) }, { maxChoices: { chat: 1 } }],
    call: callOf("chat", { model, messages, n: 3 }),
  }),
  "chat, streamed": (usage) => ({
    plugin: [{ chat: async () => fromIterable(chunksWith(usage)) }],
    call: callOf(
      "chat",
      { model, messages, stream: true, stream_options: { include_usage: true } },
      { sink: new Sink() },
    ),
  }),
  embeddings: (usage) => ({
    plugin: [{ embeddings: async () => ({ vectors: [[0.5]], usage }) }],
    call: callOf("embeddings", { model, input: "Hello" }),
  }),
  transcription: (usage) => ({
    plugin: [{ transcription: async () => ({ text: "Hello", duration: usage?.prompt_tokens }) }],
    call: callOf("transcription", { model, file: new File(["sound"], "a.mp3") }),
  }),
};

describe.each(Object.entries(kinds))("a usage report of %s", (_, toCase) => {
  test.each([true, false])("is charged in sound figures or estimated, premium %p", async (premium) => {
    await fc.assert(
      fc.asyncProperty(reports, async (usage) => {
        const {
          plugin: [handlers, changes],
          call,
        } = toCase(usage);
        const models = [row(call.request.capability as ModelCapability, premium)];
        const plugin: ProviderPlugin = createPlugin(handlers, { ...changes, models });
        const { kernel, ledger } = createBench([plugin]);
        await runCall(kernel, call);
        const { outcome, meters, quotaTokens, costNanodollars } = ledger.settlement;
        expect(outcome).toBe("settled");
        const figures = [quotaTokens, costNanodollars, ...meterNames.map((name) => meters[name] ?? 0)];
        expect(figures.filter((amount) => !isAmount(amount))).toEqual([]);
      }),
      runs(200),
    );
  });
});
