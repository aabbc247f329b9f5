import {
  type AdmissionRequest,
  type BudgetState,
  type Caller,
  GatewayError,
  type QuotaState,
  type WalletState,
} from "../contract/index.ts";
import {
  type AccountBalance,
  type BudgetDraw,
  dayOf,
  type EmbeddedStore,
  type EndedCall,
  type GrantedHold,
  type HoldAmounts,
  type OpenCall,
  startOfDay,
} from "../db/index.ts";
import {
  type BudgetCounter,
  BudgetCounters,
  findScarcest,
  KnownBudgets,
  type LiveCall,
  type ScarcestBudget,
} from "./budget-counters.ts";
import { findDraws, findKnownDraws, toBudgetState } from "./budget-draws.ts";
import { type AdmittedCall, accountNotRead, type CallHolds, holdNotWritten, toOpenCall } from "./call-records.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { IdleMap } from "./idle-map.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded } from "./limit-errors.ts";

/** Holds in an embedded store. Only this process writes calls, so it decides about holds in memory. */
export class EmbeddedHolds implements CallHolds {
  readonly #accounts: AccountStates;
  readonly #budgets: BudgetCounters;
  readonly #queue: CommitQueue;

  constructor(store: EmbeddedStore, queue: CommitQueue, accountsMax: number) {
    this.#accounts = new AccountStates(store, accountsMax);
    this.#budgets = new BudgetCounters(store, accountsMax, () => queue.writing);
    this.#queue = queue;
  }

  /** Runs without a pause until the write, so no other call comes in between. */
  open(admission: AdmissionRequest, _quota: GrantedHold | undefined, now: number): Promise<AdmittedCall> {
    const { account, grant, counters } = this.#take(admission, now);
    const open = toOpenCall(admission, grant);
    account.add(open, counters);
    return this.#queue.add(open).then((outcome) => {
      if (!outcome?.failures.has(open)) return { open, available: grant.available };
      account.remove(open);
      throw holdNotWritten(outcome.failures.get(open));
    });
  }

  /**
   * Decides in memory; the next batch writes the extension, and nothing waits for that write. A call ended by a crash
   * pays nothing, so its row only shows how much its provider may bill, and the end of a call writes its last hold
   * again.
   */
  extend(open: OpenCall, admission: AdmissionRequest, _quota: HoldAmounts | undefined, now: number): OpenCall {
    const account = this.#getAccount(admission.caller.accountId, now);
    const call = account.suspend(open);
    let extended = open;
    try {
      const { available: _, ...amounts } = this.#takeFrom(account, admission, now).grant;
      extended = { ...open, ...amounts };
    } finally {
      account.resume(call, extended);
    }
    void this.#queue.add({ kind: "extend", open: extended });
    return extended;
  }

  charge(end: EndedCall): void {
    this.#accounts.find(end.open.accountId)?.charge(end);
  }

  written(end: EndedCall, wasRetried: boolean): void {
    this.#accounts.find(end.open.accountId)?.written(end, wasRetried);
  }

  async wallet(accountId: string, now: number): Promise<WalletState> {
    return this.#getAccount(accountId, now).wallet();
  }

  async quota({ accountId, freeTokensPerDay }: Caller, now: number): Promise<QuotaState> {
    return this.#getAccount(accountId, now).quota(freeTokensPerDay);
  }

  async budgets(caller: Caller, now: number) {
    const draws = findKnownDraws(caller, now);
    if (draws.length === 0) return [];
    const counters = this.#countersOf(this.#getAccount(caller.accountId, now), { caller, draws, now });
    return draws.map((draw, at): BudgetState => {
      const { spent, held: openHolds } = counters[at] as BudgetCounter;
      return toBudgetState(draw, { spentNanodollars: spent, heldNanodollars: openHolds });
    });
  }

  /**
   * Takes a hold. A refusal reads the account again first: another process, such as the command line, may have credited
   * it.
   */
  #take(admission: AdmissionRequest, now: number): TakenHold & { account: AccountState } {
    const account = this.#getAccount(admission.caller.accountId, now);
    try {
      return { account, ...this.#takeFrom(account, admission, now) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      account.revision = undefined;
      const read = this.#getAccount(admission.caller.accountId, now);
      return { account: read, ...this.#takeFrom(read, admission, now) };
    }
  }

  #takeFrom(account: AccountState, admission: AdmissionRequest, now: number): TakenHold {
    const { premium, caller } = admission;
    const draws = premium ? findDraws(admission, caller.budgets, now) : none;
    const counters = draws.length === 0 ? none : this.#countersOf(account, { caller, draws, now });
    const grant = account.take(admission, now, findScarcest(draws, counters));
    const later = premium ? account.budgets.findOthers(caller) : none;
    if (later.length === 0) return { grant, counters };
    return { grant, counters: [...counters, ...this.#budgets.known(caller, findDraws(admission, later, now))] };
  }

  #countersOf(
    account: AccountState,
    { caller, draws, now }: { caller: Caller; draws: readonly BudgetDraw[]; now: number },
  ): BudgetCounter[] {
    return this.#budgets.of(caller, draws, account.calls, now);
  }

  #getAccount(accountId: string, now: number): AccountState {
    try {
      return this.#accounts.get(accountId, now, this.#queue.writing);
    } catch (error) {
      throw accountNotRead(error);
    }
  }
}

const none: readonly never[] = [];

/** A hold that was granted, and the counters of the budgets that it draws on. */
interface TakenHold {
  readonly grant: GrantedHold;
  readonly counters: readonly BudgetCounter[];
}

/** The accounts in memory: read from the store at first use, forgotten when idle and others need the room. */
class AccountStates {
  readonly #store: EmbeddedStore;
  readonly #states: IdleMap<AccountState>;

  constructor(store: EmbeddedStore, accountsMax: number) {
    this.#store = store;
    this.#states = new IdleMap(accountsMax, () => new AccountState());
  }

  /** The account of a call that runs. */
  find(accountId: string): AccountState | undefined {
    return this.#states.get(accountId);
  }

  /**
   * Returns the current state of the account. While a write is under way, it is unknown whether the figures in the
   * store include it; they are then read at the next occasion.
   */
  get(accountId: string, now: number, isWriting: boolean): AccountState {
    const state = this.#states.get(accountId);
    if (state === undefined) return this.#read(accountId, now);
    const today = dayOf(now);
    const isKnown = state.revision === this.#store.revision && today <= state.day && state.day <= today + 1;
    if (isKnown) return state;
    if (!isWriting) return this.#read(accountId, now);
    state.turnTo(today);
    return state;
  }

  #read(accountId: string, now: number): AccountState {
    const balance = this.#store.readBalance(accountId, dayOf(now));
    const state = this.#states.getOrMake(accountId, now);
    state.refresh(balance, dayOf(now));
    state.revision = this.#store.revision;
    return state;
  }
}

/**
 * Wallet and free quota of one account of an embedded store, in memory: the written amounts, the held amounts, and
 * charges that are not written yet, with the counters of the budgets that its calls draw on. Each method runs
 * synchronously, which makes admission atomic.
 */
class AccountState {
  #balance = 0;
  #held = 0;
  /**
   * Never goes back by one day: otherwise a clock set back would create quota. A larger step back is accepted: it means
   * that the clock had been ahead.
   */
  #day = 0;
  #usedTokens = 0;
  #heldTokens = 0;
  /** Calls that run, or whose charge is still to be written. */
  readonly calls = new Map<string, LiveCall>();
  readonly budgets = new KnownBudgets();
  /** The store's revision that was last read; absent before the first. */
  revision: number | undefined;

  get day(): number {
    return this.#day;
  }

  /** Adopts the figures in the store and keeps the charges that are not written yet. */
  refresh(balance: AccountBalance, today: number): void {
    this.#balance = balance.balanceNanodollars;
    if (this.#day > today + 1) this.#day = 0;
    this.turnTo(balance.quotaDay === undefined ? today : Math.max(today, balance.quotaDay));
    this.#usedTokens = balance.quotaDay === this.#day ? balance.usedTokens : 0;
    for (const { end } of this.calls.values()) {
      if (end === undefined) continue;
      this.#balance -= end.chargedNanodollars;
      if (this.#isCounted(end.open)) this.#usedTokens += end.quotaTokens;
    }
  }

  /** Whether the quota used by a call counts now: it does for calls of today, and of days that are too far ahead. */
  #isCounted({ quotaDay }: OpenCall): boolean {
    return quotaDay === this.#day || (quotaDay !== null && quotaDay > this.#day + 1);
  }

  /** Begins a new day's quota; holds and draws of an older day no longer count. */
  turnTo(day: number): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#usedTokens = 0;
    this.#heldTokens = 0;
  }

  /**
   * Returns the hold that a call may take, for {@link AccountState.add}.
   *
   * @throws {GatewayError} Names the amount that is insufficient.
   */
  take(admission: AdmissionRequest, now: number, scarcest?: ScarcestBudget): GrantedHold {
    return admission.premium ? this.#holdMoney(admission, now, scarcest) : this.#holdQuota(admission, now);
  }

  /** Takes the hold of a call. */
  add(open: OpenCall, counters: readonly BudgetCounter[]): void {
    // Two budgets of one subject share a counter.
    const call = { open, end: undefined, counters: [...new Set(counters)] };
    this.calls.set(open.callId, call);
    for (const counter of call.counters) counter.calls += 1;
    this.#addHold(call, 1);
  }

  /** Gives back all that {@link add} took, as if the call had never come. */
  remove(open: OpenCall): void {
    const call = this.calls.get(open.callId);
    if (call === undefined) return;
    this.#addHold(call, -1);
    this.#leave(call);
  }

  /**
   * Sets the hold of a running call aside until {@link resume} takes the next one. The call stays in the counters of
   * its budgets.
   */
  suspend(open: OpenCall): LiveCall {
    const call = this.calls.get(open.callId);
    if (call === undefined) throw new Error(`Cannot extend call ${open.callId}: it does not run`);
    this.#addHold(call, -1);
    call.open = { ...open, holdNanodollars: 0, holdTokens: 0 };
    return call;
  }

  resume(call: LiveCall, open: OpenCall): void {
    call.open = open;
    this.#addHold(call, 1);
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(end: EndedCall): void {
    const call = this.calls.get(end.open.callId);
    if (call === undefined) return;
    this.#addHold(call, -1);
    call.end = end;
    this.#balance -= end.chargedNanodollars;
    for (const counter of call.counters) counter.spent += end.chargedNanodollars;
    if (this.#isCounted(end.open)) this.#usedTokens += end.quotaTokens;
  }

  /**
   * Called when the charge of a call is written. A charge that was tried more than once may already be included in
   * figures read in the meantime and would count twice.
   */
  written(end: EndedCall, wasRetried: boolean): void {
    const call = this.calls.get(end.open.callId);
    if (call === undefined) return;
    this.#leave(call);
    if (!wasRetried) return;
    this.revision = undefined;
    for (const counter of call.counters) counter.seen = undefined;
  }

  /** Whether forgetting this account loses nothing. */
  isIdle(): boolean {
    return this.calls.size === 0;
  }

  wallet(): WalletState {
    return { balanceNanodollars: this.#balance, heldNanodollars: this.#held };
  }

  quota(limitTokens: number): QuotaState {
    const resetsAt = startOfDay(this.#day + 1);
    return { limitTokens, usedTokens: this.#usedTokens, heldTokens: this.#heldTokens, resetsAt };
  }

  #holdMoney(admission: AdmissionRequest, now: number, scarcest: ScarcestBudget | undefined): GrantedHold {
    const isBilledAfterwards = admission.caller.isBilledAfterwards && scarcest !== undefined;
    const available = isBilledAfterwards ? Number.MAX_SAFE_INTEGER : this.#balance - this.#held;
    const left = scarcest === undefined ? available : Math.min(available, scarcest.left);
    // A call that costs nothing is admitted even if nothing is left.
    const isFree = admission.holdNanodollars === 0;
    const holdNanodollars = isFree ? 0 : Math.min(left, admission.holdNanodollars);
    if (!isFree && (left <= 0 || holdNanodollars < admission.minNanodollars)) {
      if (scarcest !== undefined && (scarcest.left < available || (scarcest.left === available && left <= 0))) {
        throw budgetExceeded(admission, scarcest.draw.name, toBudgetState(scarcest.draw, scarcest), now);
      }
      throw balanceExceeded(admission, this.wallet());
    }
    return { quotaDay: null, holdNanodollars, holdTokens: 0, available: Math.max(left, holdNanodollars) };
  }

  #holdQuota(admission: AdmissionRequest, now: number): GrantedHold {
    const limit = admission.caller.freeTokensPerDay;
    const heldTokens = this.#heldTokens;
    const available = limit - this.#usedTokens - heldTokens;
    const holdTokens = Math.min(available, admission.holdTokens);
    if (available <= 0 || holdTokens < admission.minTokens) throw quotaExceeded(admission, this.quota(limit), now);
    return { quotaDay: this.#day, holdNanodollars: 0, holdTokens, available };
  }

  #addHold({ open, counters }: LiveCall, sign: 1 | -1): void {
    this.#held += sign * open.holdNanodollars;
    for (const counter of counters) counter.held += sign * open.holdNanodollars;
    if (open.quotaDay === this.#day) this.#heldTokens += sign * open.holdTokens;
  }

  #leave(call: LiveCall): void {
    this.calls.delete(call.open.callId);
    for (const counter of call.counters) counter.calls -= 1;
  }
}
