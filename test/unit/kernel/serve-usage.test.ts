import { describe, expect, test } from "bun:test";
import type { Meters, Settlement } from "../../../src/contract/index.ts";
import { type ChatChunk, fromIterable } from "../../../src/provider/index.ts";
import { completionOf, finishChunk, Sink, textChunk, usage, usageChunk } from "./streams.ts";
import { chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

/** What the prompt comes to when it is counted here: 3 tokens, and 6 for being a message. */
const estimatedInput = 9;
/** Of "Hello world". */
const hello = 2;

const reports: [string, unknown, "reported" | "estimated", Meters][] = [
  ["whole", usage, "reported", { inputToken: 100, outputToken: 20 }],
  ["missing", undefined, "estimated", { inputToken: estimatedInput, outputToken: hello }],
  ["null", null, "estimated", { inputToken: estimatedInput, outputToken: hello }],
  [
    "zero with words out",
    { prompt_tokens: 0, completion_tokens: 0 },
    "estimated",
    { inputToken: estimatedInput, outputToken: hello },
  ],
  [
    "negative",
    { prompt_tokens: -5, completion_tokens: 3 },
    "estimated",
    { inputToken: estimatedInput, outputToken: hello },
  ],
  [
    "in fractions",
    { prompt_tokens: 5.5, completion_tokens: 3 },
    "estimated",
    { inputToken: estimatedInput, outputToken: hello },
  ],
  [
    "without the output",
    { prompt_tokens: 100, completion_tokens: 0 },
    "estimated",
    { inputToken: 100, outputToken: hello },
  ],
  ["of the prompt only", { prompt_tokens: 100 }, "estimated", { inputToken: 100, outputToken: hello }],
  [
    "with a cached part",
    { ...usage, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 } },
    "reported",
    { inputToken: 30, cacheReadToken: 60, cacheWriteToken: 10, outputToken: 20 },
  ],
];

/** What the ledger charges, in dollars; absent when the price is not known. */
function usdOf({ costNanodollars }: Settlement): number | undefined {
  return costNanodollars === undefined ? undefined : costNanodollars / 1e9;
}

describe("usage reported by a provider", () => {
  test.each(reports)("%s: a whole answer", async (_, reported, source, meters) => {
    const { kernel, ledger } = createBench([createPlugin({ chat: async () => completionOf("Hello world", reported) })]);
    const answer = await runCall(kernel, chatCall());
    expect(ledger.settlement).toMatchObject({ usageSource: source, outcome: "settled" });
    expect(ledger.settlement.meters).toEqual(meters);
    const prompt = (meters.inputToken ?? 0) + (meters.cacheReadToken ?? 0) + (meters.cacheWriteToken ?? 0);
    const completion = meters.outputToken as number;
    const told = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
    expect(answer?.usage).toMatchObject(told);
    expect(answer?.usage?.cost).toBe(usdOf(ledger.settlement));
  });

  test.each(reports)("%s: a stream, whose last piece tells what is charged", async (_, reported, source, meters) => {
    const chunks = [textChunk("Hello world"), finishChunk(), ...(reported === undefined ? [] : [usageChunk(reported)])];
    const { settlement, last } = await streamed(...chunks);
    expect(settlement.usageSource).toBe(source);
    expect(settlement.meters).toEqual(meters);
    const prompt = (meters.inputToken ?? 0) + (meters.cacheReadToken ?? 0) + (meters.cacheWriteToken ?? 0);
    expect(last?.usage).toMatchObject({ prompt_tokens: prompt, completion_tokens: meters.outputToken as number });
    expect(last?.usage?.cost).toBe(usdOf(settlement));
  });

  test("of nothing for an answer of nothing costs nothing", async () => {
    const nothing = { prompt_tokens: 0, completion_tokens: 0 };
    const { kernel, ledger } = createBench([createPlugin({ chat: async () => completionOf("", nothing) })]);
    await runCall(kernel, chatCall());
    expect(ledger.settlement).toMatchObject({ usageSource: "reported", costNanodollars: 0 });
  });

  test("of nothing for a stream of nothing costs nothing", async () => {
    const { settlement } = await streamed(finishChunk(), usageChunk({ prompt_tokens: 0, completion_tokens: 0 }));
    expect(settlement).toMatchObject({ usageSource: "reported", costNanodollars: 0 });
  });

  test("of a prompt with an empty answer stands", async () => {
    const empty = { prompt_tokens: 100, completion_tokens: 0 };
    const { kernel, ledger } = createBench([createPlugin({ chat: async () => completionOf("", empty) })]);
    await runCall(kernel, chatCall());
    expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters: { inputToken: 100, outputToken: 0 } });
  });
});

describe("usage reported several times in a stream", () => {
  const again = (prompt_tokens: number, completion_tokens: number) => usageChunk({ prompt_tokens, completion_tokens });
  const said = [textChunk("Hello world"), finishChunk()];

  test.each([
    ["growing", [again(100, 1), again(100, 9)], { inputToken: 100, outputToken: 9 }],
    ["shrinking", [again(100, 9), again(90, 3)], { inputToken: 90, outputToken: 3 }],
    ["twice the same", [again(100, 9), again(100, 9)], { inputToken: 100, outputToken: 9 }],
    ["and then negative", [again(100, 9), again(-1, -1)], { inputToken: 100, outputToken: 9 }],
    ["and then zero", [again(100, 9), again(0, 0)], { inputToken: 100, outputToken: 9 }],
  ])("%s: the last usable stands and is never added up", async (_, reports, meters) => {
    const { settlement, last } = await streamed(...said, ...reports);
    expect(settlement).toMatchObject({ usageSource: "reported", meters });
    expect(last?.usage?.completion_tokens).toBe(meters.outputToken);
  });

  test("on the same piece as words, the words still come", async () => {
    const { settlement, chunks } = await streamed({ ...textChunk("Hello"), usage }, finishChunk());
    expect(settlement).toMatchObject({ usageSource: "reported", meters: { outputToken: 20 } });
    expect(chunks[1]?.choices[0]?.delta.content).toBe("Hello");
  });

  test("before the line broke: the larger output stands", async () => {
    const { settlement } = await streamed(textChunk("one two three four five"), again(100, 1), new Error("cut"));
    expect(settlement).toMatchObject({ usageSource: "estimated", meters: { inputToken: 100, outputToken: 5 } });
  });
});

test("usage is told in a stream only when it was asked for", async () => {
  const plugin = createPlugin({
    chat: async () => fromIterable(stream([textChunk("Hi"), finishChunk(), usageChunk()])),
  });
  const sink = new Sink<ChatChunk>();
  await runCall(createBench([plugin]).kernel, chatCall({ stream: true }, { sink }));
  expect(sink.pieces.every((chunk) => !("usage" in chunk) && chunk.choices.length > 0)).toBe(true);
});

test("when asked for, every piece carries usage and only the last a figure", async () => {
  const { chunks, last } = await streamed(textChunk("Hi"), usageChunk(), finishChunk());
  expect(chunks.slice(0, -1).map((chunk) => chunk.usage)).toEqual([null, null, null]);
  expect(last).toMatchObject({ choices: [], usage });
});

test("n answers of a provider that makes one at a time pay the prompt n times", async () => {
  const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "0", per: 1 } };
  const changes = { maxChoices: { chat: 1 }, models: [{ ...chatModel, price }] };
  const { kernel, ledger } = createBench([
    createPlugin({ chat: async () => completionOf("Hello", undefined) }, changes),
  ]);
  await runCall(kernel, chatCall({ n: 3 }));
  expect(ledger.claims[0]?.holdNanodollars).toBe(3 * 15 * 1000);
  expect(ledger.settlement.meters).toEqual({ inputToken: 3 * estimatedInput, outputToken: 3 });
});

test("n answers of a provider that makes them at once pay the prompt once, whatever other routes can", async () => {
  const chat = async () => completionOf("Hello", undefined);
  const atOnce = createPlugin({ chat }, { name: "at-once", models: [{ ...chatModel, priority: 1 }] });
  const { kernel, ledger } = createBench([atOnce, createPlugin({ chat }, { maxChoices: { chat: 1 } })]);
  await runCall(kernel, chatCall({ n: 3 }));
  expect(ledger.settlement).toMatchObject({ plugin: "at-once", meters: { inputToken: estimatedInput } });
});

async function* stream(steps: (ChatChunk | Error)[]): AsyncGenerator<ChatChunk> {
  for (const step of steps) {
    if (step instanceof Error) throw step;
    yield structuredClone(step);
  }
}

/** Serves a stream that wants usage, and hands back what came of it. */
async function streamed(...steps: (ChatChunk | Error)[]) {
  const { kernel, ledger } = createBench([createPlugin({ chat: async () => fromIterable(stream(steps)) })]);
  const sink = new Sink<ChatChunk>();
  const done = runCall(kernel, chatCall({ stream: true, stream_options: { include_usage: true } }, { sink }));
  if (steps.some((step) => step instanceof Error)) await rejectionOf(done);
  else await done;
  return { settlement: ledger.settlement, chunks: sink.pieces, last: sink.pieces.at(-1) };
}
