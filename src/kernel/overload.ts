import { GatewayError } from "../contract/index.ts";
import type { Call } from "./call.ts";
import { monotonicNow } from "./upstream/http-client.ts";

/** The limits of one process. */
interface OverloadBounds {
  /** Concurrent calls. */
  readonly maxConcurrentCalls: number;
  /** How late the event loop may be, in milliseconds; 0 switches the check off. */
  readonly lagMsMax: number;
}

/** Reports the begin and end of overload to the operator. */
type OverloadReport = (event: string, fields: Record<string, unknown>) => void;

const defaultBounds: OverloadBounds = { maxConcurrentCalls: 12_000, lagMsMax: 30 };
/** With fewer concurrent calls, it is not calls that make the process slow. */
const overloadCallsMin = 200;
const retryAfterMs = 1000;
/** How often the lag is measured. */
const tickMs = 20;
/** The time constant by which older lag counts less. */
const memoryMs = 1000;
/** Summed lag at which overload begins and ends, so that one garbage collection or expensive call does not trip it. */
const [overloadedMs, calmMs] = [400, 50];

/**
 * Detects overload by how late a timer fires. See
 * docs/decisions/0009-overload-by-timer-lag.md.
 */
class EventLoopLag {
  readonly #lagMsMax: number;
  readonly #now: () => number;
  readonly #onChange: (isOverloaded: boolean) => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  #tickedAt = 0;
  /** Whether the last tick was late, and the decaying sum of late ones. */
  #isLate = false;
  #lateSumMs = 0;
  #isOverloaded = false;

  constructor(lagMsMax: number, now: () => number, onChange: (isOverloaded: boolean) => void) {
    this.#lagMsMax = lagMsMax;
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Whether a new call should be refused: the process is overloaded, and the event loop is late at this moment. */
  refuses(nowMs: number): boolean {
    return this.#isOverloaded && (this.#isLate || nowMs - this.#tickedAt > tickMs + this.#lagMsMax);
  }

  /** Measures until {@link stop}. Repeating it does nothing. */
  start(): void {
    if (this.#timer !== undefined || this.#lagMsMax === 0) return;
    this.#tickedAt = this.#now();
    this.#timer = setInterval(() => this.tick(), tickMs);
    this.#timer.unref?.();
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#isLate = false;
    this.#lateSumMs = 0;
    this.#set(false);
  }

  /** Called by the timer, and by tests with their own clock. */
  tick(): void {
    if (this.#lagMsMax === 0) return;
    const now = this.#now();
    const passedMs = now - this.#tickedAt;
    const lagMs = passedMs - tickMs;
    this.#tickedAt = now;
    this.#isLate = lagMs > this.#lagMsMax;
    this.#lateSumMs = this.#lateSumMs * Math.exp(-passedMs / memoryMs) + (this.#isLate ? lagMs : 0);
    if (this.#lateSumMs >= overloadedMs) this.#set(true);
    else if (this.#lateSumMs < calmMs) this.#set(false);
  }

  #set(isOverloaded: boolean): void {
    if (isOverloaded === this.#isOverloaded) return;
    this.#isOverloaded = isOverloaded;
    this.#onChange(isOverloaded);
  }
}

/**
 * Load shedding: counts concurrent calls, refuses more than the process can serve before anything is done for them, and
 * refuses all while the process shuts down.
 */
export class LoadShedder {
  readonly lag: EventLoopLag;
  readonly #running = new Set<Call>();
  readonly #maxConcurrentCalls: number;
  readonly #full: GatewayError;
  readonly #overloaded = refusal("The gateway is overloaded; send the request again");
  readonly #closed = refusal("The gateway is shutting down; send the request again");
  #state: "open" | "draining" | "closed" = "open";
  #refusedCount = 0;
  /** Requests whose handler has not returned, including those whose body is still being received. */
  #openRequests = 0;

  constructor(
    bounds: OverloadBounds = defaultBounds,
    now: () => number = monotonicNow,
    report: OverloadReport = () => undefined,
  ) {
    this.#maxConcurrentCalls = bounds.maxConcurrentCalls;
    this.#full = refusal(
      `The gateway has ${bounds.maxConcurrentCalls} running calls, its limit; send the request again`,
    );
    let refusedBefore = 0;
    this.lag = new EventLoopLag(bounds.lagMsMax, now, (isOverloaded) => {
      const calls = this.#running.size;
      if (isOverloaded) report("overloaded", { calls });
      else report("overload_over", { calls, refused: this.#refusedCount - refusedBefore });
      refusedBefore = this.#refusedCount;
    });
  }

  /** Running calls, oldest first. */
  get running(): ReadonlySet<Call> {
    return this.#running;
  }

  /** How many calls run. */
  get size(): number {
    return this.#running.size;
  }

  /** Requests whose handler has not returned. */
  get openRequests(): number {
    return this.#openRequests;
  }

  /** Requests that were refused here so far. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  /** Whether the process shuts down: load balancers should send no more, and connections are not kept. */
  get isDraining(): boolean {
    return this.#state !== "open";
  }

  /** Why a request is refused before anything is done for it; `undefined` when it is not. */
  refusal(nowMs: number): GatewayError | undefined {
    const isOverloaded = this.#count >= overloadCallsMin && this.lag.refuses(nowMs);
    const refusal = this.#state === "closed" ? this.#closed : isOverloaded ? this.#overloaded : this.#checkFull();
    if (refusal !== undefined) this.#refusedCount++;
    return refusal;
  }

  /** Counts a request that was not refused, until {@link endRequest}. */
  startRequest(): void {
    this.#openRequests++;
    if (this.#count >= overloadCallsMin) this.lag.start();
  }

  endRequest(): void {
    this.#openRequests--;
    if (this.#count === 0) this.lag.stop();
  }

  /** @throws {GatewayError} `unavailable` when there are too many calls, or the process shuts down. */
  startCall(call: Call): void {
    const refusal = this.#state === "closed" ? this.#closed : this.#checkFull();
    if (refusal !== undefined) {
      this.#refusedCount++;
      throw refusal;
    }
    this.#running.add(call);
  }

  endCall(call: Call): void {
    this.#running.delete(call);
    if (this.#count === 0) this.lag.stop();
  }

  /** Announces the shutdown; calls are still accepted. */
  announceShutdown(): void {
    if (this.#state === "open") this.#state = "draining";
  }

  /** Accepts no more calls; running ones continue. */
  close(): void {
    this.#state = "closed";
  }

  /** Ends the running calls with a clean error. */
  cancelAll(): void {
    for (const call of this.#running) call.cancel("draining");
  }

  /** A whole answer is in both counts, a running stream in the second, a request whose body is being read in the first. */
  get #count(): number {
    return Math.max(this.#openRequests, this.#running.size);
  }

  #checkFull(): GatewayError | undefined {
    return this.#running.size >= this.#maxConcurrentCalls || this.#openRequests > this.#maxConcurrentCalls
      ? this.#full
      : undefined;
  }
}

function refusal(message: string): GatewayError {
  return new GatewayError("unavailable", message, { retryAfterMs });
}
