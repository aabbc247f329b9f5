import { expect, test } from "bun:test";
import { completionOf } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin, runCall } from "./support.ts";

const perMillion = (usd: string) => ({ usd, per: 1_000_000 });
const price = { ...chatModel.price, cacheWriteToken: perMillion("1.25"), cacheWrite1hToken: perMillion("2") };
const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
const minutes = { cache_control: { type: "ephemeral" } };

/** A prompt of 1000 tokens by its upper bound, all of which the provider writes to its cache: `hourly` of them for an hour. */
function benchWriting(written: number, hourly: number) {
  const usage = {
    prompt_tokens: written,
    completion_tokens: 1,
    prompt_tokens_details: { cache_write_tokens: written, cache_write_1h_tokens: hourly },
  };
  return createBench([
    createPlugin({ chat: async () => completionOf("Hello", usage) }, { models: [{ ...chatModel, price }] }),
  ]);
}
const content = "x".repeat(1000 - 6);
/** The word for its kind counts too. */
const part = { type: "text", text: content.slice("text".length) };

test.each<[string, Record<string, unknown>, number]>([
  ["no mark", { messages: [{ role: "user", content }] }, 1250],
  ["a mark of five minutes", { messages: [{ role: "user", content: [{ ...part, ...minutes }] }] }, 1250],
  ["a part that is marked for an hour", { messages: [{ role: "user", content: [{ ...part, ...hour }] }] }, 2000],
  ["a message that is", { messages: [{ role: "user", content, ...hour }] }, 2000],
  ["a request that is", { messages: [{ role: "user", content }], ...hour }, 2000],
])("the hold of a prompt with %s covers that all of it is written to the cache", async (_, request, promptMicros) => {
  const hourly = promptMicros === 2000 ? 1000 : 0;
  const { kernel, ledger } = benchWriting(1000, hourly);
  await runCall(kernel, chatCall({ max_tokens: 1, ...request }));
  const held = ledger.claims[0]?.holdNanodollars as number;
  expect(held).toBe(promptMicros * 1000 + 2000);
  expect(ledger.settlement).toMatchObject({
    costNanodollars: held,
    meters: { inputToken: 0, [hourly > 0 ? "cacheWrite1hToken" : "cacheWriteToken"]: 1000, outputToken: 1 },
  });
});

test.each<[string, object]>([
  ["tool", { tools: [{ type: "function", function: { name: "f" }, ...hour }] }],
  [
    "call",
    {
      messages: [
        {
          role: "assistant",
          tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" }, ...hour }],
        },
        { role: "tool", tool_call_id: "1", content: "1" },
      ],
    },
  ],
])("a %s that is marked for an hour raises the hold", async (_, request) => {
  const holdOf = async (asked: object) => {
    const { kernel, ledger } = benchWriting(10, 0);
    await runCall(kernel, chatCall({ max_tokens: 1, ...asked }));
    return (ledger.claims[0]?.holdNanodollars as number) - 2000;
  };
  const plain = JSON.parse(JSON.stringify(request).replaceAll('"ttl":"1h"', '"ttl":"5m"'));
  expect(await holdOf(request)).toBe(((await holdOf(plain)) * 2) / 1.25);
});

/** A price that says nothing of caches, as most lists of relays. */
const plain = { ...chatModel, price: { inputToken: perMillion("1"), outputToken: perMillion("2") } };

test.each<[string, Record<string, number>]>([
  ["nothing", {}],
  ["tokens that it read from its cache", { cached_tokens: 64 }],
  ["tokens that it wrote to it", { cache_write_tokens: 300, cache_write_1h_tokens: 100, cache_write_12h_tokens: 50 }],
  ["both, and images", { cached_tokens: 64, cache_write_tokens: 100, image_tokens: 200 }],
])("a call whose provider reports %s costs its tokens where the price has no rates of them", async (_, details) => {
  const usage = { prompt_tokens: 500, completion_tokens: 10, prompt_tokens_details: details };
  const { kernel, ledger } = createBench([
    createPlugin({ chat: async () => completionOf("Hello", usage) }, { models: [plain] }),
  ]);
  await runCall(kernel, chatCall({ messages: [{ role: "user", content: "x".repeat(500) }] }));
  expect(ledger.settlement.costNanodollars).toBe(500 * 1000 + 10 * 2000);
  expect(ledger.claims[0]?.holdNanodollars).toBeGreaterThan(500 * 1000 + 10 * 2000);
});

test("a search that the price does not have adds nothing, and the log names it", async () => {
  const usage = { prompt_tokens: 500, completion_tokens: 10, web_search_requests: 3 };
  const { kernel, ledger, log } = createBench([
    createPlugin({ chat: async () => completionOf("Hello", usage) }, { models: [plain] }),
  ]);
  await runCall(kernel, chatCall({}));
  expect(ledger.settlement).toMatchObject({ costNanodollars: 500 * 1000 + 10 * 2000, meters: { webSearch: 3 } });
  const fields = expect.objectContaining({ meters: ["webSearch"], model: plain.id });
  expect(log.lines).toContainEqual({ level: "warn", event: "usage_unpriced", fields });
});
