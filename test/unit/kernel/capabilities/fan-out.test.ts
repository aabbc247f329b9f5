import { describe, expect, test } from "bun:test";
import { type ChatUsage, UpstreamError } from "../../../../src/contract/index.ts";
import { fanOutMax } from "../../../../src/kernel/capabilities/fan-out.ts";
import type { Call, ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { completionOf, FakeStream, finishChunk, Sink, textChunk, textOf, usageChunk } from "../streams.ts";
import { chatCall, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const parts = (cached: number): ChatUsage => ({
  prompt_tokens: 10,
  completion_tokens: 3,
  total_tokens: 13,
  prompt_tokens_details: {
    cached_tokens: cached,
    cache_write_tokens: 1,
    cache_write_tokens_details: { ttl_30m_tokens: 0, ttl_12h_tokens: 1 },
  },
  completion_tokens_details: { reasoning_tokens: 2 },
});

/** A provider that makes one choice a request; `answer` is asked with the number of the request. */
function single(answer: (index: number, call: Call<ChatRequest>) => unknown, maxChoices = 1) {
  let asked = 0;
  const calls: ChatRequest[] = [];
  const chat = async (call: Call<ChatRequest>) => {
    calls.push(call.request);
    return (await answer(asked++, call)) as never;
  };
  return { ...createBench([createPlugin({ chat }, { maxChoices: { chat: maxChoices } })]), calls };
}

describe("several choices from a provider that makes one", () => {
  test("are asked for one by one and come as one answer with the summed usage", async () => {
    const { kernel, ledger, calls } = single((index) => completionOf(`answer ${index}`, parts(index)));
    const answer = await runCall(kernel, chatCall({ n: 3 }));
    expect(calls.map(({ n }) => n)).toEqual([undefined, undefined, undefined]);
    expect(answer?.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, "answer 0"],
      [1, "answer 1"],
      [2, "answer 2"],
    ]);
    expect(answer?.usage).toEqual({
      prompt_tokens: 30,
      completion_tokens: 9,
      total_tokens: 39,
      prompt_tokens_details: {
        cached_tokens: 3,
        cache_write_tokens: 3,
        cache_write_tokens_details: { ttl_30m_tokens: 0, ttl_12h_tokens: 3 },
      },
      completion_tokens_details: { reasoning_tokens: 6 },
      // The price has no rates of caches: their tokens cost what those of the prompt do.
      cost: 0.000048,
    });
    expect(ledger.settlement.meters).toEqual({
      inputToken: 24,
      cacheReadToken: 3,
      cacheWrite12hToken: 3,
      outputToken: 9,
    });
  });

  test.each([
    [{ seed: 7 }, [7, 8, 9]],
    [{ seed: null }, [undefined, undefined, undefined]],
    [{}, [undefined, undefined, undefined]],
  ])("have seeds of their own: %p", async (seed, seeds) => {
    const { kernel, calls } = single(() => completionOf("Hi"));
    await runCall(kernel, chatCall({ n: 3, ...seed }));
    expect(calls.map((request) => request.seed)).toEqual(seeds as number[]);
  });

  test("are counted here when one of them reports nothing", async () => {
    const { kernel, ledger } = single((index) => completionOf("Hello", index === 1 ? undefined : parts(0)));
    await runCall(kernel, chatCall({ n: 2 }));
    expect(ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { outputToken: 2 } });
  });

  test("are fewer when one of them fails: the others are charged and given out", async () => {
    const { kernel, ledger } = single((index) => {
      if (index === 1) throw new UpstreamError("bad_request", "Not this one");
      return completionOf("Hi", parts(0));
    });
    const answer = await runCall(kernel, chatCall({ n: 3 }));
    expect(answer?.choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(ledger.settlement).toMatchObject({
      outcome: "settled",
      meters: { inputToken: 18, cacheWrite12hToken: 2, outputToken: 6 },
    });
  });

  test("fail when all of them fail, and nothing is charged", async () => {
    const { kernel, ledger } = single(() => {
      throw new UpstreamError("bad_request", "Not this one");
    });
    expect((await rejectionOf(runCall(kernel, chatCall({ n: 3 })))).message).toBe("Not this one");
    expect(ledger.settlement.outcome).toBe("released");
  });

  test("are asked for at once where the provider can", async () => {
    const { kernel, calls } = single(() => completionOf("Hi"), 4);
    await runCall(kernel, chatCall({ n: 4 }));
    expect(calls.map(({ n }) => n)).toEqual([4]);
  });

  test.each([
    [fanOutMax, 1, undefined],
    [fanOutMax + 1, 1, "n"],
    [20, 20, undefined],
    [21, 20, "n"],
  ])("n = %d where one request makes %d: refused for %p", async (n, maxChoices, param) => {
    const { kernel } = single(() => completionOf("Hi"), maxChoices);
    const done = runCall(kernel, chatCall({ n }));
    if (param === undefined) await done;
    else expect(await rejectionOf(done)).toMatchObject({ code: "invalid_request", param });
  });
});

describe("several streams", () => {
  const hello = (index: number) => [textChunk(`a${index}`), textChunk(`b${index}`), finishChunk()];

  test("come of whole answers too, where the provider gives those", async () => {
    const { kernel, ledger } = single((index) => completionOf(`whole ${index}`, parts(0)));
    const sink = new Sink<ChatChunk>();
    await runCall(kernel, chatCall({ n: 2, stream: true }, { sink }));
    expect([0, 1].map((index) => textOf(sink.pieces, index))).toEqual(["whole 0", "whole 1"]);
    expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters: { outputToken: 6 } });
  });

  test("are merged as they come, each under its own index", async () => {
    const { kernel, ledger } = single((index) => new FakeStream<ChatChunk>(...hello(index), usageChunk(parts(0))));
    const sink = new Sink<ChatChunk>();
    const asked = { n: 3, stream: true, stream_options: { include_usage: true } };
    await runCall(kernel, chatCall(asked, { sink }));
    for (const index of [0, 1, 2]) expect(textOf(sink.pieces, index)).toBe(`a${index}b${index}`);
    const finishes = sink.pieces.flatMap(({ choices }) => choices).filter(({ finish_reason }) => finish_reason);
    expect(finishes.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
    expect(sink.pieces.at(-1)?.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 9 });
    expect(ledger.settlement).toMatchObject({ usageSource: "reported" });
  });

  test("fail when one of them breaks, once the others have ended, and what was said is charged", async () => {
    const streams = [
      new FakeStream<ChatChunk>(textChunk("Hello"), finishChunk()),
      new FakeStream<ChatChunk>(textChunk("Hello"), new UpstreamError("bad_response", "The line is dead")),
    ];
    const { kernel, ledger } = single((index) => streams[index]);
    const sink = new Sink<ChatChunk>();
    const done = runCall(kernel, chatCall({ n: 2, stream: true }, { sink }));
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(textOf(sink.pieces, 0)).toBe("Hello");
    expect(ledger.settlement).toMatchObject({ usageSource: "estimated", meters: { outputToken: 2 } });
  });

  test("are fewer when one cannot be opened or breaks before it begins", async () => {
    const { kernel, ledger } = single((index) => {
      if (index === 0) throw new UpstreamError("overloaded", "Busy");
      if (index === 1) return new FakeStream<ChatChunk>(new UpstreamError("bad_response", "The line is dead"));
      return new FakeStream<ChatChunk>(...hello(index));
    });
    const sink = new Sink<ChatChunk>();
    await runCall(kernel, chatCall({ n: 3, stream: true }, { sink }));
    expect(textOf(sink.pieces, 0)).toBe("a2b2");
    expect(sink.pieces.flatMap(({ choices }) => choices).every(({ index }) => index === 0)).toBe(true);
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("fail when none can be opened, and nothing is charged", async () => {
    const { kernel, ledger } = single(() => {
      throw new UpstreamError("overloaded", "Busy");
    });
    await rejectionOf(runCall(kernel, chatCall({ n: 2, stream: true }, { sink: new Sink() })));
    expect(ledger.settlement.outcome).toBe("released");
  });
});
