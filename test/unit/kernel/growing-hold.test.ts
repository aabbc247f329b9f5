import { describe, expect, test } from "bun:test";
import { type Extension, GatewayError } from "../../../src/contract/index.ts";
import { GrowingHold, type GrowingHoldOptions } from "../../../src/kernel/admission.ts";
import { TimeoutScheduler } from "../../../src/kernel/upstream/http-client.ts";
import { rejectionOf } from "./support.ts";

/** A hold of a prompt of 10 nanodollars and output of 2 a token, in steps of 100 tokens, 1000 at most. */
function holdOf(heldNanodollars: number, left = 1e9, hidden?: GrowingHoldOptions["hidden"]) {
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
    amountOf: (tokens) => ({ nanodollars: 10 + 2 * tokens, tokens: 0 }),
    limitTokensOf: (tokens) => 5 + tokens,
    stepTokens: 100,
    outputTokensMax: 1000,
    hidden,
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

describe("the hold of a stream whose thoughts are hidden", () => {
  /** 100 tokens a second at the most, and a clock that is set by hand. */
  function hiddenHold(left?: number) {
    const errors: GatewayError[] = [];
    const clock = { ms: 5000 };
    const timeouts = new TimeoutScheduler(() => clock.ms);
    const hidden = {
      tokensPerSecond: 100,
      timeouts,
      now: () => clock.ms,
      end: (error: GatewayError) => errors.push(error),
    };
    const pass = async (ms: number) => {
      for (const endMs = clock.ms + ms; clock.ms < endMs; clock.ms += 50) {
        timeouts.tick();
        await settled();
      }
    };
    return { ...holdOf(210, left, hidden), errors, pass };
  }

  test("grows with the time that passes, although nothing comes, up to the output limit", async () => {
    const { asked, errors, pass, growing } = hiddenHold();
    await pass(500);
    expect(asked).toEqual([]);
    await pass(200);
    expect(asked.length).toBe(1);
    // What can have been made until now, and a step.
    expect(asked[0]?.holdNanodollars).toBeWithin(10 + 2 * 150, 10 + 2 * 180);
    await pass(12_000);
    expect(asked.at(-1)?.holdNanodollars).toBe(2010);
    expect(asked.length).toBeLessThan(25);
    expect(errors).toEqual([]);
    growing.stop();
  });

  test("ends the call when what can have been made is not covered any more", async () => {
    const { errors, pass } = hiddenHold(210);
    await pass(900);
    expect(errors).toEqual([]);
    await pass(400);
    expect(errors.map(({ code }) => code)).toEqual(["insufficient_balance"]);
  });

  test("waits for a database that is away", async () => {
    const { bench, asked, errors, pass, growing } = hiddenHold();
    bench.failure = new GatewayError("unavailable", "The database is away");
    await pass(2000);
    expect(errors).toEqual([]);
    bench.failure = undefined;
    const before = asked.length;
    await pass(300);
    expect(asked.length).toBeGreaterThan(before);
    growing.stop();
  });

  test("asks for nothing more once the call has ended", async () => {
    const { asked, pass, growing } = hiddenHold();
    growing.stop();
    await pass(20_000);
    expect(asked).toEqual([]);
  });

  test("does not count what is seen beside that", async () => {
    const { asked, growing } = hiddenHold();
    expect(growing.spend(900)).toBeUndefined();
    expect(asked).toEqual([]);
    growing.stop();
  });
});
