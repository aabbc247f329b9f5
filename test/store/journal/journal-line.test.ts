import { expect, test } from "bun:test";
import { batchOf, lineOf, sequenceOf } from "../../../src/store/sqlite/journal/journal-line.ts";
import { endOf, openOf } from "./facts.ts";

const meters = {
  inputToken: 1,
  cacheReadToken: 2,
  cacheWriteToken: 3,
  outputToken: 4,
  image: 5,
  audioMs: 6,
  character: 7,
  call: 2 ** 53 - 1,
};
const free = openOf("c2", { premium: false, quotaDay: 20_000, holdNanodollars: 0, holdTokens: 9, priceVersion: null });
const budgeted = openOf("c4", { budgetMonth: 20_454 });
const partial = openOf("c5", { partial: true });
const wordy = openOf("c3", { accountId: 'a"\n\\', model: "größer — 模型 😀 \u2028" });

test.each([
  ["a call that opens", [openOf("c1")]],
  ["a free call", [free, endOf(free, { quotaTokens: 5, chargedNanodollars: 0 })]],
  ["a call with every meter", [endOf(openOf("c1"), { meters, errorCode: "upstream_error" })]],
  [
    "a call of which little is known",
    [endOf(openOf("c1"), { state: "released", meters: {}, costNanodollars: null, route: null, firstByteMs: null })],
  ],
  ["words of any kind", [wordy, endOf(wordy)]],
  ["a call that a key's budget pays", [budgeted, endOf(budgeted)]],
  ["a call that holds less than it may cost", [partial, endOf(partial)]],
])("%s is read as it was written", (_what, writes) => {
  const line = lineOf({ sequence: 12, writes });
  expect(line.indexOf("\n")).toBe(line.length - 1);
  const bytes = Buffer.from(line).subarray(0, -1);
  expect(sequenceOf(bytes)).toBe(12);
  expect(batchOf(bytes)).toEqual({ sequence: 12, writes });
});

test("a line with any byte changed is told from one that was written", () => {
  const line = Buffer.from(lineOf({ sequence: 3, writes: [openOf("c1")] })).subarray(0, -1);
  for (let at = 0; at < line.length; at++) {
    if (at === 8) continue;
    const changed = Buffer.from(line);
    changed[at] = (changed[at] as number) ^ 1;
    expect(sequenceOf(changed), `byte ${at}`).toBeUndefined();
  }
});

test("a line of a gateway that knew no budgets is read as having none", () => {
  const line = lineOf({ sequence: 3, writes: [openOf("c1")] });
  expect(line).toEndWith('15,0,"v1"]]\n');
  expect(batchOf(Buffer.from(line).subarray(0, -1)).writes).toMatchObject([{ budgetMonth: null, partial: false }]);
});
