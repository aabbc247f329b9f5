import { type Hold, type Meters, UpstreamFault, type UsageSource } from "../contract/index.ts";
import type { Route } from "./routing/registry.ts";
import type { TimeoutScheduler, Watch } from "./upstream/timeouts.ts";

/** Why a call was cut off by the gateway itself. */
export type CancelReason = "left" | "timeout" | "draining";

/** What is known of one call so far: written along its way, read for headers, log and books. */
export class Progress {
  readonly id: string;
  readonly openedAt: number;
  #controller = new AbortController();
  #onCut: () => void = () => undefined;
  #limit: Watch | undefined = undefined;
  /** What the client itself calls its request; its word, so it is shown and logged and used for nothing. */
  clientRequestId: string | undefined = undefined;
  hold: Hold | undefined = undefined;
  model: string | undefined = undefined;
  /** What the caller asks for. */
  request: unknown = undefined;
  /** The plugin that answered. */
  route: string | undefined = undefined;
  /** The route of the attempt under way, then the one that answered. */
  trying: Pick<Route, "circuitBreaker" | "health" | "keys"> | undefined = undefined;
  attempts = 0;
  status = 200;
  errorCode: string | undefined = undefined;
  cancelReason: CancelReason | undefined = undefined;
  firstByteMs: number | undefined = undefined;
  meters: Meters = {};
  usageSource: UsageSource = "none";
  costNanodollars: number | undefined = undefined;
  /** Of each choice, where somebody looks on. */
  finishReasons: string[] | undefined = undefined;
  readonly notes: string[] = [];

  constructor(id: string, openedAt: number) {
    this.id = id;
    this.openedAt = openedAt;
  }

  /** What the books make of it: charged, let go for nothing, or never admitted. Final once the call has ended. */
  get state(): "settled" | "released" | "refused" {
    if (this.hold === undefined) return "refused";
    return this.usageSource === "none" ? "released" : "settled";
  }

  /** Aborted when the attempt under way or the whole call ends; every request to a provider carries it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the call from outside: whatever it waits for is aborted, and it settles. Only the first reason counts. */
  cut(reason: CancelReason): void {
    if (this.cancelReason !== undefined) return;
    this.cancelReason = reason;
    this.#controller.abort();
    this.#onCut();
  }

  /** Sets by when the call must be further, milliseconds since 1970; later limits replace it, {@link unlimit} ends it. */
  limit(deadlines: TimeoutScheduler, atMs: number): void {
    if (this.#limit === undefined) this.#limit = deadlines.watch(atMs, () => this.cut("timeout"));
    else this.#limit.atMs = atMs;
  }

  unlimit(deadlines: TimeoutScheduler): void {
    if (this.#limit !== undefined) deadlines.drop(this.#limit);
  }

  /**
   * The outcome of work, or a fault once the call is cut, for work that may not heed the signal. By hand, because
   * `Promise.race` with a promise of the cut costs a call five microseconds.
   */
  untilCancelled<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#onCut = () => reject(new UpstreamFault("bad_response", "The call was cut off"));
      if (this.cancelReason !== undefined) this.#onCut();
    });
  }

  /** Ends what a provider was waited for in vain: its attempt while another can follow, afterwards the call. */
  timeout(signal: AbortSignal): void {
    if (this.route !== undefined) this.cut("timeout");
    else if (signal === this.#controller.signal) this.#controller.abort();
  }

  /** Closes what an attempt that failed may have left open, and gives the next a signal of its own. */
  resetSignal(): void {
    this.#controller.abort();
    if (this.cancelReason === undefined) this.#controller = new AbortController();
  }

  /** Closes what a call that ended may have left open at its providers. */
  abort(): void {
    this.#controller.abort();
  }

  /** Keeps a sentence for the log, at most 20 of at most 500 characters. */
  note(sentence: string): void {
    if (this.notes.length < 20) this.notes.push(sentence.slice(0, 500));
  }
}
