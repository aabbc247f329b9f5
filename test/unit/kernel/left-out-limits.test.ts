import { describe, expect, test } from "bun:test";
import { builtIns, sandbox } from "../../../plugins/index.ts";
import { withFunctionsAsTools } from "../../../src/protocols/tools.ts";
import type { Handlers } from "../../../src/provider/index.ts";
import { definePlugin, openai } from "../../../src/sdk/index.ts";
import { fetchOf, json } from "./fake-fetch.ts";
import { completionOf, Sink } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin, runCall } from "./support.ts";

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

describe("a handler of code", () => {
  type Chat = NonNullable<Handlers["chat"]>;
  const withoutLimit: Chat = ({ upstream, model, request }) =>
    upstream.json("/chat", { model: model.upstreamId, messages: request.messages });
  const withLimit: Chat = ({ upstream, model, request }) =>
    upstream.json("/chat", { ...request, model: model.upstreamId });
  const bench = (chat: Chat) => {
    const plugin = definePlugin({
      name: "acme",
      baseUrl: "https://acme.example/v1",
      models: [chatModel],
      handlers: { chat },
    });
    return createBench([plugin], { fetch: fetch() });
  };

  test("that drops the limit and does not say so is held for by the most of the model", async () => {
    const { kernel, ledger } = bench(withoutLimit);
    await runCall(kernel, asked());
    const [claim] = ledger.claims;
    expect(claim?.holdNanodollars).toBeGreaterThanOrEqual(1000 * 2000);
    expect(claim?.minNanodollars).toBe(claim?.holdNanodollars as number);
    expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters: { outputToken: 900 } });
  });

  test("that drops the limit and does not say so is held for by all of that from the beginning of a stream", async () => {
    const { kernel, ledger } = bench(withoutLimit);
    await runCall(kernel, chatCall({ max_tokens: 1, stream: true }, { sink: new Sink() }));
    const [claim] = ledger.claims;
    expect(claim?.holdNanodollars).toBeGreaterThanOrEqual(1000 * 2000);
    expect(claim?.minNanodollars).toBe(claim?.holdNanodollars as number);
  });

  test("that says what it sends is held for by the limit, wrapped or not", async () => {
    const saying = Object.assign(withLimit, { omits: () => [] });
    for (const chat of [saying, withFunctionsAsTools(saying)]) {
      const { kernel, ledger } = bench(chat);
      await runCall(kernel, asked());
      expect(ledger.claims[0]?.holdNanodollars).toBeLessThan(1000 * 2000);
    }
  });
});

test("every plugin of chat that comes with the gateway says what it sends of a limit", () => {
  const chats = [...builtIns, sandbox([chatModel])].filter(({ handlers }) => handlers.chat !== undefined);
  expect(chats.length).toBeGreaterThan(5);
  for (const { handlers, models } of chats) {
    for (const model of models) expect(handlers.chat?.omits?.(model)).toBeArray();
  }
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
