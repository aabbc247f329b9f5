import type { BudgetState, Caller, Claim, KeyBounds, LimitState } from "../contract/index.ts";
import { type BudgetFunds, endOfMonth } from "../store/index.ts";
import { KeyLimits } from "./key-limits.ts";
import { budgetExceeded, callsExceeded } from "./refusals.ts";

/** What a key with bounds of its own has used of them, in memory. Keys without have none of this. */
export class KeyBook {
  readonly #limits = new KeyLimits();
  /** Its first day. Never goes back, so that a clock that does mints no budget. */
  #month = 0;
  #resetsAt = 0;
  #spent = 0;
  #held = 0;
  #unwritten = 0;
  #othersHeld = 0;
  #openCalls = 0;
  /** The store's revision at which the budget was last read; absent before the first time. */
  revision: number | undefined;

  get running(): number {
    return this.#openCalls;
  }

  /** Whether the budget as it is known holds for this moment. */
  knowsBudget(revision: number, now: number): boolean {
    return this.revision === revision && now < this.#resetsAt;
  }

  /** Takes over what is written of the budget, beside what is still on its way there. */
  refresh(funds: BudgetFunds, thisMonth: number): void {
    this.turnTo(funds.month === undefined ? thisMonth : Math.max(thisMonth, funds.month));
    this.#spent = this.#unwritten + (funds.month === this.#month ? funds.spentNanodollars : 0);
    this.#othersHeld = funds.othersNanodollars;
  }

  /** Begins a new month's budget; holds and unwritten charges of an older one no longer count. */
  turnTo(month: number): void {
    if (month <= this.#month) return;
    this.#month = month;
    this.#resetsAt = endOfMonth(month);
    this.#spent = 0;
    this.#held = 0;
    this.#othersHeld = 0;
    this.#unwritten = 0;
  }

  /** @throws {GatewayError} Naming the one bound of the key that blocks. */
  check(claim: Claim, own: KeyBounds, now: number): void {
    const budget = budgetOf(claim);
    if (budget !== undefined && this.available(budget) <= 0) {
      throw budgetExceeded(this.budget(budget), now);
    }
    this.#limits.check(claim, own, now);
    const most = own.concurrentCalls;
    if (most !== undefined && this.#openCalls >= most) throw callsExceeded(most, "key");
  }

  /** What of the budget is neither spent nor held. */
  available(budgetNanodollars: number): number {
    return budgetNanodollars - this.#spent - this.#held - this.#othersHeld;
  }

  /** Counts a call that was let in; returns the month whose budget pays, `null` where none does. */
  take(
    claim: Claim,
    own: KeyBounds,
    { holdNanodollars, now }: { holdNanodollars: number; now: number },
  ): number | null {
    this.#limits.add(1, claim.limitTokens, own, now);
    this.#openCalls += 1;
    if (budgetOf(claim) === undefined) return null;
    this.#held += holdNanodollars;
    return this.#month;
  }

  /** Gives back what {@link take} took, as if the call had never come. */
  undo(claim: Claim, taken: BudgetTaken, now: number): void {
    if (claim.caller.own !== undefined) this.#limits.add(-1, -claim.limitTokens, claim.caller.own, now);
    this.#giveBack(taken);
    this.#openCalls -= 1;
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(taken: BudgetTaken, nanodollars: number): void {
    this.#giveBack(taken);
    if (taken.budgetMonth !== this.#month) return;
    this.#spent += nanodollars;
    this.#unwritten += nanodollars;
  }

  /** The charge of a call is written. */
  written(budgetMonth: number | null, nanodollars: number): void {
    if (budgetMonth === this.#month) this.#unwritten -= nanodollars;
    this.#openCalls -= 1;
  }

  /** Counts the tokens that came beyond those counted at admission. */
  countTokens(tokens: number, own: KeyBounds, now: number): void {
    this.#limits.add(0, tokens, own, now);
  }

  isIdle(now: number): boolean {
    return this.#openCalls === 0 && this.#limits.isEmpty(now);
  }

  budget(limitNanodollars: number): BudgetState {
    return {
      limitNanodollars,
      spentNanodollars: this.#spent,
      heldNanodollars: this.#held + this.#othersHeld,
      resetsAt: this.#resetsAt,
    };
  }

  narrow(limits: LimitState, own: KeyBounds, now: number): LimitState {
    return this.#limits.narrow(limits, own, now);
  }

  #giveBack({ budgetMonth, holdNanodollars }: BudgetTaken): void {
    if (budgetMonth === this.#month) this.#held -= holdNanodollars;
  }
}

/** What a call took of its key's budget. */
interface BudgetTaken {
  budgetMonth: number | null;
  holdNanodollars: number;
}

/** The budget that a call draws on; absent where none does. */
export function budgetOf({ premium, caller }: { premium: boolean; caller: Caller }): number | undefined {
  return premium ? caller.own?.budgetNanodollars : undefined;
}
