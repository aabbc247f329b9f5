import { setTimeout as sleep } from "node:timers/promises";
import type {
  AdmissionRequest,
  Caller,
  Extension,
  Hold,
  Ledger,
  LimitState,
  LimitsUsage,
  QuotaState,
  Settlement,
  WalletState,
} from "../contract/index.ts";
import { describeFailure, type EndedCall, isEmbedded, type OpenCall, readLedgerId, type Store } from "../db/index.ts";
import {
  type AdmittedCall,
  assertEnded,
  type CallHolds,
  holdNotWritten,
  toEndedCall,
  toOpenCall,
  unsentEnd,
  validateAdmission,
} from "./call-records.ts";
import { CommitQueue, type OnCommit } from "./commit-queue.ts";
import { EmbeddedHolds } from "./embedded-holds.ts";
import { ledgerUnavailable } from "./limit-errors.ts";
import { type CallLimits, narrowerCalls, ProcessLimits } from "./limits.ts";
import { PostgresHolds } from "./postgres-holds.ts";
import type { RedisTurns, RedisTurnsOptions } from "./redis/redis-turns.ts";
import { Spool } from "./spool.ts";

/** Options of {@link ProcessLedger}. */
export interface LedgerOptions {
  store: Store;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
  /** Idle accounts kept in memory; default 20 000. */
  accountsMax?: number;
  /** Default: this process keeps them alone. The ledger closes them. */
  limits?: CallLimits | undefined;
  onCommit?: OnCommit | undefined;
  /** Keeps ends of calls that the store does not take; absent: they are kept in memory alone. */
  spool?: Spool | undefined;
  /** Called after the end of each call is written. */
  onEnded?: ((end: EndedCall) => void) | undefined;
}

const accountsMaxDefault = 20_000;
/** How often a store is tried before the process ends. */
const closingMs = 100;

/** A call that runs. */
interface RunningCall {
  /** With its hold as it was last extended. */
  admission: AdmissionRequest;
  open: OpenCall | undefined;
  /** Extensions that are under way, one after another. */
  extending: Promise<void> | undefined;
  end: EndedCall | undefined;
  /** Resolves when the limits know of the end. */
  limitsUpdated: Promise<void> | void;
}

function toHeldAmounts({ holdNanodollars, holdTokens }: OpenCall) {
  return { heldNanodollars: holdNanodollars, heldTokens: holdTokens };
}

/**
 * The ledger of one process over its store: limits count a call in, then the store's hold is taken and written. Over an
 * embedded store both are in this process; a shared store decides about each hold itself.
 */
export class ProcessLedger implements Ledger {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #limits: CallLimits;
  readonly #holds: CallHolds;
  readonly #queue: CommitQueue;
  readonly #calls = new Map<string, RunningCall>();
  readonly #onEnded: LedgerOptions["onEnded"];
  readonly #spool: Spool | undefined;
  #closed = false;

  constructor(options: LedgerOptions) {
    const { store, now = Date.now, accountsMax = accountsMaxDefault, limits, onCommit, spool, onEnded } = options;
    this.#store = store;
    this.#spool = spool;
    this.#onEnded = onEnded;
    this.#now = now;
    this.#queue = new CommitQueue(store, (end, wasRetried) => this.#endWritten(end, wasRetried), { onCommit, spool });
    this.#limits = limits ?? new ProcessLimits(accountsMax);
    this.#holds = isEmbedded(store)
      ? new EmbeddedHolds(store, this.#queue, accountsMax)
      : new PostgresHolds(store, this.#queue);
  }

  async admit(admission: AdmissionRequest): Promise<Hold> {
    const { callId } = admission;
    if (this.#closed) throw ledgerUnavailable("The gateway is shutting down; try again");
    validateAdmission(admission);
    if (this.#calls.has(callId)) throw new Error(`Cannot admit call ${callId}: it is already running`);
    const call: RunningCall = {
      admission,
      open: undefined,
      extending: undefined,
      end: undefined,
      limitsUpdated: undefined,
    };
    this.#calls.set(callId, call);
    try {
      if (this.#queue.isFailing && (await this.#queue.refusesEnds())) throw holdNotWritten(undefined);
      const now = this.#now();
      const counting = this.#limits.take(admission, now);
      // Awaited only if needed: in memory, limits and hold are checked without a pause.
      const { limits, quota } = counting instanceof Promise ? await counting : counting;
      let grant: AdmittedCall;
      try {
        grant = await this.#holds.open(admission, quota, now);
        this.#limits.opened(admission, grant.open);
      } catch (error) {
        await this.#limits.release(admission, this.#now());
        throw error;
      }
      const { open, available } = grant;
      call.open = open;
      const [availableNanodollars, availableTokens] = admission.premium ? [available, 0] : [0, available];
      return { callId, ...toHeldAmounts(open), availableNanodollars, availableTokens, limits };
    } catch (error) {
      this.#calls.delete(callId);
      throw error;
    }
  }

  async extend(extension: Extension): Promise<Pick<Hold, "heldNanodollars" | "heldTokens">> {
    const call = this.#calls.get(extension.callId);
    if (call?.open === undefined || call.end !== undefined || call.extending !== undefined) {
      throw new Error(`Cannot extend call ${extension.callId}: it does not run, or is being extended`);
    }
    validateAdmission({ ...call.admission, ...extension });
    const { promise, resolve } = Promise.withResolvers<void>();
    call.extending = promise;
    try {
      return toHeldAmounts(await this.#extend(call as RunningCall & { open: OpenCall }, extension));
    } finally {
      call.extending = undefined;
      resolve();
    }
  }

  async settle(settlement: Settlement): Promise<void> {
    const call = this.#calls.get(settlement.callId);
    if (call?.extending !== undefined) await call.extending;
    if (call?.open === undefined) return assertEnded(this.#store, settlement.callId);
    if (call.end === undefined) {
      call.end = toEndedCall(call.open, settlement, this.#now());
      this.#holds.charge(call.end);
    }
    // An end that could not be written is in the spool and is tried again; the call stays open in the store until it is
    // written. The charge is certain, so the answer is returned.
    await this.#queue.add(call.end);
    if (call.limitsUpdated !== undefined) await call.limitsUpdated;
  }

  async countRequest(callId: string, caller: Caller): Promise<LimitState> {
    const { admission, open } = rateLimitOnlyAdmission(callId, caller, this.#now());
    const { limits } = await this.#limits.take(admission, this.#now());
    await this.#limits.end(admission, unsentEnd(open), this.#now());
    return limits;
  }

  checkRequests(caller: Caller): void {
    this.#limits.check(caller, this.#now());
  }

  readWalletState(accountId: string): Promise<WalletState> {
    return this.#holds.wallet(accountId, this.#now());
  }

  readQuotaState(caller: Pick<Caller, "accountId" | "freeTokensPerDay">): Promise<QuotaState> {
    return this.#holds.quota(caller, this.#now());
  }

  async readLimitState(caller: Caller, model?: string): Promise<LimitState> {
    return this.#limits.state(caller, this.#now(), model);
  }

  async readLimitsUsage(caller: Caller): Promise<LimitsUsage> {
    const [running, budgets] = await Promise.all([
      this.#limits.running(caller),
      this.#holds.budgets(caller, this.#now()),
    ]);
    return { calls: narrowerCalls(caller, running), budgets };
  }

  /**
   * Ends the calls that dead processes left open: before the first call is admitted, and regularly over a shared store.
   * There it also ends calls of this process that it does not run.
   */
  recover(): Promise<Recovery> {
    if (this.#calls.size > 0 && !this.#store.shared)
      throw new Error("Cannot recover: calls of this process are already running");
    const running = new Set([...this.#queue.unwritten].map(({ open }) => open.callId));
    const isRunning = (callId: string) => this.#calls.has(callId) || running.has(callId);
    return recoverCalls(this.#store, this.#now(), isRunning);
  }

  /**
   * Writes the charges that dead processes have left in the spool: as often as {@link ProcessLedger.recover}.
   *
   * @returns How many were found.
   */
  async replay(): Promise<number> {
    return (await this.#spool?.replay()) ?? 0;
  }

  /**
   * Picks up credits made by another process, and retries failed writes at once. For a timer of the owner.
   *
   * @returns How many ends of calls are still not written.
   */
  async sync(): Promise<number> {
    this.#store.pollExternalChange();
    if (this.#queue.unwritten.size > 0) await this.#queue.flush();
    return this.#queue.unwritten.size;
  }

  /**
   * Why no call can be recorded, by the outcome of the last writes of calls, in one message that anyone may read;
   * `undefined` when they succeeded. Until they succeed, the store is tried each second.
   */
  trouble(): string | undefined {
    const { failure } = this.#queue;
    if (failure === undefined && !this.#queue.isFailing) return undefined;
    const reason = failure === undefined ? "The disk of MODELGATE_HOME takes no charges" : describeFailure(failure);
    return `${reason}, so no call can be recorded`;
  }

  /**
   * Number of charges that the store has not taken yet, how many of them are on disk, and when the store last took a
   * write, by the monotonic clock.
   */
  get writing(): { waiting: number; spooled: number; writtenAtMs: number | undefined } {
    const { charges, writtenAtMs } = this.#queue;
    const { waiting, unkept } = charges;
    return { waiting: waiting.length, spooled: waiting.length - unkept.length, writtenAtMs };
  }

  /**
   * Stops admitting calls and writes everything that is queued; waits up to `waitMs` for a store that does not take it.
   *
   * @returns How many charges wait in the spool for the next start.
   * @throws {Error} When charges can be written nowhere; the next start finds these calls open and recovers them.
   */
  async close(waitMs = 0): Promise<number> {
    this.#closed = true;
    const deadlineMs = performance.now() + waitMs;
    await this.#queue.flush();
    while (this.#queue.charges.waiting.length > 0 && performance.now() < deadlineMs) {
      await sleep(closingMs);
      await this.#queue.flush();
    }
    await this.#queue.close();
    this.#limits.close();
    const { waiting, unkept } = this.#queue.charges;
    const ids = unkept.map((end) => end.open.callId);
    if (ids.length > 0) throw new Error(`Cannot write the charges of ${ids.length} calls: ${ids.join(", ")}`);
    return waiting.length;
  }

  /** Over an embedded store it has happened when this returns its promise. */
  async #extend(call: RunningCall & { open: OpenCall }, extension: Extension): Promise<OpenCall> {
    const now = this.#now();
    const moreTokens = Math.max(0, extension.limitTokens - call.admission.limitTokens);
    call.admission = { ...call.admission, ...extension, limitTokens: call.admission.limitTokens + moreTokens };
    const counting = this.#limits.extend(call.admission, moreTokens, now);
    const quota = counting === undefined ? undefined : await counting;
    const holding = this.#holds.extend(call.open, call.admission, quota, now);
    call.open = holding instanceof Promise ? await holding : holding;
    this.#limits.opened(call.admission, call.open);
    return call.open;
  }

  #endWritten(end: EndedCall, wasRetried: boolean): void {
    const { callId } = end.open;
    const call = this.#calls.get(callId);
    if (call?.end !== end) return;
    this.#calls.delete(callId);
    this.#holds.written(end, wasRetried);
    this.#onEnded?.(end);
    call.limitsUpdated = this.#limits.end(call.admission, end, this.#now());
  }
}

/** A ledger, and messages about its degradations while calls are served. */
interface OpenedLedger {
  ledger: ProcessLedger;
  degraded(): string[];
}

interface OpenLedgerOptions {
  store: Store;
  log: Record<"warn" | "error", (event: string, fields: Record<string, unknown>) => void>;
  now?: (() => number) | undefined;
  onCommit?: OnCommit | undefined;
  onEnded?: LedgerOptions["onEnded"];
}

interface LedgerSettings {
  redisUrl?: string | undefined;
  redisTimeoutMs?: number | undefined;
  /** Folder of the {@link Spool}; absent: no spool. */
  spoolFolder?: string | undefined;
}

/**
 * Opens the ledger of this process. With REDIS_URL its limits are shared by all nodes.
 *
 * @throws {RedisRefused} When that Redis cannot be used at all.
 */
export async function openLedger(
  { redisUrl, redisTimeoutMs: timeoutMs, spoolFolder: folder }: LedgerSettings,
  { store, log, now, onCommit, onEnded }: OpenLedgerOptions,
): Promise<OpenedLedger> {
  const spool =
    folder === undefined ? undefined : new Spool({ folder, ledgerId: await readLedgerId(store), store, log });
  const options: LedgerOptions = { store, ...(now && { now }), onCommit, onEnded, spool };
  if (redisUrl === undefined) return { ledger: new ProcessLedger(options), degraded: () => [] };
  const report = (event: string, fields: Record<string, unknown>) => log.warn(event, fields);
  // The client, some 10 MB of memory, is loaded only if Redis is configured.
  const { openRedisLimits } = await import("./redis/redis-limits.ts");
  const limits = await openRedisLimits({ store, now, url: redisUrl, timeoutMs, report });
  return { ledger: new ProcessLedger({ ...options, limits }), degraded: () => limits.problems() };
}

/** Opens the turns of sessions that nodes share. The client is loaded only if Redis is configured, as above. */
export async function openRedisTurns(options: RedisTurnsOptions): Promise<RedisTurns> {
  const redis = await import("./redis/redis-turns.ts");
  return await redis.openRedisTurns(options);
}

/** The calls that were found open at the start, and how they were ended. */
export interface Recovery {
  /** Calls ended without a charge. */
  released: number;
  /** Holds of these calls: the maximum that their providers may bill for them. */
  heldNanodollars: number;
  heldTokens: number;
  /** Their ids, the first hundred. */
  callIds: string[];
}

/** Limit of {@link Recovery.callIds}. */
const idsMax = 100;

/**
 * Ends the calls that a dead process left open. The policy: such a call becomes `abandoned` and pays nothing. Its
 * caller never got the last byte, because that waits for the charge, and the usage is unknown. The operator bears at most
 * `heldNanodollars`, which is logged, and finds the calls by their state.
 * Should the process live after all, its settle still charges the call, once.
 */
async function recoverCalls(store: Store, now: number, isRunning: (callId: string) => boolean): Promise<Recovery> {
  const calls = await store.abandonCalls(now, isRunning);
  return {
    released: calls.length,
    heldNanodollars: calls.reduce((sum, call) => sum + call.hold_nanodollars, 0),
    heldTokens: calls.reduce((sum, call) => sum + call.hold_tokens, 0),
    callIds: calls.slice(0, idsMax).map((call) => call.id),
  };
}

/** A request that counts only against the limit of requests: it holds nothing and is not a concurrent call. */
function rateLimitOnlyAdmission(callId: string, { limits, keyLimits, ...caller }: Caller, openedAt: number) {
  const admission: AdmissionRequest = {
    callId,
    caller: {
      ...caller,
      limits: { ...limits, concurrentCalls: undefined },
      keyLimits: keyLimits && { ...keyLimits, concurrentCalls: undefined },
    },
    model: "",
    capability: "chat",
    premium: true,
    holdNanodollars: 0,
    minNanodollars: 0,
    holdTokens: 0,
    minTokens: 0,
    limitTokens: 0,
    priceVersion: undefined,
    openedAt,
  };
  const open = toOpenCall(admission, { quotaDay: null, holdNanodollars: 0, holdTokens: 0 });
  return { admission, open };
}
