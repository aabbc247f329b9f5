import { describe, expect, test } from "bun:test";
import { Circuit } from "../../../../src/kernel/routing/circuit-breaker.ts";

const bounds = { faultsMin: 3, windowMs: 1000, restMs: 100, restMsMax: 350 };

/** A circuit that has failed so often, at these moments. */
function failedAt(...moments: number[]): Circuit {
  const circuit = new Circuit(bounds);
  for (const atMs of moments) {
    circuit.begin(atMs);
    circuit.failed(atMs);
  }
  return circuit;
}

describe("a circuit", () => {
  test("stays closed after one fault, and after one fewer than it takes", () => {
    expect(failedAt(0).isReady(0)).toBe(true);
    expect(failedAt(0, 1).isReady(1)).toBe(true);
  });

  test("opens at the fault that is one too many, and rests", () => {
    const circuit = failedAt(0, 1, 2);
    expect([circuit.stateAt(2), circuit.stateAt(101), circuit.stateAt(102)]).toEqual(["open", "open", "half_open"]);
    expect([circuit.isReady(101), circuit.isReady(102)]).toEqual([false, true]);
  });

  test("forgets what lies before its window", () => expect(failedAt(0, 1, 1001).isReady(1001)).toBe(true));

  test("stays closed while more than half of what is tried works", () => {
    const circuit = failedAt(0);
    for (let call = 0; call < 10; call++) circuit.answered();
    for (const atMs of [1, 2, 3]) expect(circuit.failed(atMs)).toBe(false);
    expect(circuit.isReady(3)).toBe(true);
  });

  test("lets one probe through at a time, and closes when it answers", () => {
    const circuit = failedAt(0, 1, 2);
    circuit.begin(102);
    expect([circuit.isReady(102), circuit.stateAt(102)]).toEqual([false, "half_open"]);
    circuit.answered();
    expect([circuit.isReady(102), circuit.stateAt(102)]).toEqual([true, "closed"]);
    expect(circuit.failed(103)).toBe(false);
  });

  test("rests twice as long after each probe that fails, up to its bound", () => {
    const circuit = failedAt(0, 1, 2);
    const rests: number[] = [];
    for (let probe = 0; probe < 4; probe++) {
      const atMs = circuit.restsUntilMs;
      circuit.begin(atMs);
      circuit.failed(atMs);
      rests.push(circuit.restsUntilMs - atMs);
    }
    expect(rests).toEqual([200, 350, 350, 350]);
  });

  test("does not rest longer because of a call that began before it opened", () => {
    const circuit = failedAt(0, 1, 2);
    circuit.failed(50);
    expect(circuit.restsUntilMs).toBe(102);
  });

  test("takes another probe when the first is never heard of again", () => {
    const circuit = failedAt(0, 1, 2);
    circuit.begin(102);
    expect(circuit.isReady(60_101)).toBe(false);
    expect(circuit.isReady(60_102)).toBe(true);
  });

  test("rests by the provider's word without a fault, and is then as before", () => {
    const circuit = new Circuit(bounds);
    circuit.rest(50);
    expect([circuit.isReady(49), circuit.isReady(50)]).toEqual([false, true]);
    circuit.begin(50);
    circuit.begin(50);
    expect(circuit.isReady(50)).toBe(true);
  });
});
