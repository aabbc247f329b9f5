import type { CallObserver } from "../../kernel/index.ts";

const bucketMs = 10_000;
const [longBuckets, shortBuckets] = [60, 12];

/** Windows over which the share of failed calls is measured, in minutes. The short one ends an alert soon after the failure. */
export const failureMinutes = { long: (longBuckets * bucketMs) / 60_000, short: (shortBuckets * bucketMs) / 60_000 };

/** Counts of calls in a window. */
export interface FailedCalls {
  readonly calls: number;
  /** Calls that ended with 500 or 503. */
  readonly failed: number;
}

/** State of the service, as reported by a process. */
export interface ServiceState {
  /** Name of the process for its operator. */
  readonly gateway: string;
  /** Why it cannot record calls, and since when; absent while it can. */
  readonly trouble?: { readonly text: string; readonly since: number } | undefined;
  readonly long: FailedCalls;
  readonly short: FailedCalls;
}

interface ServiceHealthOptions {
  readonly gateway: string;
  /** Why no call can be recorded. */
  readonly trouble: () => string | undefined;
  /** Whether the process is shutting down and therefore refuses calls. */
  readonly isDraining: () => boolean;
  readonly now: () => number;
}

/** Watches whether calls are recorded and served, in memory alone: an alert about that cannot wait for the database. */
export class ServiceHealth {
  readonly #options: ServiceHealthOptions;
  readonly #calls = new Uint32Array(longBuckets);
  readonly #failed = new Uint32Array(longBuckets);
  /** The number of the latest bucket since 1970. */
  #bucket = 0;
  #trouble: ServiceState["trouble"];

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
  }

  /** Counts how calls end. */
  readonly observer: CallObserver = {
    attempted: () => undefined,
    ended: ({ status }) => this.#count(status),
    refused: (_, unrun) => {
      if (unrun !== undefined && unrun.status >= 500) this.#count(unrun.status);
    },
  };

  /** Looks at the state. Since when there is trouble is known as exactly as this is called often. */
  read(): ServiceState {
    const { gateway, trouble, now } = this.#options;
    const [at, text] = [now(), trouble()];
    this.#turn(at);
    this.#trouble = text === undefined ? undefined : { text, since: this.#trouble?.since ?? at };
    return { gateway, trouble: this.#trouble, long: this.#sum(longBuckets), short: this.#sum(shortBuckets) };
  }

  #count(status: number): void {
    if (status >= 500 && this.#options.isDraining()) return;
    const place = this.#turn(this.#options.now());
    this.#calls[place] = (this.#calls[place] as number) + 1;
    if (status >= 500) this.#failed[place] = (this.#failed[place] as number) + 1;
  }

  /**
   * Empties the buckets after the last one up to the current one. When the clock steps back, the last bucket counts on.
   */
  #turn(at: number): number {
    const bucket = Math.floor(at / bucketMs);
    const first = Math.max(this.#bucket + 1, bucket - longBuckets + 1);
    for (let each = first; each <= bucket; each++) {
      this.#calls[each % longBuckets] = 0;
      this.#failed[each % longBuckets] = 0;
    }
    this.#bucket = Math.max(this.#bucket, bucket);
    return this.#bucket % longBuckets;
  }

  #sum(buckets: number): FailedCalls {
    let [calls, failed] = [0, 0];
    for (let back = 0; back < buckets; back++) {
      const place = (this.#bucket - back + longBuckets) % longBuckets;
      calls += this.#calls[place] as number;
      failed += this.#failed[place] as number;
    }
    return { calls, failed };
  }
}
