import type { BoundsState, Caller, Claim, LimitState, QuotaState, WalletState } from "../contract/index.ts";
import type { BudgetFunds, EndWrite, Funds, OpenWrite } from "../store/index.ts";
import { AccountLimits } from "./account-limits.ts";
import { startOfDay } from "./day.ts";
import { budgetOf, KeyBook } from "./key-book.ts";
import { narrowerCalls } from "./narrower-calls.ts";
import { balanceExceeded, budgetExceeded, callsExceeded, quotaExceeded } from "./refusals.ts";

/** What a call takes from its account while it runs. */
export type Taken = Pick<OpenWrite, "quotaDay" | "holdNanodollars" | "holdTokens" | "budgetMonth" | "partial">;

/** Keys of an account beside which idle ones are forgotten. */
const keysEnough = 1000;

/**
 * One account in memory: what is written of it, what is held, and what is charged but not yet written. Each method
 * runs in one go, which is what makes admission atomic.
 */
export class AccountBook {
  readonly #limits = new AccountLimits();
  #balance = 0;
  #held = 0;
  /** Never goes back, so that a clock that does mints no quota. */
  #day = 0;
  #usedTokens = 0;
  #heldTokens = 0;
  #unwritten = 0;
  #unwrittenTokens = 0;
  #openCalls = 0;
  /** Held by other processes when the store was last read; 0 where there are none. */
  #othersHeld = 0;
  #othersHeldTokens = 0;
  /** Running calls that hold less than they may cost: one of each kind at a time, of this and other processes. */
  #partials = 0;
  #partialDraws = 0;
  #othersPartial = false;
  #othersPartialDraw = false;
  /** Keys that have bounds of their own; absent while none was seen. */
  #keys: Map<string, KeyBook> | undefined;
  /** The store's revision that was last read; absent before the first. */
  revision: number | undefined;

  get day(): number {
    return this.#day;
  }

  /** Takes over what is written, beside what is still on its way there. */
  refresh(funds: Funds, today: number): void {
    this.#balance = funds.balanceNanodollars - this.#unwritten;
    this.turnTo(funds.quotaDay === undefined ? today : Math.max(today, funds.quotaDay));
    this.#usedTokens = this.#unwrittenTokens + (funds.quotaDay === this.#day ? funds.usedTokens : 0);
    if (funds.others === undefined) return;
    this.#othersHeld = funds.others.nanodollars;
    this.#othersHeldTokens = funds.others.tokens;
    this.#othersPartial = funds.others.isPartial;
    this.#othersPartialDraw = funds.others.isPartialDraw;
  }

  /** Begins a new day's quota; holds and unwritten draws of an older day no longer count. */
  turnTo(day: number): void {
    if (day <= this.#day) return;
    this.#day = day;
    this.#usedTokens = 0;
    this.#heldTokens = 0;
    this.#othersHeldTokens = 0;
    this.#partialDraws = 0;
    this.#othersPartialDraw = false;
    this.#unwrittenTokens = 0;
  }

  /**
   * Takes a call's holds, or nothing.
   *
   * @throws {GatewayError} Naming the one limit that blocks.
   */
  take(claim: Claim, now: number): Taken {
    const { limits, own } = claim.caller;
    const key = own === undefined ? undefined : this.#keyOf(claim.caller.keyId, now);
    if (own !== undefined) key?.check(claim, own, now);
    this.#limits.check(claim, now);
    const most = limits.concurrentCalls;
    if (most !== undefined && this.#openCalls >= most) throw callsExceeded(most);
    const taken = claim.premium ? this.#takeMoney(claim, key, now) : this.#takeQuota(claim, now);
    this.#limits.add(1, claim.limitTokens, limits, now);
    this.#openCalls += 1;
    if (own === undefined || key === undefined) return taken;
    const budgetMonth = key.take(claim, own, { holdNanodollars: taken.holdNanodollars, now });
    return { ...taken, budgetMonth };
  }

  /** Gives back all that {@link take} took, as if the call had never come. */
  undo(claim: Claim, taken: Taken, now: number): void {
    this.#limits.add(-1, -claim.limitTokens, claim.caller.limits, now);
    this.#giveBack(taken);
    this.#openCalls -= 1;
    this.#keyIn(claim)?.undo(claim, taken, now);
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(claim: Claim, taken: Taken, { chargedNanodollars: nanodollars, quotaTokens }: EndWrite): void {
    this.#keyIn(claim)?.charge(taken, nanodollars);
    this.#giveBack(taken);
    this.#balance -= nanodollars;
    this.#unwritten += nanodollars;
    if (taken.quotaDay !== this.#day) return;
    this.#usedTokens += quotaTokens;
    this.#unwrittenTokens += quotaTokens;
  }

  /** The charge of a call is written. */
  written(claim: Claim, { open, chargedNanodollars, quotaTokens }: EndWrite): void {
    const { quotaDay, budgetMonth } = open;
    this.#keyIn(claim)?.written(budgetMonth, chargedNanodollars);
    this.#unwritten -= chargedNanodollars;
    if (quotaDay === this.#day) this.#unwrittenTokens -= quotaTokens;
    this.#openCalls -= 1;
  }

  /** Counts the tokens that came beyond those counted at admission; the account may go into debt by them. */
  countTokens(tokens: number, { caller }: Claim, now: number): void {
    this.#limits.add(0, tokens, caller.limits, now);
    if (caller.own !== undefined) this.#keys?.get(caller.keyId)?.countTokens(tokens, caller.own, now);
  }

  /** It is not certain what is written of this call, so that what is known of the account and its key is read anew. */
  doubt(claim: Claim): void {
    this.revision = undefined;
    const key = this.#keyIn(claim);
    if (key !== undefined) key.revision = undefined;
  }

  /** Whether the budget of a key as it is known holds for this moment. */
  knowsBudget(keyId: string, revision: number, now: number): boolean {
    return this.#keys?.get(keyId)?.knowsBudget(revision, now) === true;
  }

  /** Begins a new month for a key; `false` when nothing is known of its budget. */
  turnBudget(keyId: string, month: number): boolean {
    const key = this.#keys?.get(keyId);
    if (key?.revision === undefined) return false;
    key.turnTo(month);
    return true;
  }

  /** Takes over what is written of a key's budget. */
  refreshBudget(keyId: string, funds: BudgetFunds, read: { month: number; revision: number; now: number }): void {
    const key = this.#keyOf(keyId, read.now);
    key.refresh(funds, read.month);
    key.revision = read.revision;
  }

  /** Whether forgetting this account loses nothing. */
  isIdle(now: number): boolean {
    return this.#openCalls === 0 && this.#limits.isEmpty(now);
  }

  wallet(): WalletState {
    return { balanceNanodollars: this.#balance, heldNanodollars: this.#held + this.#othersHeld };
  }

  quota(limitTokens: number): QuotaState {
    const resetsAt = startOfDay(this.#day + 1);
    return {
      limitTokens,
      usedTokens: this.#usedTokens,
      heldTokens: this.#heldTokens + this.#othersHeldTokens,
      resetsAt,
    };
  }

  limitState({ limits, own, keyId }: Caller, now: number): LimitState {
    const state = this.#limits.state(limits, now);
    return own === undefined ? state : this.#keyOf(keyId, now).narrow(state, own, now);
  }

  bounds({ limits, own, keyId }: Caller, now: number): BoundsState {
    const calls = { limit: limits.concurrentCalls, running: this.#openCalls };
    if (own === undefined) return { calls };
    const key = this.#keyOf(keyId, now);
    const { budgetNanodollars } = own;
    return {
      calls: narrowerCalls(calls, { limit: own.concurrentCalls, running: key.running }),
      budget: budgetNanodollars === undefined ? undefined : key.budget(budgetNanodollars),
    };
  }

  #keyOf(keyId: string, now: number): KeyBook {
    this.#keys ??= new Map();
    let key = this.#keys.get(keyId);
    if (key !== undefined) return key;
    if (this.#keys.size >= keysEnough) for (const [id, old] of this.#keys) if (old.isIdle(now)) this.#keys.delete(id);
    key = new KeyBook();
    this.#keys.set(keyId, key);
    return key;
  }

  /** That of a call that was let in with bounds of its key. */
  #keyIn({ caller }: Claim): KeyBook | undefined {
    return caller.own === undefined ? undefined : this.#keys?.get(caller.keyId);
  }

  #takeMoney(claim: Claim, key: KeyBook | undefined, now: number): Taken {
    const held = this.#held + this.#othersHeld;
    const available = this.#balance - held;
    if (available <= 0) throw balanceExceeded(claim.model, this.#balance, held);
    const budget = budgetOf(claim);
    const inBudget = key === undefined || budget === undefined ? available : key.available(budget);
    const holdNanodollars = Math.min(available, inBudget, claim.holdNanodollars);
    const partial = holdNanodollars < claim.holdNanodollars;
    if (partial && (this.#partials > 0 || this.#othersPartial)) {
      if (inBudget < available && key !== undefined) throw budgetExceeded(key.budget(budget as number), now);
      throw balanceExceeded(claim.model, this.#balance, held);
    }
    if (partial) this.#partials += 1;
    this.#held += holdNanodollars;
    return { quotaDay: null, holdNanodollars, holdTokens: 0, budgetMonth: null, partial };
  }

  #takeQuota(claim: Claim, now: number): Taken {
    const limit = claim.caller.freeTokensPerDay;
    const held = this.#heldTokens + this.#othersHeldTokens;
    const available = limit - this.#usedTokens - held;
    const holdTokens = Math.min(available, claim.holdTokens);
    const partial = holdTokens < claim.holdTokens;
    if (available <= 0 || (partial && (this.#partialDraws > 0 || this.#othersPartialDraw))) {
      throw quotaExceeded({ limit, used: this.#usedTokens, held }, startOfDay(this.#day + 1), now);
    }
    if (partial) this.#partialDraws += 1;
    this.#heldTokens += holdTokens;
    return { quotaDay: this.#day, holdNanodollars: 0, holdTokens, budgetMonth: null, partial };
  }

  #giveBack(taken: Taken): void {
    this.#held -= taken.holdNanodollars;
    if (taken.partial && taken.quotaDay === null) this.#partials -= 1;
    if (taken.quotaDay !== this.#day) return;
    this.#heldTokens -= taken.holdTokens;
    if (taken.partial) this.#partialDraws -= 1;
  }
}
