const minuteMs = 60_000;
/** How many minutes are remembered. */
const windowMinutes = 15;
/** Durations are counted in classes, each 1.3 times as long as the one before: from 10 ms to nine minutes. */
const firstMs = 10;
const growth = 1.3;
const classes = 42;

/** The attempts of one minute. */
interface Minute {
  minute: number;
  calls: number;
  errors: number;
  readonly durations: Uint32Array;
}

export interface WindowSum {
  readonly calls: number;
  readonly errors: number;
  /** Until the provider began to answer, within 15 %; `undefined` without a successful attempt. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

/** Attempts of the last fifteen minutes, in bounded memory. */
export class AttemptWindow {
  /** One place for each minute of the window; those without an attempt are empty. */
  readonly #minutes: (Minute | undefined)[] = [];

  add(nowMs: number, ms: number, isError: boolean): void {
    const minute = this.#minuteAt(nowMs);
    minute.calls++;
    if (isError) minute.errors++;
    else {
      const index = classOf(ms);
      minute.durations[index] = (minute.durations[index] as number) + 1;
    }
  }

  /** An attempt that was counted as a success has failed after all. */
  addLateError(nowMs: number): void {
    this.#minuteAt(nowMs).errors++;
  }

  sum(nowMs: number): WindowSum {
    const first = Math.floor(nowMs / minuteMs) - windowMinutes + 1;
    const durations = new Array<number>(classes).fill(0);
    let [calls, errors] = [0, 0];
    for (const minute of this.#minutes) {
      if (minute === undefined || minute.minute < first) continue;
      calls += minute.calls;
      errors += minute.errors;
      minute.durations.forEach((count, index) => {
        durations[index] = (durations[index] as number) + count;
      });
    }
    return {
      calls,
      errors: Math.min(errors, calls),
      p50Ms: quantile(durations, 0.5),
      p95Ms: quantile(durations, 0.95),
    };
  }

  #minuteAt(nowMs: number): Minute {
    const minute = Math.floor(nowMs / minuteMs);
    const known = this.#minutes[minute % windowMinutes];
    if (known?.minute === minute) return known;
    const fresh = { minute, calls: 0, errors: 0, durations: new Uint32Array(classes) };
    this.#minutes[minute % windowMinutes] = fresh;
    return fresh;
  }
}

function classOf(ms: number): number {
  if (ms <= firstMs) return 0;
  return Math.min(classes - 1, Math.ceil(Math.log(ms / firstMs) / Math.log(growth)));
}

function quantile(durations: readonly number[], share: number): number | undefined {
  const total = durations.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let left = total * share;
  const index = durations.findIndex((count) => {
    left -= count;
    return left <= 0;
  });
  // The middle of the class.
  return Math.round(firstMs * growth ** (index - 0.5));
}
