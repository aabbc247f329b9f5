/** A moment after which something is called, unless it was moved or dropped before. */
export interface Watch {
  /** Milliseconds since 1970; may be moved at any time, which costs nothing. */
  atMs: number;
  readonly onPassed: () => void;
}

const tickMs = 50;

/**
 * Deadlines of all calls behind one timer: a call sets and moves several, and a timer for each would cost more than
 * the rest of its bookkeeping. A deadline is noticed at most 50 ms late. The timer runs only while something is watched.
 */
export class TimeoutScheduler {
  readonly #watches = new Set<Watch>();
  readonly #now: () => number;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  watch(atMs: number, onPassed: () => void): Watch {
    const watch: Watch = { atMs, onPassed };
    this.#add(watch);
    return watch;
  }

  /** Watches again what was dropped. */
  renew(watch: Watch, atMs: number): void {
    watch.atMs = atMs;
    this.#add(watch);
  }

  drop(watch: Watch): void {
    this.#watches.delete(watch);
  }

  #add(watch: Watch): void {
    this.#watches.add(watch);
    this.#timer ??= setInterval(() => this.tick(), tickMs);
  }

  /** Fires what has passed. Called by the timer; tests with a clock of their own call it themselves. */
  tick(): void {
    const now = this.#now();
    for (const watch of this.#watches) {
      if (watch.atMs > now) continue;
      this.#watches.delete(watch);
      watch.onPassed();
    }
    if (this.#watches.size === 0 && this.#timer !== undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}
