import { expect, test } from "bun:test";
import { runCall } from "../../../src/kernel/index.ts";
import { openai } from "../../../src/sdk/index.ts";
import { fetchOf, json } from "./fake-fetch.ts";
import { completionOf } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin } from "./support.ts";

const usage = { prompt_tokens: 9, completion_tokens: 900, total_tokens: 909 };
const fetch = () => fetchOf(json(completionOf("Hello", usage)));
const asked = () => chatCall({ max_tokens: 1 });

test("a limit that the row of a model leaves out bounds neither what is held, at the least too, nor what is charged", async () => {
  const plugin = createPlugin(openai({ chat: {} }), { models: [{ ...chatModel, omit: ["max_tokens"] }] });
  const { kernel, ledger } = createBench([plugin], { fetch: fetch() });
  await runCall(kernel, asked());
  const [claim] = ledger.claims;
  expect(claim?.holdNanodollars).toBeGreaterThanOrEqual(1000 * 2000);
  expect(claim?.minNanodollars).toBe(claim?.holdNanodollars as number);
  expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters: { outputToken: 900 } });
});

test.each([
  ["in all its requests", createPlugin(openai({ chat: { omit: ["max_tokens"] } }))],
  [
    "by the options of a row",
    createPlugin(openai({ chat: {} }), { models: [{ ...chatModel, options: { omit: ["max_tokens"] } }] }),
  ],
])("a limit that the plugin leaves out %s bounds neither what is held nor what is charged", async (_, plugin) => {
  const { kernel, ledger } = createBench([plugin], { fetch: fetch() });
  await runCall(kernel, asked());
  const [claim] = ledger.claims;
  expect(claim?.holdNanodollars).toBeGreaterThanOrEqual(1000 * 2000);
  expect(claim?.minNanodollars).toBe(claim?.holdNanodollars as number);
  expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters: { outputToken: 900 } });
});

test("a limit under its other name is held by where the plugin leaves out the first alone", async () => {
  const plugin = createPlugin(openai({ chat: { omit: ["max_tokens"] } }));
  const { kernel, ledger } = createBench([plugin], { fetch: fetch() });
  await runCall(kernel, chatCall({ max_completion_tokens: 1 }));
  expect(ledger.claims[0]?.holdNanodollars).toBeLessThan(1000 * 2000);
});

test("a limit that is sent still bounds what is believed", async () => {
  const { kernel, ledger } = createBench([createPlugin(openai({ chat: {} }))], { fetch: fetch() });
  await runCall(kernel, asked());
  expect(ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { outputToken: 1 } });
});
