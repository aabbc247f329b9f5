/** A time at which a function is called, unless it was moved or cancelled before. */
export interface Timeout {
  /** By the clock of the scheduler; may be moved at any time, which costs nothing. */
  atMs: number;
  readonly onTimeout: () => void;
}

const tickMs = 50;

/** Whole milliseconds of a clock that never jumps when the system's time is set. */
export const monotonicNow = (): number => Math.trunc(performance.now());

/**
 * The timeouts of all calls behind one timer: a call sets and moves several, and a timer for each would cost more than
 * the rest of its bookkeeping. A timeout fires at most 50 ms late. The timer runs only while there are timeouts.
 */
export class TimeoutScheduler {
  readonly #timeouts = new Set<Timeout>();
  readonly #now: () => number;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(now: () => number = monotonicNow) {
    this.#now = now;
  }

  schedule(atMs: number, onTimeout: () => void): Timeout {
    const timeout: Timeout = { atMs, onTimeout };
    this.#add(timeout);
    return timeout;
  }

  /** Schedules a cancelled timeout again. */
  reschedule(timeout: Timeout, atMs: number): void {
    timeout.atMs = atMs;
    this.#add(timeout);
  }

  cancel(timeout: Timeout): void {
    this.#timeouts.delete(timeout);
  }

  #add(timeout: Timeout): void {
    this.#timeouts.add(timeout);
    this.#timer ??= setInterval(() => this.tick(), tickMs);
  }

  /** Fires what is due. Called by the timer, and by tests with their own clock. */
  tick(): void {
    const now = this.#now();
    for (const timeout of this.#timeouts) {
      if (timeout.atMs > now) continue;
      this.#timeouts.delete(timeout);
      timeout.onTimeout();
    }
    if (this.#timeouts.size === 0 && this.#timer !== undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
