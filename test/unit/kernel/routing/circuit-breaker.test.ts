import { describe, expect, test } from "bun:test";
import { CircuitBreaker, RouteCircuit } from "../../../../src/kernel/routing/circuits.ts";

const bounds = { failuresMin: 3, windowMs: 1000, openMs: 100, openMsMax: 350 };

/** A circuit that has failed so often, at these moments. */
function failedAt(...moments: number[]): CircuitBreaker {
  const circuitBreaker = new CircuitBreaker(bounds);
  for (const atMs of moments) {
    circuitBreaker.begin(atMs);
    circuitBreaker.onFailure(atMs);
  }
  return circuitBreaker;
}

describe("a circuit", () => {
  test("stays closed after one fault, and after one fewer than it takes", () => {
    expect(failedAt(0).isReady(0)).toBe(true);
    expect(failedAt(0, 1).isReady(1)).toBe(true);
  });

  test("opens at the fault that is one too many, and rests", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    expect([circuitBreaker.stateAt(2), circuitBreaker.stateAt(101), circuitBreaker.stateAt(102)]).toEqual([
      "open",
      "open",
      "half_open",
    ]);
    expect([circuitBreaker.isReady(101), circuitBreaker.isReady(102)]).toEqual([false, true]);
  });

  test("forgets what lies before its window", () => expect(failedAt(0, 1, 1001).isReady(1001)).toBe(true));

  test("stays closed while more than half of what is tried works", () => {
    const circuitBreaker = failedAt(0);
    for (let call = 0; call < 10; call++) circuitBreaker.onSuccess();
    for (const atMs of [1, 2, 3]) expect(circuitBreaker.onFailure(atMs)).toBe(false);
    expect(circuitBreaker.isReady(3)).toBe(true);
  });

  test("lets one probe through at a time, and closes when it answers", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    circuitBreaker.begin(102);
    expect([circuitBreaker.isReady(102), circuitBreaker.stateAt(102)]).toEqual([false, "half_open"]);
    circuitBreaker.onSuccess();
    expect([circuitBreaker.isReady(102), circuitBreaker.stateAt(102)]).toEqual([true, "closed"]);
    expect(circuitBreaker.onFailure(103)).toBe(false);
  });

  test("rests twice as long after each probe that fails, up to its bound", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    const rests: number[] = [];
    for (let probe = 0; probe < 4; probe++) {
      const atMs = circuitBreaker.openUntilMs;
      circuitBreaker.begin(atMs);
      circuitBreaker.onFailure(atMs);
      rests.push(circuitBreaker.openUntilMs - atMs);
    }
    expect(rests).toEqual([200, 350, 350, 350]);
  });

  test("does not rest longer because of a call that began before it opened", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    circuitBreaker.onFailure(50);
    expect(circuitBreaker.openUntilMs).toBe(102);
  });

  test("takes another probe when the first is never heard of again", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    circuitBreaker.begin(102);
    expect(circuitBreaker.isReady(60_101)).toBe(false);
    expect(circuitBreaker.isReady(60_102)).toBe(true);
  });

  test("says how much longer it is open, and whether an answer closed it", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    expect([circuitBreaker.openForMs(2), circuitBreaker.openForMs(90), circuitBreaker.openForMs(102)]).toEqual([
      100, 12, 0,
    ]);
    circuitBreaker.begin(102);
    expect([circuitBreaker.openForMs(103), circuitBreaker.onSuccess(), circuitBreaker.onSuccess()]).toEqual([
      0,
      true,
      false,
    ]);
  });

  test("is as new once it is resumed, whatever opened it", () => {
    const circuitBreaker = failedAt(0, 1, 2);
    circuitBreaker.resume();
    expect([circuitBreaker.stateAt(3), circuitBreaker.onFailure(4), circuitBreaker.onFailure(5)]).toEqual([
      "closed",
      false,
      false,
    ]);
    circuitBreaker.pauseFor(50, 6);
    circuitBreaker.resume();
    expect(circuitBreaker.isReady(7)).toBe(true);
  });

  test("rests by the provider's word without a fault, and is then as before", () => {
    const circuitBreaker = new CircuitBreaker(bounds);
    circuitBreaker.pauseFor(50, 0);
    expect([circuitBreaker.isReady(49), circuitBreaker.isReady(50)]).toEqual([false, true]);
    circuitBreaker.begin(50);
    circuitBreaker.begin(50);
    expect(circuitBreaker.isReady(50)).toBe(true);
  });
});

test("a provider is believed for as long as a circuit stays open at the most", () => {
  const circuitBreaker = new CircuitBreaker(bounds);
  circuitBreaker.pauseFor(999_999_999_999_000, 0);
  expect([circuitBreaker.isReady(bounds.openMsMax - 1), circuitBreaker.isReady(bounds.openMsMax)]).toEqual([
    false,
    true,
  ]);
});

describe("the circuit of a route", () => {
  /** Two accounts fail as often as it takes, and the others call or not between their failures. */
  function afterTwoFail(callOthers: (circuit: RouteCircuit, nowMs: number) => void): RouteCircuit {
    const circuit = new RouteCircuit(bounds);
    for (const [place, account] of ["one", "other"].entries()) {
      for (let failure = 0; failure < bounds.failuresMin; failure++) {
        const nowMs = 10 * place + failure;
        callOthers(circuit, nowMs);
        circuit.begin(nowMs, account);
        circuit.onFailure(nowMs, account);
      }
    }
    return circuit;
  }

  test("is resumed for all accounts, and says how long it is open for one", () => {
    const circuit = afterTwoFail(() => undefined);
    circuit.resume();
    expect(["one", "other", "third"].map((account) => circuit.isReady(20, account))).toEqual([true, true, true]);
    for (let failure = 0; failure < bounds.failuresMin; failure++) circuit.onFailure(20, "one");
    expect([circuit.stateAt(21), circuit.openForMs(21)]).toEqual(["open", 99]);
    circuit.resume();
    expect([circuit.stateAt(21), circuit.isReady(21, "one"), circuit.openForMs(21)]).toEqual(["closed", true, 0]);
  });

  test("opens for all once it is open for two accounts", () => {
    expect(afterTwoFail(() => undefined).isReady(20, "third")).toBe(false);
  });

  test("stays closed for others whose calls succeed meanwhile, so that two accounts pause no route that works", () => {
    const circuit = afterTwoFail((one, nowMs) => {
      one.begin(nowMs, "third");
      one.onSuccess("third");
    });
    expect([circuit.isReady(20, "third"), circuit.isReady(20, "one")]).toEqual([true, false]);
  });
});
