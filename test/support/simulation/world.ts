/**
 * The world in which a history of several gateways runs: it owns time, order and chance. Code under test runs unchanged; its timers,
 * clocks, sockets, files and random ids are those of the world (`platform.ts`). One event happens at a time, in the order of virtual
 * time, and all that it sets going has come to rest before the next, so the same seed gives the same history.
 */
import { randomBelow } from "../random.ts";

/** A turn of the real event loop, after which all promises have come to rest. */
export const realTurn = globalThis.setImmediate;

/** A program that runs on a host: what it scheduled happens only as long as it lives, and not while it is stopped. */
export class Process {
  readonly name: string;
  readonly host: Host;
  isAlive = true;
  /** Until when it stands still, as by SIGSTOP. */
  stoppedUntilMs = 0;

  constructor(name: string, host: Host) {
    this.name = name;
    this.host = host;
  }
}

/** A machine with a clock, a disk and a cable of its own. */
export class Host {
  readonly name: string;
  /** How far its clock is ahead. */
  clockMs = 0;
  /** Until when nothing comes or goes by its cable; it arrives later. */
  cutOffUntilMs = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/** Something that happens at a time. */
export interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly process: Process | undefined;
  /** Only the database is waited for: what a gateway does goes on by events. */
  readonly run: () => unknown;
  isCancelled: boolean;
}

/** 2026-01-01T00:00:00Z. */
const beginMs = Date.UTC(2026, 0, 1);

export class World {
  /** Milliseconds since the beginning, which no clock of a host changes. */
  nowMs = 0;
  /** Whose code runs. */
  process: Process | undefined;
  readonly below: (bound: number) => number;
  /** What happened, one line each, for whoever looks into a failure. */
  readonly trace: string[] = [];
  readonly #heap: Happening[] = [];
  #order = 0;
  /** How many events have happened. */
  happenings = 0;

  constructor(seed: number) {
    this.below = randomBelow(seed);
  }

  /** The time by the clock of whose code runs. */
  get date(): number {
    return beginMs + Math.floor(this.nowMs) + (this.process?.host.clockMs ?? 0);
  }

  say(text: string): void {
    this.trace.push(`${this.nowMs.toFixed(1).padStart(9)} ${text}`);
  }

  at(atMs: number, process: Process | undefined, run: () => unknown): Happening {
    this.#order += 1;
    const happening = { atMs: Math.max(atMs, this.nowMs), order: this.#order, process, run, isCancelled: false };
    push(this.#heap, happening);
    return happening;
  }

  in(ms: number, process: Process | undefined, run: () => unknown): Happening {
    return this.at(this.nowMs + ms, process, run);
  }

  /** Runs all that happens until then. */
  async runUntil(atMs: number): Promise<void> {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > atMs) break;
      pop(this.#heap);
      await this.#happen(next);
    }
    this.nowMs = Math.max(this.nowMs, atMs);
  }

  /** Runs until it is so, at most for so long. */
  async runUntilIsSo(isSo: () => boolean, msMax: number): Promise<boolean> {
    const deadlineMs = this.nowMs + msMax;
    while (!isSo()) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > deadlineMs) return false;
      pop(this.#heap);
      await this.#happen(next);
    }
    return true;
  }

  async #happen(happening: Happening): Promise<void> {
    const { atMs, process, run, isCancelled } = happening;
    if (isCancelled || process?.isAlive === false) return;
    if (process !== undefined && process.stoppedUntilMs > Math.max(atMs, this.nowMs)) {
      push(this.#heap, { ...happening, atMs: process.stoppedUntilMs });
      return;
    }
    this.nowMs = Math.max(this.nowMs, atMs);
    this.happenings += 1;
    await this.enter(process, run);
  }

  /** Runs code as that of a process, until it has come to rest. */
  async enter(process: Process | undefined, run: () => unknown): Promise<void> {
    this.process = process;
    const result = run();
    if (process === undefined) await result;
    await new Promise<void>((resolve) => realTurn(resolve));
    this.process = undefined;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

function push(heap: Happening[], happening: Happening): void {
  let at = heap.length;
  heap.push(happening);
  while (at > 0) {
    const above = (at - 1) >> 1;
    if (!isBefore(happening, heap[above] as Happening)) break;
    heap[at] = heap[above] as Happening;
    at = above;
  }
  heap[at] = happening;
}

function pop(heap: Happening[]): void {
  const last = heap.pop() as Happening;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1] as Happening, heap[below] as Happening)) below += 1;
    if (!isBefore(heap[below] as Happening, last)) break;
    heap[at] = heap[below] as Happening;
    at = below;
  }
  heap[at] = last;
}
