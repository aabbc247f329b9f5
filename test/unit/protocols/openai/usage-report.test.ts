import { describe, expect, test } from "bun:test";
import { toMeters } from "../../../../src/contract/index.ts";
import { completeUsage, readUsage } from "../../../../src/protocols/openai/usage-report.ts";

describe("a provider's usage in OpenAI's form", () => {
  test("has the reasoning that xAI reports beside the completion, as its total says", () => {
    const usage = {
      prompt_tokens: 37,
      completion_tokens: 530,
      total_tokens: 800,
      completion_tokens_details: { reasoning_tokens: 233 },
    };
    expect(completeUsage(usage)).toMatchObject({ prompt_tokens: 37, completion_tokens: 763, total_tokens: 800 });
    expect(readUsage({ usage })).toMatchObject({ completion_tokens: 763 });
  });

  test("has the cached tokens that stand beside the details, by each of their names", () => {
    const plain = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 };
    for (const name of ["cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens"]) {
      const meters = toMeters(completeUsage({ ...plain, [name]: 80 }) as never);
      expect([name, meters]).toEqual([name, { inputToken: 20, cacheReadToken: 80, outputToken: 5 }]);
    }
  });

  test.each([
    ["in the prompt", { prompt_tokens: 100, total_tokens: 105 }, 10],
    ["beside it, as the total says", { prompt_tokens: 10, total_tokens: 105 }, 10],
    ["nowhere, where they do not fit", { prompt_tokens: 30, total_tokens: 35 }, 10],
  ])("has tokens that a proxy says were read from and written to a cache, %s", (place, figures, input) => {
    const usage = { ...figures, completion_tokens: 5, cache_read_input_tokens: 20, cache_creation_input_tokens: 70 };
    const meters = toMeters(completeUsage(usage) as never);
    const cache = { cacheReadToken: 20, ...(place.startsWith("nowhere") ? {} : { cacheWriteToken: 70 }) };
    expect(meters).toEqual({ inputToken: input, ...cache, outputToken: 5 });
  });

  test("keeps reasoning that is part of the completion where it is", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 50,
      total_tokens: 60,
      completion_tokens_details: { reasoning_tokens: 40 },
    };
    expect(completeUsage(usage)).toEqual(usage);
  });

  test("counts tokens of pictures that were read from a cache once", () => {
    const usage = {
      prompt_tokens: 1000,
      completion_tokens: 20,
      total_tokens: 1020,
      prompt_tokens_details: { text_tokens: 100, image_tokens: 900, audio_tokens: 0, cached_tokens: 800 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    };
    const meters = toMeters(completeUsage(usage) as never) ?? {};
    expect(Object.values(meters).reduce((sum, amount) => sum + amount, 0)).toBe(1020);
    expect(meters).toMatchObject({ cacheReadToken: 800, outputToken: 20 });
  });

  test("has cached tokens in the prompt that stand beside it, as the total says", () => {
    const details = { cached_tokens: 300 };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 315, prompt_tokens_details: details };
    expect(toMeters(completeUsage(usage) as never)).toEqual({ inputToken: 10, cacheReadToken: 300, outputToken: 5 });
    const wrong = { ...usage, total_tokens: 15 };
    expect(completeUsage(wrong)).toEqual(wrong);
  });

  test("has cached tokens in the prompt also where the prompt has more of them, as the total says", () => {
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 185, cached_tokens: 80 };
    expect(toMeters(completeUsage(usage) as never)).toEqual({ inputToken: 100, cacheReadToken: 80, outputToken: 5 });
  });

  test("has in its output what only the total has, but no less than the output", () => {
    const usage = { prompt_tokens: 20, completion_tokens: 198, total_tokens: 623 };
    expect(completeUsage(usage)).toEqual({ ...usage, completion_tokens: 603 });
    const details = { completion_tokens_details: { reasoning_tokens: 60 } };
    const hidden = { prompt_tokens: 21, completion_tokens: 0, total_tokens: 81, ...details };
    expect(completeUsage(hidden)).toEqual({ ...hidden, completion_tokens: 60 });
    for (const total_tokens of [0, 100, 218, 1e15, 0.5, -1]) {
      expect(completeUsage({ ...usage, total_tokens })).toEqual({ ...usage, total_tokens });
    }
  });

  test("is read from the choice where the answer has none", () => {
    const usage = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 };
    expect(readUsage({ choices: [{ index: 0, delta: {}, usage }] })).toMatchObject(usage);
    expect(readUsage({ choices: [{ index: 0, usage: { ...usage, prompt_tokens: 1 } }], usage })).toMatchObject(usage);
    expect(readUsage({ choices: [] })).toBeUndefined();
  });

  test("adds up what the choices of a stream report one after the other, and takes the last of each", () => {
    const event = (index: number, prompt_tokens: number, completion_tokens: number, details?: object) => {
      const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, ...details };
      return { choices: [{ index, delta: {}, usage }] };
    };
    const details = { completion_tokens_details: { reasoning_tokens: 3 } };
    const events = [
      event(0, 12, 1),
      event(1, 12, 2),
      event(0, 12, 20, details),
      event(1, 12, 34, details),
      event(2, 0, 5),
    ];
    const usages: (ReturnType<typeof readUsage> & { completion_tokens?: number })[] = [];
    for (const one of events) usages.push(readUsage(one, usages.at(-1)) as never);
    expect(usages.map((usage) => usage.completion_tokens)).toEqual([1, 3, 22, 54, 59]);
    expect<unknown>(usages.at(-1)).toEqual({
      prompt_tokens: 12,
      completion_tokens: 59,
      total_tokens: 71,
      completion_tokens_details: { reasoning_tokens: 6 },
    });
    const whole = { prompt_tokens: 12, completion_tokens: 60, total_tokens: 72 };
    expect<unknown>(readUsage({ choices: [], usage: whole }, usages.at(-1))).toEqual(whole);
    // A report of all of the answer holds where that of a choice says less.
    expect<unknown>(readUsage(event(2, 12, 5), whole as never)).toEqual(whole);
  });

  test("keeps the prompt of an earlier event where a later one has none", () => {
    const first = readUsage({ response: { usage: { input_tokens: 90, output_tokens: 0, total_tokens: 90 } } });
    const last = { response: { usage: { input_tokens: 0, output_tokens: 4, total_tokens: 4 } } };
    expect(readUsage(last, first)).toEqual({ input_tokens: 90, output_tokens: 4, total_tokens: 94 } as never);
    expect(readUsage({ response: {} }, first)).toBe(first as never);
  });

  test("has Moonshot's cached tokens among the details", () => {
    const usage = { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40, cached_tokens: 10 };
    expect(completeUsage(usage).prompt_tokens_details).toEqual({ cached_tokens: 10 });
  });

  test("takes a total alone, as of vectors, for the prompt", () => {
    expect(readUsage({ usage: { total_tokens: 7 } })).toMatchObject({ prompt_tokens: 7 });
    expect(completeUsage({ input_tokens: 3, total_tokens: 7 })).toEqual({ input_tokens: 3, total_tokens: 7 });
  });
});
