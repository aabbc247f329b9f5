import type { Gateway } from "../support/gateway.ts";
import { randomBelow } from "../support/random.ts";
import { busy, type CallKind, callKinds, makeCall } from "./calls.ts";

const tickMs = 20;
const openMax = 1000;
const leaveMsMax = 900;
/** How many are told in full. */
const toldMax = 20;

/** What the traffic came to. */
export interface TrafficReport {
  calls: number;
  byKind: Record<string, number>;
  /** Ends that nobody asked for. */
  unexplained: string[];
  /** Calls that the gateway would not make at that moment. */
  busy: number;
  /** Calls that were not made, because too many were open: a machine with too much to do. */
  heldBack: number;
}

/** Calls at an even pace, whatever the answers take, drawn from all kinds; each gateway is asked in turn. */
export class Traffic {
  readonly #report: TrafficReport = { calls: 0, byKind: {}, unexplained: [], busy: 0, heldBack: 0 };
  readonly #open = new Set<Promise<void>>();
  readonly #gateways: readonly Gateway[];
  readonly #below: (bound: number) => number;
  readonly #weightSum = callKinds.reduce((sum, { weight }) => sum + weight, 0);
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(gateways: readonly Gateway[], callsPerSecond: number, seed: number) {
    this.#gateways = gateways;
    this.#below = randomBelow(seed);
    const startedAt = performance.now();
    let due = 0;
    this.#timer = setInterval(() => {
      const target = ((performance.now() - startedAt) * callsPerSecond) / 1000;
      // A tick that came late does not make a burst of what it missed.
      due = Math.max(due, target - callsPerSecond);
      for (; due < target; due++) this.#begin();
    }, tickMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async end(): Promise<TrafficReport> {
    this.stop();
    await Promise.all(this.#open);
    return this.#report;
  }

  #begin(): void {
    if (this.#open.size >= openMax) {
      this.#report.heldBack++;
      return;
    }
    const gateway = this.#gateways[this.#report.calls++ % this.#gateways.length] as Gateway;
    const kind = this.#draw();
    this.#report.byKind[kind.name] = (this.#report.byKind[kind.name] ?? 0) + 1;
    const open = makeCall(gateway, kind, this.#below(leaveMsMax)).then((mistake) => {
      this.#open.delete(open);
      if (mistake === undefined) return;
      if (mistake === busy) {
        this.#report.busy++;
        return;
      }
      const { unexplained } = this.#report;
      unexplained.push(
        unexplained.length < toldMax ? `${new Date().toISOString()} ${kind.name}: ${mistake}` : kind.name,
      );
    });
    this.#open.add(open);
  }

  #draw(): CallKind {
    let left = this.#below(this.#weightSum);
    for (const kind of callKinds) {
      left -= kind.weight;
      if (left < 0) return kind;
    }
    throw new Error("The weights do not add up");
  }
}
