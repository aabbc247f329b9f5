import { GatewayError } from "../contract/index.ts";
import type { ClientCall } from "./call.ts";
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
/** Time constant of the decay of older lag. */
const memoryMs = 1000;
/**
 * Summed lag that begins an overload, and summed lag that ends it. A sum tolerates one garbage collection or one
 * expensive call.
 */
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

/** The work of an owner: an account, or the network of a client whose key is not known yet. */
interface OwnerLoad {
  /** Slots that its requests hold. */
  slots: number;
  /** Slots of requests that are not calls yet: their bodies may still be arriving. */
  waiting: number;
}

/** A request's place among those at work, from when its owner is known until both its handler and its call have ended. */
export interface Slot {
  readonly owner: string;
  readonly load: OwnerLoad;
  /** Its handler, and its call, as long as they have not ended. */
  uses: number;
  /** It has not become a call. */
  isWaiting: boolean;
  /** Its handler has not returned. */
  isOpen: boolean;
}

/** Every owner may have this many slots as long as any is free, however many others want some. */
const ownSlotsMin = 8;
/** An owner may have this many times the slots that are free: seven eighths of all when nobody else wants any. */
const slotsPerFree = 7;
/**
 * While an overload is refused, owners with few slots get as many as have become free since it began, and this share of all at work
 * more: enough for a call of each of many, and too little to make the overload much worse.
 */
const grantsShare = 1 / 8;
/** The least of that. */
const grantsMin = 16;

/**
 * Load shedding: counts running requests by owner, refuses what the process cannot serve before any work is done for
 * it, and refuses everything while the process shuts down. The owners with the most requests are refused first:
 *
 * - An owner may have {@link slotsPerFree} times the free slots. Of these, at most as many as are free may be
 *   requests that are not calls yet. So no owner takes the last slots, and the more owners compete, the less each gets.
 * - While the process is overloaded, an owner that has more than the average is refused. The others are admitted as
 *   slots become free.
 */
export class LoadShedder {
  readonly lag: EventLoopLag;
  readonly #running = new Set<ClientCall>();
  readonly #owners = new Map<string, OwnerLoad>();
  readonly #slotsMax: number;
  readonly #now: () => number;
  readonly #full: GatewayError;
  readonly #hasShare: GatewayError;
  readonly #overloaded = refusal("The gateway is overloaded; send the request again");
  readonly #closed = refusal("The gateway is shutting down; send the request again");
  #state: "open" | "draining" | "closed" = "open";
  #refusedCount = 0;
  #cutCounts = { streams: 0, others: 0 };
  #slots = 0;
  #openRequests = 0;
  /** Requests that may still be let in while the overload lasts. */
  #grants = grantsMin;

  constructor(
    bounds: OverloadBounds = defaultBounds,
    now: () => number = monotonicNow,
    report: OverloadReport = () => undefined,
  ) {
    this.#slotsMax = bounds.maxConcurrentCalls;
    this.#now = now;
    this.#full = refusal(
      `The gateway has ${bounds.maxConcurrentCalls} running calls, its limit; send the request again`,
    );
    this.#hasShare = new GatewayError(
      "rate_limit_exceeded",
      `The account has its share of the ${bounds.maxConcurrentCalls} requests that the gateway runs at once; send the request again when one of them has ended`,
      { retryAfterMs },
    );
    let refusedBefore = 0;
    this.lag = new EventLoopLag(bounds.lagMsMax, now, (isOverloaded) => {
      const calls = this.#running.size;
      if (isOverloaded) report("overloaded", { calls });
      else report("overload_over", { calls, refused: this.#refusedCount - refusedBefore });
      refusedBefore = this.#refusedCount;
      this.#grants = Math.max(grantsMin, Math.floor(this.#slots * grantsShare));
    });
  }

  /** Running calls, oldest first. */
  get running(): ReadonlySet<ClientCall> {
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

  /** Calls that {@link cancelAll} ended. */
  get cutCounts(): { readonly streams: number; readonly others: number } {
    return this.#cutCounts;
  }

  /** Whether the process shuts down: load balancers should send no more, and connections are not kept. */
  get isDraining(): boolean {
    return this.#state !== "open";
  }

  /** @throws {GatewayError} `unavailable` when the process accepts no more calls. */
  expectOpen(): void {
    if (this.#state === "closed") throw this.#count(this.#closed);
  }

  /**
   * Takes a slot for a request, until {@link endRequest} and {@link endCall}.
   *
   * @param owner The account, or the network of a client whose key is not known yet.
   * @throws {GatewayError} `unavailable` when the process is full, overloaded or shutting down, `rate_limit_exceeded` when the owner
   * has its share.
   */
  takeSlot(owner: string): Slot {
    this.expectOpen();
    const current = this.#owners.get(owner);
    this.#checkShare(current);
    this.#checkLoad(current?.slots ?? 0);
    const load = current ?? { slots: 0, waiting: 0 };
    if (current === undefined) this.#owners.set(owner, load);
    load.slots++;
    load.waiting++;
    this.#openRequests++;
    if (++this.#slots >= overloadCallsMin) this.lag.start();
    return { owner, load, uses: 1, isWaiting: true, isOpen: true };
  }

  /** Looks at the load again once the body of a request is there. @throws {GatewayError} `unavailable` as {@link takeSlot}. */
  checkSlot({ load }: Slot): void {
    this.expectOpen();
    this.#checkLoad(load.slots - 1);
  }

  /** The handler of a request has returned. Repeating it does nothing. */
  endRequest(slot: Slot): void {
    if (!slot.isOpen) return;
    slot.isOpen = false;
    this.#openRequests--;
    this.#endUse(slot);
  }

  /** @throws {GatewayError} `unavailable` when the process shuts down. */
  startCall(slot: Slot, call: ClientCall): void {
    this.expectOpen();
    slot.uses++;
    if (slot.isWaiting) {
      slot.isWaiting = false;
      slot.load.waiting--;
    }
    this.#running.add(call);
  }

  /** A call has ended. Repeating it does nothing. */
  endCall(slot: Slot, call: ClientCall): void {
    if (this.#running.delete(call)) this.#endUse(slot);
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
    for (const call of this.#running) {
      this.#cutCounts[call.request.sink === undefined ? "others" : "streams"]++;
      call.cancel("draining");
    }
  }

  #endUse(slot: Slot): void {
    if (--slot.uses > 0) return;
    const { owner, load, isWaiting } = slot;
    if (isWaiting) load.waiting--;
    if (--load.slots === 0) this.#owners.delete(owner);
    this.#grants = Math.min(this.#grants + 1, this.#slots);
    if (--this.#slots === 0) this.lag.stop();
  }

  #checkShare(load: OwnerLoad | undefined): void {
    const free = this.#slotsMax - this.#slots;
    if (free <= 0) throw this.#count(this.#full);
    if (load === undefined || load.slots < ownSlotsMin) return;
    const waitsTooMuch = load.waiting >= Math.max(ownSlotsMin, free);
    if (waitsTooMuch || load.slots >= slotsPerFree * free) throw this.#count(this.#hasShare);
  }

  /** @param slots Slots that the owner has already, without the requested one. */
  #checkLoad(slots: number): void {
    if (this.#slots < overloadCallsMin || !this.lag.refuses(this.#now())) return;
    const isAboveAverage = (slots + 1) * this.#owners.size > this.#slots;
    if (isAboveAverage || this.#grants <= 0) throw this.#count(this.#overloaded);
    this.#grants--;
  }

  #count(error: GatewayError): GatewayError {
    this.#refusedCount++;
    return error;
  }
}

function refusal(message: string): GatewayError {
  return new GatewayError("unavailable", message, { retryAfterMs });
}
