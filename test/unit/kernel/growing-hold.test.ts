import { describe, expect, test } from "bun:test";
import { type Extension, GatewayError } from "../../../src/contract/index.ts";
import { GrowingHold } from "../../../src/kernel/admission.ts";
import { rejectionOf } from "./support.ts";

/** A hold of a prompt of 5 tokens and of output, at 2 nanodollars a token, in steps of 100 tokens, 1000 at most. */
function holdOf(heldNanodollars: number, left = 1e9) {
  const asked: Extension[] = [];
  const bench = { asked, left, failure: undefined as Error | undefined };
  const hold = { callId: "c", heldNanodollars, heldTokens: 0, availableNanodollars: 0, availableTokens: 0 };
  const growing = new GrowingHold({
    ledger: {
      async extend(extension) {
        asked.push(extension);
        if (bench.failure !== undefined) throw bench.failure;
        const granted = Math.min(extension.holdNanodollars, bench.left);
        if (granted < extension.minNanodollars) throw new GatewayError("insufficient_balance", "Nothing is left");
        return { heldNanodollars: granted, heldTokens: 0 };
      },
    },
    hold: { ...hold, limits: {} as never },
    amountOf: (tokens, prompt) => ({ nanodollars: 2 * Math.max(5, prompt) + 2 * tokens, tokens: 0 }),
    promptTokensMax: 5,
    limitTokensOf: (tokens) => 5 + tokens,
    stepTokens: 100,
    outputTokensMax: 1000,
  });
  return { ...bench, bench, growing };
}

const settled = () => new Promise(setImmediate);

describe("the hold of a stream", () => {
  test("is extended when half a step is left, and the stream does not wait for it", async () => {
    const { growing, asked } = holdOf(210);
    expect(growing.spend(50)).toBeUndefined();
    expect(asked).toEqual([]);
    expect(growing.spend(1)).toBeUndefined();
    expect(asked).toEqual([
      { callId: "c", holdNanodollars: 312, minNanodollars: 212, holdTokens: 0, minTokens: 0, limitTokens: 156 },
    ]);
    expect(growing.spend(10)).toBeUndefined();
    await settled();
    expect(growing.spend(39)).toBeUndefined();
    expect(asked.length).toBe(1);
  });

  test("is asked for a few times only, however many chunks come, and never beyond the output limit", async () => {
    const { growing, asked } = holdOf(210);
    for (let chunk = 0; chunk < 5000; chunk++) {
      await growing.spend(1);
      await settled();
    }
    expect(asked.length).toBeLessThanOrEqual(20);
    expect(asked.at(-1)?.holdNanodollars).toBe(2010);
  });

  test("covers a huge chunk before it is sent", async () => {
    const { growing, asked } = holdOf(210);
    const waiting = growing.spend(777);
    expect(waiting).toBeInstanceOf(Promise);
    await waiting;
    expect(asked).toMatchObject([{ holdNanodollars: 10 + 2 * 877, minNanodollars: 10 + 2 * 777 }]);
  });

  test("a refusal ends the stream only where the next chunk is not covered", async () => {
    const { growing, asked } = holdOf(210, 210);
    for (let sent = 0; sent < 100; sent++) {
      await growing.spend(1);
      await settled();
    }
    expect(asked.length).toBe(1);
    expect((await rejectionOf(growing.spend(1) as Promise<void>)).code).toBe("insufficient_balance");
    expect(asked.length).toBe(2);
  });

  test("takes what is left where that is less than a step", async () => {
    const { growing, asked } = holdOf(210, 230);
    for (let sent = 0; sent < 110; sent++) {
      await growing.spend(1);
      await settled();
    }
    expect(asked.length).toBeLessThan(5);
    expect((await rejectionOf(growing.spend(1) as Promise<void>)).code).toBe("insufficient_balance");
  });

  test("a store that cannot write is asked again with the next chunk", async () => {
    const { growing, asked, bench } = holdOf(210);
    bench.failure = new GatewayError("unavailable", "Try again");
    for (let sent = 0; sent < 60; sent++) {
      await growing.spend(1);
      await settled();
    }
    expect(asked.length).toBe(10);
    bench.failure = undefined;
    for (let sent = 0; sent < 60; sent++) {
      await growing.spend(1);
      await settled();
    }
    expect(asked.length).toBe(12);
  });

  test("is not extended once it covers all that may come, however many bytes that has", async () => {
    const { growing, asked } = holdOf(2010);
    expect(growing.spend(1_000_000)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe("the hold of a stream whose provider reports while it sends", () => {
  test("covers the output that was reported before more is sent", async () => {
    const { growing, asked } = holdOf(210);
    growing.onReport(5, 700);
    const waiting = growing.spend(1);
    expect(waiting).toBeInstanceOf(Promise);
    await waiting;
    expect(asked).toMatchObject([{ holdNanodollars: 10 + 2 * 801, minNanodollars: 10 + 2 * 701 }]);
  });

  test("ends it where what was reported is not left", async () => {
    const { growing } = holdOf(210, 210);
    growing.onReport(5, 700);
    expect((await rejectionOf(growing.spend(1) as Promise<void>)).code).toBe("insufficient_balance");
  });

  test("covers a prompt that is longer than its bound", async () => {
    const { growing, asked } = holdOf(210);
    growing.onReport(100, 1);
    expect(growing.spend(9)).toBeInstanceOf(Promise);
    await growing.spend(0);
    expect(asked[0]).toMatchObject({ minNanodollars: 2 * 100 + 2 * 10 });
  });

  test("asks for nothing where it covers what was reported", () => {
    const { growing, asked } = holdOf(210);
    growing.onReport(5, 40);
    expect(growing.spend(1)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});
