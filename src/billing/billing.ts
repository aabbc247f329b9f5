import type {
  AdmissionRequest,
  Caller,
  Hold,
  Ledger,
  LimitState,
  LimitsUsage,
  QuotaState,
  Settlement,
  WalletState,
} from "../contract/index.ts";
import { type CallEnded, type CallOpened, isEmbedded, type Store } from "../db/index.ts";
import { type CallLimits, type CountedCall, narrowerCalls, ProcessLimits } from "./call-limits.ts";
import { assertEnded, toCallEnded, unmadeCallEnd, validateAdmission } from "./call-record.ts";
import { CommitQueue, type OnCommit } from "./commit-queue.ts";
import { type CallHolds, EmbeddedHolds } from "./embedded-holds.ts";
import { billingUnavailable } from "./limit-errors.ts";
import { PostgresHolds } from "./postgres-holds.ts";
import { type Recovery, recoverCalls } from "./recover-calls.ts";
import { requestOnly } from "./request-only.ts";

/** Options of {@link createBilling}. */
export interface BillingOptions {
  store: Store;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
  /** Idle accounts kept in memory; default 20 000. */
  accountsMax?: number;
  /** Default: this process keeps them alone. The ledger closes them. */
  limits?: CallLimits | undefined;
  onCommit?: OnCommit | undefined;
}

/** The ledger of one process over its store. */
export interface Billing extends Ledger {
  /**
   * Ends the calls that dead processes left open: before the first call is admitted, and over a shared store now and
   * then.
   */
  recover(): Promise<Recovery>;
  /**
   * Picks up credits made by another process, and at once tries again what could not be written. For a timer of the
   * owner.
   *
   * @returns How many ends of calls are still not written.
   */
  sync(): Promise<number>;
  /**
   * Admits no more calls and writes all that is queued.
   *
   * @throws {Error} When ends of calls cannot be written; the next start finds these calls open and recovers them.
   */
  close(): Promise<void>;
}

const accountsMaxDefault = 20_000;

/** A call that runs. */
interface RunningCall {
  readonly admission: AdmissionRequest;
  open: CallOpened | undefined;
  end: CallEnded | undefined;
  /** Resolves when the limits know of the end. */
  limitsUpdated: Promise<void> | void;
}

/**
 * Makes the ledger over a store: limits count a call in, then the store's hold is taken and written. Over an embedded
 * store both are in this process; a shared store decides about each hold itself.
 */
export function createBilling(options: BillingOptions): Billing {
  return new StoreBilling(options);
}

class StoreBilling implements Billing {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #limits: CallLimits;
  readonly #holds: CallHolds;
  readonly #queue: CommitQueue;
  readonly #calls = new Map<string, RunningCall>();
  #closed = false;

  constructor({ store, now = Date.now, accountsMax = accountsMaxDefault, limits, onCommit }: BillingOptions) {
    this.#store = store;
    this.#now = now;
    this.#queue = new CommitQueue(store, (end, wasRetried) => this.#endWritten(end, wasRetried), onCommit);
    this.#limits = limits ?? new ProcessLimits(accountsMax);
    this.#holds = isEmbedded(store)
      ? new EmbeddedHolds(store, this.#queue, accountsMax)
      : new PostgresHolds(store, this.#queue);
  }

  async admit(admission: AdmissionRequest): Promise<Hold> {
    const { callId } = admission;
    if (this.#closed) throw billingUnavailable("The gateway is shutting down; try again");
    validateAdmission(admission);
    if (this.#calls.has(callId)) throw new Error(`Cannot admit call ${callId}: it is already running`);
    const call: RunningCall = { admission, open: undefined, end: undefined, limitsUpdated: undefined };
    this.#calls.set(callId, call);
    try {
      const now = this.#now();
      const counting = this.#limits.take(admission, now);
      // Awaited only if needed: in memory, limits and hold are checked without a pause.
      const { limits, quota } = counting instanceof Promise ? await counting : counting;
      call.open = await this.#hold(admission, quota, now);
      const { holdNanodollars, holdTokens } = call.open;
      return { callId, heldNanodollars: holdNanodollars, heldTokens: holdTokens, limits };
    } catch (error) {
      this.#calls.delete(callId);
      throw error;
    }
  }

  async settle(settlement: Settlement): Promise<void> {
    const call = this.#calls.get(settlement.callId);
    if (call?.open === undefined) return assertEnded(this.#store, settlement.callId);
    if (call.end === undefined) {
      call.end = toCallEnded(call.open, settlement, this.#now());
      this.#holds.charge(call.end);
    }
    const outcome = await this.#queue.add(call.end);
    if (outcome?.failures.has(call.end)) {
      throw billingUnavailable(
        "The charge of the call could not be written yet; it is kept and tried again",
        outcome.failures.get(call.end),
      );
    }
    await call.limitsUpdated;
  }

  async countRequest(callId: string, caller: Caller): Promise<LimitState> {
    const { admission, open } = requestOnly(callId, caller, this.#now());
    const { limits } = await this.#limits.take(admission, this.#now());
    await this.#limits.end(admission, unmadeCallEnd(open), this.#now());
    return limits;
  }

  walletOf(accountId: string): Promise<WalletState> {
    return this.#holds.wallet(accountId, this.#now());
  }

  quotaOf(caller: Pick<Caller, "accountId" | "freeTokensPerDay">): Promise<QuotaState> {
    return this.#holds.quota(caller, this.#now());
  }

  async limitsOf(caller: Caller): Promise<LimitState> {
    return this.#limits.state(caller, this.#now());
  }

  async limitsUsageOf(caller: Caller): Promise<LimitsUsage> {
    const [running, budget] = await Promise.all([
      this.#limits.running(caller),
      this.#holds.budget(caller, this.#now()),
    ]);
    return { calls: narrowerCalls(caller, running), budget };
  }

  recover(): Promise<Recovery> {
    if (this.#calls.size > 0 && !this.#store.shared)
      throw new Error("Cannot recover: calls of this process are already running");
    return recoverCalls(this.#store, this.#now());
  }

  async sync(): Promise<number> {
    this.#store.pollExternalChange();
    if (this.#queue.unwritten.size > 0) await this.#queue.flush();
    return this.#queue.unwritten.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#queue.flush();
    this.#limits.close();
    const ids = [...this.#queue.unwritten].map((end) => end.open.callId);
    if (ids.length > 0) throw new Error(`Cannot write the charges of ${ids.length} calls: ${ids.join(", ")}`);
  }

  /** Of a call that the limits have counted in, and count out again where it is refused here. */
  async #hold(admission: AdmissionRequest, quota: CountedCall["quota"], now: number): Promise<CallOpened> {
    try {
      const open = await this.#holds.open(admission, quota, now);
      this.#limits.opened(open);
      return open;
    } catch (error) {
      await this.#limits.release(admission, this.#now());
      throw error;
    }
  }

  #endWritten(end: CallEnded, wasRetried: boolean): void {
    const { callId } = end.open;
    const call = this.#calls.get(callId);
    if (call?.end !== end) return;
    this.#calls.delete(callId);
    this.#holds.written(end, wasRetried);
    call.limitsUpdated = this.#limits.end(call.admission, end, this.#now());
  }
}
