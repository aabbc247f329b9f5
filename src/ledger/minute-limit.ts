const minuteMs = 60_000;

/** Sums of thirds and sevenths of a minute miss the whole by less than this. */
const toleranceMs = 0.001;

/**
 * What an account has used of one limit per minute, by GCRA: each unit adds its share of a minute to a backlog, which
 * drains in real time. The backlog is in time and not in units, so that callers with different limits can share it.
 */
export class MinuteLimit {
  #backlogMs = 0;
  #drainedAt = 0;

  /** Milliseconds until `units` would fit; 0 when they fit now. More than a whole minute's worth fits an empty minute. */
  waitMs(units: number, limit: number, now: number): number {
    this.#drain(now);
    const wait = this.#backlogMs + (Math.min(units, limit) * minuteMs) / limit - minuteMs;
    return wait <= toleranceMs ? 0 : wait;
  }

  /** Counts units, also beyond the limit (a debt), or gives them back when negative. */
  add(units: number, limit: number, now: number): void {
    this.#drain(now);
    this.#backlogMs = Math.max(0, this.#backlogMs + (units * minuteMs) / limit);
  }

  /** Whole units that fit now. */
  remaining(limit: number, now: number): number {
    this.#drain(now);
    const units = Math.floor(((minuteMs - this.#backlogMs + toleranceMs) * limit) / minuteMs);
    return Math.min(limit, Math.max(0, units));
  }

  /** Milliseconds until nothing of the limit is used. */
  resetMs(now: number): number {
    this.#drain(now);
    return this.#backlogMs;
  }

  /** Takes over a backlog that is kept elsewhere. */
  restore(backlogMs: number, now: number): void {
    this.#backlogMs = backlogMs;
    this.#drainedAt = now;
  }

  /** A clock that steps back drains nothing and is followed, so that nobody waits for it to catch up. */
  #drain(now: number): void {
    const elapsed = now - this.#drainedAt;
    if (elapsed > 0) this.#backlogMs = Math.max(0, this.#backlogMs - elapsed);
    this.#drainedAt = now;
  }
}
