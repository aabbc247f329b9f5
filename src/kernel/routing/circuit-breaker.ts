/** When something that fails is left alone, and for how long. */
export interface CircuitBreakerOptions {
  /** Faults within the window that open the circuit, if at least half of what was tried failed. Never one. */
  readonly faultsMin: number;
  readonly windowMs: number;
  /** The first rest; each probe that fails doubles it, up to `restMsMax`. */
  readonly openMs: number;
  readonly restMsMax: number;
}

/** A probe that was never heard of again, because its caller left, blocks the next for so long. */
const probeMsMax = 60_000;

export type CircuitState = "closed" | "open" | "half_open";

/**
 * Whether a route or a key is worth a try. It rests after several faults in a short time, then lets one call through at
 * a time to see: the first answer ends it, a fault makes it rest longer. Costs two comparisons while all is well.
 */
export class CircuitBreaker {
  readonly #bounds: CircuitBreakerOptions;
  #faults = 0;
  #answers = 0;
  #windowEndsMs = 0;
  /** 0 while it does not rest. */
  #restsUntilMs = 0;
  #openMs: number;
  /** Whether it rests by what was seen here, and not by the provider's word. */
  #opened = false;
  #probesUntilMs = 0;

  constructor(bounds: CircuitBreakerOptions) {
    this.#bounds = bounds;
    this.#openMs = bounds.openMs;
  }

  /** Whether the next call may take it without being the last resort. */
  isReady(nowMs: number): boolean {
    if (this.#restsUntilMs === 0) return true;
    if (nowMs < this.#restsUntilMs) return false;
    return !this.#opened || nowMs >= this.#probesUntilMs;
  }

  /** When its rest ends, milliseconds since 1970; 0 when there is none. */
  get restsUntilMs(): number {
    return this.#restsUntilMs;
  }

  stateAt(nowMs: number): CircuitState {
    if (this.isReady(nowMs)) return this.#opened ? "half_open" : "closed";
    return nowMs < this.#restsUntilMs ? "open" : "half_open";
  }

  /** A call takes it: after a rest it is the one probe. */
  begin(nowMs: number): void {
    if (this.#restsUntilMs === 0) return;
    if (this.#opened) this.#probesUntilMs = nowMs + probeMsMax;
    else if (nowMs >= this.#restsUntilMs) this.#restsUntilMs = 0;
  }

  /** It answered. */
  onSuccess(): void {
    if (this.#faults === 0) return;
    if (this.#opened) this.#close();
    else this.#answers++;
  }

  /** It failed. Returns whether it begins to rest by that. */
  onFailure(nowMs: number): boolean {
    if (this.#opened) {
      const isProbe = nowMs >= this.#restsUntilMs;
      if (isProbe) this.#open(nowMs, Math.min(this.#openMs * 2, this.#bounds.restMsMax));
      return isProbe;
    }
    if (nowMs >= this.#windowEndsMs) {
      this.#windowEndsMs = nowMs + this.#bounds.windowMs;
      this.#faults = 0;
      this.#answers = 0;
    }
    this.#faults++;
    if (this.#faults < this.#bounds.faultsMin || this.#faults < this.#answers) return false;
    this.#open(nowMs, this.#bounds.openMs);
    return true;
  }

  /** The provider itself said when to come back. */
  rest(untilMs: number): void {
    if (untilMs > this.#restsUntilMs) this.#restsUntilMs = untilMs;
  }

  #open(nowMs: number, openMs: number): void {
    this.#opened = true;
    this.#openMs = openMs;
    this.#restsUntilMs = nowMs + openMs;
    this.#probesUntilMs = 0;
  }

  #close(): void {
    this.#opened = false;
    this.#restsUntilMs = 0;
    this.#openMs = this.#bounds.openMs;
    this.#faults = 0;
    this.#answers = 0;
    this.#windowEndsMs = 0;
  }
}
