import { type Capability, GatewayError } from "../contract/index.ts";
import type { Progress } from "./progress.ts";
import { Strain, type StrainBounds } from "./strain.ts";

/** How much one process takes on. */
interface GateBounds extends StrainBounds {
  /** Calls at once. */
  readonly callsMax: number;
}

const defaultGateBounds: GateBounds = { callsMax: 12_000, lagMsMax: 30 };

/** A call on its way. */
export interface RunningCall {
  readonly capability: Capability;
  readonly caller: { readonly accountId: string; readonly keyId: string };
  readonly progress: Progress;
  /** Present where the answer is streamed. */
  readonly outlet?: unknown;
}

/** With fewer calls than this at once it is not they who make the machine slow, and refusing one helps nobody. */
const strainedCallsMin = 200;
const retryAfterMs = 1000;

const refusalOf = (sentence: string) => new GatewayError("unavailable", sentence, { retryAfterMs });

/** What the operator is told about the gate. */
type GateReport = (event: string, fields: Record<string, unknown>) => void;

/**
 * Where calls come in: counts those at work, refuses more than the process can bear before anything is done for them,
 * and closes when the process ends.
 */
export class Gate {
  readonly #running = new Set<RunningCall>();
  readonly #callsMax: number;
  /** Whether the processor has too much to do. */
  readonly strain: Strain;
  readonly #full: GatewayError;
  readonly #busy = refusalOf("The gateway has more to do than it can at the moment; send the request again");
  readonly #closed = refusalOf("The gateway is shutting down; send the request again");
  #state: "open" | "leaving" | "closed" = "open";
  #refusedCount = 0;
  /** Requests whose handler has not returned: also those whose body is still on its way. */
  #arriving = 0;

  constructor(
    bounds: GateBounds = defaultGateBounds,
    now: () => number = Date.now,
    report: GateReport = () => undefined,
  ) {
    this.#callsMax = bounds.callsMax;
    this.#full = refusalOf(
      `The gateway has ${bounds.callsMax} calls at work, the most it takes; send the request again`,
    );
    let before = 0;
    this.strain = new Strain(bounds, now, (isStrained) => {
      report(isStrained ? "overloaded" : "overload_over", {
        calls: this.#running.size,
        ...(!isStrained && { refused: this.#refusedCount - before }),
      });
      before = this.#refusedCount;
    });
  }

  /** Calls at work, in the order in which they came. */
  get running(): ReadonlySet<RunningCall> {
    return this.#running;
  }

  /** How many they are. */
  get size(): number {
    return this.#running.size;
  }

  /** Requests that were refused here so far. */
  get refusedCount(): number {
    return this.#refusedCount;
  }

  /** Whether the process is about to end: nobody should send it more, or keep a connection. */
  get isLeaving(): boolean {
    return this.#state !== "open";
  }

  /** Why a request is not taken, before anything is done for it; `undefined` when it is. */
  refusal(nowMs: number): GatewayError | undefined {
    const isStrained = this.#count >= strainedCallsMin && this.strain.refuses(nowMs);
    const refusal = this.#state === "closed" ? this.#closed : isStrained ? this.#busy : this.#fullNow();
    if (refusal !== undefined) this.#refusedCount++;
    return refusal;
  }

  /** Notes a request that was not refused, until {@link depart}. */
  arrive(): void {
    this.#arriving++;
    if (this.#count >= strainedCallsMin) this.strain.start();
  }

  depart(): void {
    this.#arriving--;
    if (this.#count === 0) this.strain.stop();
  }

  /** @throws {GatewayError} `unavailable` when there are too many, or the gate has closed meanwhile. */
  enter(call: RunningCall): void {
    const refusal = this.#state === "closed" ? this.#closed : this.#fullNow();
    if (refusal !== undefined) {
      this.#refusedCount++;
      throw refusal;
    }
    this.#running.add(call);
  }

  leave(call: RunningCall): void {
    this.#running.delete(call);
    if (this.#count === 0) this.strain.stop();
  }

  /** Says that the process is about to end; calls are still taken. */
  giveNotice(): void {
    if (this.#state === "open") this.#state = "leaving";
  }

  /** Takes no more calls; those at work go on. */
  close(): void {
    this.#state = "closed";
  }

  /** Ends the calls at work with a clean error. */
  cutAll(): void {
    for (const { progress } of this.#running) progress.cut("draining");
  }

  /** A call that is answered whole is in both, a stream at work in the second, one that is being read in the first. */
  get #count(): number {
    return Math.max(this.#arriving, this.#running.size);
  }

  #fullNow(): GatewayError | undefined {
    return this.#running.size >= this.#callsMax || this.#arriving > this.#callsMax ? this.#full : undefined;
  }
}
