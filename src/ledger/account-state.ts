import type { AccountBudget, AdmissionRequest, BudgetState, QuotaState, WalletState } from "../contract/index.ts";
import {
  type AccountBalance,
  type BudgetBalance,
  type CallEnded,
  type CallOpened,
  dayOf,
  endOfPeriod,
  startOfDay,
  startOfPeriod,
} from "../db/index.ts";
import { getBudgetLimit, type Held, type Taken } from "./call-record.ts";
import { IdleMap } from "./idle-map.ts";
import { type BudgetsAsked, KeyState, type Spent } from "./key-state.ts";
import { balanceExceeded, budgetExceeded, quotaExceeded } from "./limit-errors.ts";

/** Keys per account above which idle ones are evicted. */
const keysMax = 1000;

/**
 * Wallet, budgets and free quota of one account of an embedded store, in memory: what is written, what is held, and what
 * is charged but not yet written. Each method runs in one go, which is what makes admission atomic.
 */
export class AccountState {
  #balance = 0;
  #held = 0;
  /** Never goes back, so that a clock that does mints no quota. */
  #day = 0;
  #usedTokens = 0;
  #heldTokens = 0;
  #unwritten = 0;
  #unwrittenTokens = 0;
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
    this.#balance = balance.balanceNanodollars - this.#unwritten;
    this.turnTo(balance.quotaDay === undefined ? today : Math.max(today, balance.quotaDay));
    this.#usedTokens = this.#unwrittenTokens + (balance.quotaDay === this.#day ? balance.usedTokens : 0);
  }

  /** Begins a new day's quota; holds and unwritten draws of an older day no longer count. */
  turnTo(day: number): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#usedTokens = 0;
    this.#heldTokens = 0;
    this.#unwrittenTokens = 0;
  }

  /**
   * Takes a call's hold, or nothing.
   *
   * @throws {GatewayError} Naming what does not suffice.
   */
  take(admission: AdmissionRequest, now: number): Taken {
    const held = admission.premium ? this.#holdMoney(admission, now) : this.#holdQuota(admission, now);
    this.#openCalls += 1;
    return held;
  }

  /**
   * Takes a larger hold in place of that of a running call, or leaves it as it is. After midnight all of it is of the new
   * day or period, whose quota or budget then pays.
   *
   * @throws {GatewayError} Naming what does not suffice.
   */
  extend(open: CallOpened, admission: AdmissionRequest, now: number): Taken {
    const key = this.#budgetOf(open);
    this.release(open);
    try {
      return this.take(admission, now);
    } catch (error) {
      this.#addHold(open, 1);
      this.#openCalls += 1;
      key?.restore(open);
      throw error;
    }
  }

  /** Gives back all that {@link take} took, as if the call had never come. */
  release(open: CallOpened): void {
    this.#addHold(open, -1);
    this.#openCalls -= 1;
    this.#budgetOf(open)?.release(open);
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(open: CallOpened, { chargedNanodollars: nanodollars, quotaTokens }: CallEnded): void {
    this.#budgetOf(open)?.charge(open, nanodollars);
    this.#addHold(open, -1);
    this.#balance -= nanodollars;
    this.#unwritten += nanodollars;
    if (this.#spent !== undefined && dayOf(open.openedAt) >= this.#spent.since) this.#spent.nanodollars += nanodollars;
    if (open.quotaDay !== this.#day) return;
    this.#usedTokens += quotaTokens;
    this.#unwrittenTokens += quotaTokens;
  }

  /** The charge of a call is written. */
  written({ open, chargedNanodollars, quotaTokens }: CallEnded): void {
    this.#budgetOf(open)?.written(open.periodStart, chargedNanodollars);
    this.#unwritten -= chargedNanodollars;
    if (open.quotaDay === this.#day) this.#unwrittenTokens -= quotaTokens;
    this.#openCalls -= 1;
  }

  /** Makes the account and the key be read again, because it is uncertain whether the call was written. */
  invalidate(open: CallOpened): void {
    this.revision = undefined;
    if (this.#spent !== undefined) this.#spent.revision = undefined;
    const key = this.#budgetOf(open);
    if (key !== undefined) key.revision = undefined;
  }

  /** Whether the budget of a key as it is known holds for this moment. */
  knowsBudget({ keyId, period }: NonNullable<BudgetsAsked["key"]>, revision: number, now: number): boolean {
    return this.#keys?.get(keyId)?.knowsBudget(revision, now, period) === true;
  }

  /** Begins a new period for a key; `false` when nothing is known of its budget. */
  turnBudget({ keyId, period }: NonNullable<BudgetsAsked["key"]>, now: number): boolean {
    const key = this.#keys?.get(keyId);
    if (key?.revision === undefined) return false;
    key.turnTo(startOfPeriod(now, period), period);
    return true;
  }

  /** Takes over what is written of a key's budget. */
  refreshBudget(
    { keyId, period }: NonNullable<BudgetsAsked["key"]>,
    balance: BudgetBalance,
    at: { revision: number; now: number },
  ): void {
    const key = this.#keyOf(keyId, at.now);
    key.refresh(balance, startOfPeriod(at.now, period), period);
    key.revision = at.revision;
  }

  /**
   * Makes known what is spent since a day. What is charged and not written may be written while it is read: then it counts
   * twice, and is read again at the next occasion.
   */
  refreshSpent(since: number, revision: number, read: () => number): void {
    if (this.#spent?.since === since && this.#spent.revision === revision) return;
    const isSettled = this.#unwritten === 0;
    this.#spent = { since, nanodollars: read() + this.#unwritten, revision: isSettled ? revision : undefined };
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
  #budgetOf({ periodStart, keyId }: CallOpened): KeyState | undefined {
    return periodStart === null ? undefined : this.#keys?.get(keyId);
  }

  #holdMoney(admission: AdmissionRequest, now: number): Taken {
    const available = this.#balance - this.#held;
    const limit = getBudgetLimit(admission);
    const key = limit === undefined ? undefined : this.#keyOf(admission.caller.keyId, now);
    const inBudget = key === undefined || limit === undefined ? available : key.available(limit);
    const ofAccount = admission.caller.accountBudget && this.accountBudget(admission.caller.accountBudget);
    const inAccount = ofAccount === undefined ? available : toLeft(ofAccount);
    const left = Math.min(available, inBudget, inAccount);
    const holdNanodollars = Math.min(left, admission.holdNanodollars);
    if (left <= 0 || holdNanodollars < admission.minNanodollars) {
      const isScarce = (part: number) => part <= 0 || part < available;
      if (key !== undefined && limit !== undefined && isScarce(inBudget) && (!ofAccount || inBudget <= inAccount)) {
        throw budgetExceeded(admission, key.budget(limit), now);
      }
      if (ofAccount !== undefined && isScarce(inAccount)) throw budgetExceeded(admission, ofAccount, now, "account");
      throw balanceExceeded(admission, this.wallet());
    }
    this.#held += holdNanodollars;
    const periodStart = key === undefined ? null : key.take(holdNanodollars);
    return { quotaDay: null, holdNanodollars, holdTokens: 0, periodStart, available: left };
  }

  #holdQuota(admission: AdmissionRequest, now: number): Taken {
    const limit = admission.caller.freeTokensPerDay;
    const held = this.#heldTokens;
    const available = limit - this.#usedTokens - held;
    const holdTokens = Math.min(available, admission.holdTokens);
    if (available <= 0 || holdTokens < admission.minTokens) throw quotaExceeded(admission, this.quota(limit), now);
    this.#heldTokens += holdTokens;
    return { quotaDay: this.#day, holdNanodollars: 0, holdTokens, periodStart: null, available };
  }

  #addHold(held: Held, sign: 1 | -1): void {
    this.#held += sign * held.holdNanodollars;
    if (held.quotaDay === this.#day) this.#heldTokens += sign * held.holdTokens;
  }
}

/** What is neither spent nor held of a budget. */
function toLeft({ limitNanodollars, spentNanodollars, heldNanodollars }: BudgetState): number {
  return limitNanodollars - spentNanodollars - heldNanodollars;
}
