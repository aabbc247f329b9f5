import { describe, expect, test } from "bun:test";
import { type ChatUsage, type Meters, toMeters } from "../../../../src/contract/index.ts";
import { toChatUsage, UsageMeter } from "../../../../src/kernel/normalize/usage-meter.ts";

function tallyOf(estimate: Meters, state: Partial<UsageMeter>, ...reports: Meters[]) {
  let asked = 0;
  const usageMeter = Object.assign(
    new UsageMeter(async () => {
      asked++;
      return estimate;
    }),
    state,
  );
  for (const meters of reports) usageMeter.report(meters);
  return { usageMeter, asked: () => asked };
}

const estimate = { inputToken: 9, outputToken: 5 };
const ended = { produced: true, complete: true };

describe("a count", () => {
  test.each<[string, Partial<UsageMeter>, Meters[], Awaited<ReturnType<UsageMeter["count"]>>]>([
    ["nothing", {}, [], { meters: {}, source: "none" }],
    ["a report and nothing out", {}, [{ inputToken: 7 }], { meters: {}, source: "none" }],
    ["something out", { produced: true }, [], { meters: estimate, source: "estimated" }],
    ["the end without a report", ended, [], { meters: estimate, source: "estimated" }],
    [
      "the end with a report",
      ended,
      [{ inputToken: 7, outputToken: 1 }],
      { meters: { inputToken: 7, outputToken: 1 }, source: "reported" },
    ],
    ["two reports", ended, [{ inputToken: 7 }, { inputToken: 8 }], { meters: { inputToken: 8 }, source: "reported" }],
    ["a report of zero", ended, [{ inputToken: 0, outputToken: 0 }], { meters: estimate, source: "estimated" }],
    [
      "text without output",
      { ...ended, wrote: true },
      [{ inputToken: 7 }],
      { meters: { inputToken: 7, outputToken: 5 }, source: "estimated" },
    ],
    [
      "a smaller report from the midst",
      { produced: true },
      [{ inputToken: 7, outputToken: 1 }],
      { meters: { inputToken: 7, outputToken: 5 }, source: "estimated" },
    ],
    [
      "a larger report from the midst",
      { produced: true },
      [{ inputToken: 7, outputToken: 90 }],
      { meters: { inputToken: 7, outputToken: 90 }, source: "estimated" },
    ],
    ["an image", ended, [{ image: 2 }], { meters: { image: 2 }, source: "reported" }],
  ])("after %s", async (_, state, reports, count) => {
    const { usageMeter } = tallyOf(estimate, state, ...reports);
    expect(await usageMeter.count()).toEqual(count);
  });

  test("estimates once, however often it is asked at the end", async () => {
    const { usageMeter, asked } = tallyOf(estimate, ended);
    const counts = await Promise.all([usageMeter.count(), usageMeter.count()]);
    expect(counts[0]).toEqual(counts[1] as (typeof counts)[0]);
    await usageMeter.count();
    expect(asked()).toBe(1);
  });

  test("does not estimate where the provider reported", async () => {
    const { usageMeter, asked } = tallyOf(estimate, ended, { inputToken: 1, outputToken: 1 });
    await usageMeter.count();
    expect(asked()).toBe(0);
  });
});

test("usage always has its sum, whatever the provider summed", () => {
  const shown = (reported: ChatUsage) =>
    toChatUsage(reported, { meters: toMeters(reported) as Meters, source: "reported" }, undefined);
  expect(shown({ prompt_tokens: 2, completion_tokens: 3, total_tokens: 99 }).total_tokens).toBe(5);
  expect(shown({ prompt_tokens: 2 })).toEqual({ prompt_tokens: 2, completion_tokens: 0, total_tokens: 2 });
});
