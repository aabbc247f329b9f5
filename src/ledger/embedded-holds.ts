import {
  type AccountBudget,
  type AdmissionRequest,
  type BudgetPeriod,
  type BudgetState,
  type Caller,
  GatewayError,
  type QuotaState,
  type WalletState,
} from "../contract/index.ts";
import {
  type AccountBalance,
  type BudgetBalance,
  type BudgetDraw,
  dayOf,
  type EmbeddedStore,
  type EndedCall,
  endOfPeriod,
  type GrantedHold,
  type HoldAmounts,
  type OpenCall,
  startOfDay,
  startOfPeriod,
} from "../db/index.ts";
import {
  type AdmittedCall,
  accountNotRead,
  type Budgets,
  type CallHolds,
  getBudgetLimit,
  holdNotWritten,
  toOpenCall,
} from "./call-records.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { IdleMap } from "./idle-map.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded, subjectBudgetExceeded } from "./limit-errors.ts";
import { findDraws, findKnownDraws, type ScarcestBudget, SubjectCounters, toSubjectState } from "./subject-budgets.ts";

/** Holds in an embedded store. Only this process writes calls, so it decides about holds in memory. */
export class EmbeddedHolds implements CallHolds {
  readonly #accounts: AccountStates;
  readonly #subjects: SubjectCounters;
  readonly #queue: CommitQueue;

  constructor(store: EmbeddedStore, queue: CommitQueue, accountsMax: number) {
    this.#accounts = new AccountStates(store, accountsMax);
    this.#subjects = new SubjectCounters(store, accountsMax);
    this.#queue = queue;
  }

  /** Runs without a pause until the write, so no other call comes in between. */
  open(admission: AdmissionRequest, _quota: GrantedHold | undefined, now: number): Promise<AdmittedCall> {
    const { account, taken: grant } = this.#take(admission, now);
    const open = toOpenCall(admission, grant);
    return this.#queue.add(open).then((outcome) => {
      if (!outcome?.failures.has(open)) return { open, available: grant.available };
      account.release(open);
      if (open.draws !== undefined) this.#releaseDraws(open.draws, open);
      throw holdNotWritten(outcome.failures.get(open));
    });
  }

  /**
   * Decided in memory and written with the next batch, for which nothing waits: a call that a crash ends pays nothing, so
   * its row only tells how much its provider may bill, and the end of a call writes its last hold again.
   */
  extend(open: OpenCall, admission: AdmissionRequest, _quota: HoldAmounts | undefined, now: number): OpenCall {
    const account = this.#getPayer(admission, now);
    const draws = findDraws(admission, now);
    const { available: _, ...amounts } =
      draws === undefined && open.draws === undefined
        ? account.extend(open, admission, now)
        : this.#extendDraws(open, draws, { account, admission, now });
    const extended: OpenCall = { ...open, ...amounts };
    void this.#queue.add({ kind: "extend", open: extended });
    return extended;
  }

  charge(end: EndedCall): void {
    const { accountId, draws, holdNanodollars } = end.open;
    this.#accounts.find(accountId)?.charge(end);
    if (draws === undefined) return;
    this.#subjects.addHold(draws, -holdNanodollars);
    this.#subjects.addCharge(draws, end.chargedNanodollars);
  }

  written(end: EndedCall, wasRetried: boolean): void {
    const account = this.#accounts.find(end.open.accountId);
    account?.written(end);
    if (end.open.draws !== undefined) this.#subjects.leave(end.open.draws);
    // The account may have been read with this charge in the meantime, which would count it twice.
    if (wasRetried) account?.invalidate(end.open);
  }

  async wallet(accountId: string, now: number): Promise<WalletState> {
    return this.#getAccount(accountId, now).wallet();
  }

  async quota({ accountId, freeTokensPerDay }: Caller, now: number): Promise<QuotaState> {
    return this.#getAccount(accountId, now).quota(freeTokensPerDay);
  }

  async budgets(caller: Caller, now: number): Promise<Budgets> {
    const { accountId, keyId, keyLimits, accountBudget } = caller;
    const account = this.#getPayer({ premium: true, caller }, now);
    const limit = keyLimits?.budgetNanodollars;
    return {
      budget: limit === undefined ? undefined : account.budget(keyId, limit, now),
      accountBudget: accountBudget && account.accountBudget(accountBudget),
      budgets:
        caller.budgets &&
        findKnownDraws(caller, now).map((draw) => toSubjectState(draw, this.#subjects.read(accountId, draw))),
    };
  }

  /** Another process, such as the command line, may have credited the account since it was read: a refusal reads it again. */
  #take(admission: AdmissionRequest, now: number): { account: AccountState; taken: GrantedHold } {
    const account = this.#getPayer(admission, now);
    const draws = findDraws(admission, now);
    try {
      return { account, taken: this.#takeFrom(account, draws, admission, now) };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      account.revision = undefined;
      const read = this.#getPayer(admission, now);
      return { account: read, taken: this.#takeFrom(read, draws, admission, now) };
    }
  }

  #takeFrom(
    account: AccountState,
    draws: readonly BudgetDraw[] | undefined,
    admission: AdmissionRequest,
    now: number,
  ): GrantedHold {
    if (draws === undefined) return account.take(admission, now);
    this.#subjects.enter(admission.caller.accountId, draws, now);
    try {
      const grant = account.take(admission, now, this.#subjects.findScarcest(draws));
      this.#subjects.addHold(draws, grant.holdNanodollars);
      return { ...grant, draws };
    } catch (error) {
      this.#subjects.leave(draws);
      throw error;
    }
  }

  /** Replaces the hold on budgets of subjects, which are those of a new period after midnight, or leaves it as it is. */
  #extendDraws(
    open: OpenCall,
    draws: readonly BudgetDraw[] = [],
    { account, admission, now }: { account: AccountState; admission: AdmissionRequest; now: number },
  ): GrantedHold {
    const { draws: before = [], holdNanodollars } = open;
    this.#subjects.enter(open.accountId, draws, now);
    this.#subjects.addHold(before, -holdNanodollars);
    try {
      const scarcest = draws.length === 0 ? undefined : this.#subjects.findScarcest(draws);
      const grant = account.extend(open, admission, now, scarcest);
      this.#subjects.addHold(draws, grant.holdNanodollars);
      this.#subjects.leave(before);
      return { ...grant, draws: draws.length === 0 ? undefined : draws };
    } catch (error) {
      this.#subjects.addHold(before, holdNanodollars);
      this.#subjects.leave(draws);
      throw error;
    }
  }

  #releaseDraws(draws: readonly BudgetDraw[], { holdNanodollars }: OpenCall): void {
    this.#subjects.addHold(draws, -holdNanodollars);
    this.#subjects.leave(draws);
  }

  #getPayer({ premium, caller }: Pick<AdmissionRequest, "premium" | "caller">, now: number): AccountState {
    const { accountId, keyId, keyLimits, accountBudget } = caller;
    const hasBudget = getBudgetLimit({ premium, caller }) !== undefined;
    const key = hasBudget ? { keyId, period: keyLimits?.budgetPeriod ?? "month" } : undefined;
    return this.#getAccount(accountId, now, { key, account: premium ? accountBudget?.period : undefined });
  }

  #getAccount(accountId: string, now: number, requested?: BudgetsRequested): AccountState {
    try {
      return this.#accounts.get(accountId, now, this.#queue.writing, requested);
    } catch (error) {
      throw accountNotRead(error);
    }
  }
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
   * The account as it stands now. While a write is under way it cannot be told whether the store's figures have it
   * already, so that they are read at the next occasion. `asked` are the budgets that are to be known too.
   */
  get(accountId: string, now: number, isWriting: boolean, { key, account }: BudgetsRequested = {}): AccountState {
    const state = this.#get(accountId, now, isWriting, key);
    if (account === undefined) return state;
    const since = startOfPeriod(now, account);
    state.refreshSpent(since, this.#store.revision, () => this.#store.readSpent(accountId, since));
    return state;
  }

  #get(accountId: string, now: number, isWriting: boolean, key: BudgetsRequested["key"]): AccountState {
    const state = this.#states.get(accountId);
    if (state === undefined) return this.#read(accountId, now, key);
    const { revision } = this.#store;
    const today = dayOf(now);
    const isKnown = state.revision === revision && today <= state.day && state.day <= today + 1;
    const keyState = key && state.findKey(key.keyId);
    if (isKnown && (key === undefined || keyState?.knowsBudget(revision, now, key.period))) return state;
    if (!isWriting) return this.#read(accountId, now, key);
    state.turnTo(dayOf(now));
    if (key === undefined) return state;
    if (keyState?.revision !== undefined) keyState.turnTo(startOfPeriod(now, key.period), key.period);
    // A budget that was never read is read also in the middle of a write: nothing of it can be on its way.
    else this.#refreshBudget(state, key, this.#readBalance(accountId, now, key), now);
    return state;
  }

  #read(accountId: string, now: number, key: BudgetsRequested["key"]): AccountState {
    const balance = this.#readBalance(accountId, now, key);
    const state = this.#states.getOrMake(accountId, now);
    state.refresh(balance, dayOf(now));
    state.revision = this.#store.revision;
    if (key !== undefined) this.#refreshBudget(state, key, balance, now);
    return state;
  }

  #readBalance(accountId: string, now: number, key: BudgetsRequested["key"]): AccountBalance {
    const budgetQuery = key && { keyId: key.keyId, periodStart: startOfPeriod(now, key.period) };
    return this.#store.readBalance(accountId, dayOf(now), budgetQuery);
  }

  #refreshBudget(state: AccountState, key: KeyRequested, { budget }: AccountBalance, now: number): void {
    if (budget !== undefined) state.refreshBudget(key, budget, { revision: this.#store.revision, now });
  }
}

/** Keys per account above which idle ones are evicted. */
const keysMax = 1000;

/**
 * Wallet, budgets and free quota of one account of an embedded store, in memory: what is written, what is held, and what
 * is charged but not yet written. Each method runs in one go, which is what makes admission atomic.
 */
class AccountState {
  #balance = 0;
  #held = 0;
  /** Never goes back by a day, so that a clock that does mints no quota. Further back, the clock was ahead before. */
  #day = 0;
  #usedTokens = 0;
  #heldTokens = 0;
  /** Charges that are still to be written. */
  readonly #unwritten = new Set<EndedCall>();
  #openCalls = 0;
  /** Keys that have a budget; undefined until the first is seen. */
  #keys: IdleMap<KeyState> | undefined;
  /** Charged for premium calls that began since a day; absent until an account's budget asks for it. */
  #spent: Spent | undefined;
  /** The store's revision that was last read; absent before the first. */
  revision: number | undefined;

  get day(): number {
    return this.#day;
  }

  /** Takes over the written figures and keeps what is not written yet. */
  refresh(balance: AccountBalance, today: number): void {
    this.#balance = balance.balanceNanodollars;
    if (this.#day > today + 1) this.#day = 0;
    this.turnTo(balance.quotaDay === undefined ? today : Math.max(today, balance.quotaDay));
    this.#usedTokens = balance.quotaDay === this.#day ? balance.usedTokens : 0;
    for (const { open, chargedNanodollars, quotaTokens } of this.#unwritten) {
      this.#balance -= chargedNanodollars;
      if (this.#isCounted(open)) this.#usedTokens += quotaTokens;
    }
  }

  /** Whether what a call draws of the quota counts now: that of today, and that of days which are too far ahead. */
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
   * Takes a call's hold, or nothing. `scarcest` bounds it too.
   *
   * @throws {GatewayError} Naming what does not suffice.
   */
  take(admission: AdmissionRequest, now: number, scarcest?: ScarcestBudget): GrantedHold {
    const amounts = admission.premium ? this.#holdMoney(admission, now, scarcest) : this.#holdQuota(admission, now);
    this.#openCalls += 1;
    return amounts;
  }

  /**
   * Takes a larger hold in place of that of a running call, or leaves it as it is. After midnight all of it is of the new
   * day or period, whose quota or budget then pays.
   *
   * @throws {GatewayError} Naming what does not suffice.
   */
  extend(open: OpenCall, admission: AdmissionRequest, now: number, scarcest?: ScarcestBudget): GrantedHold {
    const key = this.#budgetOf(open);
    this.release(open);
    try {
      return this.take(admission, now, scarcest);
    } catch (error) {
      this.#addHold(open, 1);
      this.#openCalls += 1;
      key?.restore(open);
      throw error;
    }
  }

  /** Gives back all that {@link take} took, as if the call had never come. */
  release(open: OpenCall): void {
    this.#addHold(open, -1);
    this.#openCalls -= 1;
    this.#budgetOf(open)?.release(open);
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(end: EndedCall): void {
    const { open, chargedNanodollars: nanodollars } = end;
    this.#unwritten.add(end);
    this.#budgetOf(open)?.charge(open, nanodollars);
    this.#addHold(open, -1);
    this.#balance -= nanodollars;
    if (this.#spent !== undefined && dayOf(open.openedAt) >= this.#spent.since) this.#spent.nanodollars += nanodollars;
    if (this.#isCounted(open)) this.#usedTokens += end.quotaTokens;
  }

  /** The charge of a call is written. */
  written(end: EndedCall): void {
    this.#unwritten.delete(end);
    this.#budgetOf(end.open)?.leave();
    this.#openCalls -= 1;
  }

  /** Makes the account and the key be read again, because it is uncertain whether the call was written. */
  invalidate(open: OpenCall): void {
    this.revision = undefined;
    if (this.#spent !== undefined) this.#spent.revision = undefined;
    const key = this.#budgetOf(open);
    if (key !== undefined) key.revision = undefined;
  }

  /** The budget of a key that has one, as far as it is known. */
  findKey(keyId: string): KeyState | undefined {
    return this.#keys?.get(keyId);
  }

  /** Takes over what is written of a key's budget. */
  refreshBudget({ keyId, period }: KeyRequested, balance: BudgetBalance, at: { revision: number; now: number }): void {
    const key = this.#keyOf(keyId, at.now);
    key.refresh(balance, startOfPeriod(at.now, period), period);
    for (const { open, chargedNanodollars } of this.#unwritten) {
      if (open.keyId === keyId) key.addSpent(open, chargedNanodollars);
    }
    key.revision = at.revision;
  }

  /**
   * Makes known what is spent since a day. What is charged and not written may be written while it is read: then it counts
   * twice, and is read again at the next occasion.
   */
  refreshSpent(since: number, revision: number, read: () => number): void {
    if (this.#spent?.since === since && this.#spent.revision === revision) return;
    const isSettled = this.#unwritten.size === 0;
    this.#spent = { since, nanodollars: read(), revision: isSettled ? revision : undefined };
    for (const { open, chargedNanodollars } of this.#unwritten) {
      if (dayOf(open.openedAt) >= since) this.#spent.nanodollars += chargedNanodollars;
    }
  }

  /** Whether forgetting this account loses nothing. */
  isIdle(): boolean {
    return this.#openCalls === 0;
  }

  wallet(): WalletState {
    return { balanceNanodollars: this.#balance, heldNanodollars: this.#held };
  }

  quota(limitTokens: number): QuotaState {
    const resetsAt = startOfDay(this.#day + 1);
    return { limitTokens, usedTokens: this.#usedTokens, heldTokens: this.#heldTokens, resetsAt };
  }

  budget(keyId: string, limitNanodollars: number, now: number): BudgetState {
    return this.#keyOf(keyId, now).budget(limitNanodollars);
  }

  /** The budget of the account, whose spending {@link refreshSpent} has made known. */
  accountBudget({ limitNanodollars, period }: AccountBudget): BudgetState {
    const { since, nanodollars } = this.#spent as Spent;
    const resetsAt = endOfPeriod(since, period);
    return { limitNanodollars, spentNanodollars: nanodollars, heldNanodollars: this.#held, resetsAt };
  }

  #keyOf(keyId: string, now: number): KeyState {
    this.#keys ??= new IdleMap(keysMax, () => new KeyState());
    return this.#keys.getOrMake(keyId, now);
  }

  /** That of a call that draws on one. */
  #budgetOf({ periodStart, keyId }: OpenCall): KeyState | undefined {
    return periodStart === null ? undefined : this.#keys?.get(keyId);
  }

  #holdMoney(admission: AdmissionRequest, now: number, scarcest: ScarcestBudget | undefined): GrantedHold {
    const available = this.#balance - this.#held;
    const limit = getBudgetLimit(admission);
    const key = limit === undefined ? undefined : this.#keyOf(admission.caller.keyId, now);
    const inBudget = key === undefined || limit === undefined ? available : key.available(limit);
    const ofAccount = admission.caller.accountBudget && this.accountBudget(admission.caller.accountBudget);
    const inAccount = ofAccount === undefined ? available : toLeft(ofAccount);
    const ofSubject = scarcest === undefined ? available : scarcest.left;
    const availableNanodollars = Math.min(available, inBudget, inAccount, ofSubject);
    // A call that costs nothing is admitted also where nothing is left.
    const isFree = admission.holdNanodollars === 0;
    const holdNanodollars = isFree ? 0 : Math.min(availableNanodollars, admission.holdNanodollars);
    if (!isFree && (availableNanodollars <= 0 || holdNanodollars < admission.minNanodollars)) {
      const isScarce = (part: number) => part <= 0 || part < available;
      if (scarcest !== undefined && isScarce(ofSubject) && ofSubject <= availableNanodollars) {
        throw subjectBudgetExceeded(admission, scarcest.draw.name, toSubjectState(scarcest.draw, scarcest), now);
      }
      if (key !== undefined && limit !== undefined && isScarce(inBudget) && (!ofAccount || inBudget <= inAccount)) {
        throw budgetExceeded(admission, key.budget(limit), now);
      }
      if (ofAccount !== undefined && isScarce(inAccount)) throw budgetExceeded(admission, ofAccount, now, "account");
      throw balanceExceeded(admission, this.wallet());
    }
    this.#held += holdNanodollars;
    const periodStart = key === undefined ? null : key.take(holdNanodollars);
    return {
      quotaDay: null,
      holdNanodollars,
      holdTokens: 0,
      periodStart,
      available: Math.max(availableNanodollars, holdNanodollars),
    };
  }

  #holdQuota(admission: AdmissionRequest, now: number): GrantedHold {
    const limit = admission.caller.freeTokensPerDay;
    const heldTokens = this.#heldTokens;
    const available = limit - this.#usedTokens - heldTokens;
    const holdTokens = Math.min(available, admission.holdTokens);
    if (available <= 0 || holdTokens < admission.minTokens) throw quotaExceeded(admission, this.quota(limit), now);
    this.#heldTokens += holdTokens;
    return { quotaDay: this.#day, holdNanodollars: 0, holdTokens, periodStart: null, available };
  }

  #addHold(hold: HoldAmounts, sign: 1 | -1): void {
    this.#held += sign * hold.holdNanodollars;
    if (hold.quotaDay === this.#day) this.#heldTokens += sign * hold.holdTokens;
  }
}

/** The part of a budget that is neither spent nor held. */
function toLeft({ limitNanodollars, spentNanodollars, heldNanodollars }: BudgetState): number {
  return limitNanodollars - spentNanodollars - heldNanodollars;
}

interface KeyRequested {
  readonly keyId: string;
  readonly period: BudgetPeriod;
}

/** The budgets that a call draws on: that of its key and that of its account. */
interface BudgetsRequested {
  readonly key?: KeyRequested | undefined;
  readonly account?: BudgetPeriod | undefined;
}

/** Charges of premium calls of an account that began since a day. */
interface Spent {
  readonly since: number;
  nanodollars: number;
  revision: number | undefined;
}

/** Charges and holds of a key with a budget, in memory. A period is named by its first day. */
class KeyState {
  /** Never goes back, so that a clock that does mints no budget. */
  #periodStart = 0;
  #period: BudgetPeriod = "month";
  #resetsAt = 0;
  #spent = 0;
  #held = 0;
  #openCalls = 0;
  /** The store's revision at which the budget was last read; absent before the first time. */
  revision: number | undefined;

  /** Whether the budget as it is known holds for this moment. */
  knowsBudget(revision: number, now: number, period: BudgetPeriod): boolean {
    return this.revision === revision && now < this.#resetsAt && period === this.#period;
  }

  /** Takes over the written figures, to which the caller adds what is not written yet. */
  refresh(balance: BudgetBalance, thisPeriod: number, period: BudgetPeriod): void {
    this.turnTo(balance.periodStart === undefined ? thisPeriod : Math.max(thisPeriod, balance.periodStart), period);
    this.#spent = balance.periodStart === this.#periodStart ? balance.spentNanodollars : 0;
  }

  /** Begins a new period's budget; holds and charges of an older one no longer count. */
  turnTo(periodStart: number, period: BudgetPeriod): void {
    this.#period = period;
    this.#resetsAt = endOfPeriod(Math.max(periodStart, this.#periodStart), period);
    if (periodStart <= this.#periodStart) return;
    this.#periodStart = periodStart;
    this.#spent = 0;
    this.#held = 0;
  }

  /** The part of the budget that is neither spent nor held. */
  available(budgetNanodollars: number): number {
    return budgetNanodollars - this.#spent - this.#held;
  }

  /** Holds for a call; returns the period whose budget pays. */
  take(holdNanodollars: number): number {
    this.#openCalls += 1;
    this.#held += holdNanodollars;
    return this.#periodStart;
  }

  /** Gives back what {@link take} took, as if the call had never come. */
  release(hold: HoldAmounts): void {
    this.#removeHold(hold);
    this.leave();
  }

  /** Takes back a {@link release}. */
  restore({ periodStart, holdNanodollars }: HoldAmounts): void {
    if (periodStart === this.#periodStart) this.#held += holdNanodollars;
    this.#openCalls += 1;
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(hold: HoldAmounts, nanodollars: number): void {
    this.#removeHold(hold);
    this.addSpent(hold, nanodollars);
  }

  /** Counts a charge, if it is of this period. */
  addSpent({ periodStart }: HoldAmounts, nanodollars: number): void {
    if (periodStart === this.#periodStart) this.#spent += nanodollars;
  }

  /** The charge of a call is written. */
  leave(): void {
    this.#openCalls -= 1;
  }

  isIdle(): boolean {
    return this.#openCalls === 0;
  }

  budget(limitNanodollars: number): BudgetState {
    return {
      limitNanodollars,
      spentNanodollars: this.#spent,
      heldNanodollars: this.#held,
      resetsAt: this.#resetsAt,
    };
  }

  #removeHold({ periodStart, holdNanodollars }: HoldAmounts): void {
    if (periodStart === this.#periodStart) this.#held -= holdNanodollars;
  }
}
