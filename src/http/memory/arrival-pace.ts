import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { GatewayError } from "../../contract/index.ts";

/** The least that a large body brings, in bytes a millisecond: about 64 kB a second. */
const leastBytesPerMs = 64;
/** The time before it has to, and how far it may get ahead of that by sending faster. */
const [graceMs, aheadMsMax] = [5000, 15_000];

/**
 * Demands that a large body goes on arriving: who sends a byte a second would hold the memory of what has arrived for minutes.
 */
export class ArrivalPace {
  readonly #onLate: () => void;
  readonly #now: () => number;
  #dueMs: number;
  #timer: ReturnType<typeof setTimeout>;
  #isLate = false;

  /** @param onLate Called once when too little has come. */
  constructor(onLate: () => void, now: () => number = () => performance.now()) {
    this.#onLate = onLate;
    this.#now = now;
    this.#dueMs = now() + graceMs;
    this.#timer = setTimeout(this.#look, graceMs);
  }

  get isLate(): boolean {
    return this.#isLate;
  }

  /** A piece of the body has arrived. */
  add(bytes: number): void {
    this.#dueMs = Math.min(this.#dueMs + bytes / leastBytesPerMs, this.#now() + aheadMsMax);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  readonly #look = (): void => {
    const leftMs = this.#dueMs - this.#now();
    if (leftMs > 0) this.#timer = setTimeout(this.#look, Math.ceil(leftMs));
    // Where the event loop was late, what has arrived meanwhile is read first.
    else setImmediate(() => setImmediate(this.#end));
  };

  readonly #end = (): void => {
    if (this.#dueMs > this.#now()) {
      this.#look();
      return;
    }
    this.#isLate = true;
    this.#onLate();
  };
}

/** What its sender is told. */
export function arrivedTooSlowly(): GatewayError {
  const sentence = `The body arrives too slowly: after ${graceMs / 1000} s a large one has to bring at least ${leastBytesPerMs} kB a second; send it again`;
  return new GatewayError("request_timeout", sentence);
}
