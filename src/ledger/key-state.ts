import type { BudgetPeriod, BudgetState } from "../contract/index.ts";
import { type BudgetBalance, endOfPeriod } from "../db/index.ts";
import type { Held } from "./call-record.ts";

/** What a call asks the budgets of its key and its account for. */
export interface BudgetsAsked {
  readonly key?: { readonly keyId: string; readonly period: BudgetPeriod } | undefined;
  readonly account?: BudgetPeriod | undefined;
}

/** What is charged for premium calls of an account that began since a day. */
export interface Spent {
  readonly since: number;
  nanodollars: number;
  revision: number | undefined;
}

/** What a key with a budget has spent and holds of it, in memory. A period is named by its first day. */
export class KeyState {
  /** Never goes back, so that a clock that does mints no budget. */
  #periodStart = 0;
  #period: BudgetPeriod = "month";
  #resetsAt = 0;
  #spent = 0;
  #held = 0;
  #unwritten = 0;
  #openCalls = 0;
  /** The store's revision at which the budget was last read; absent before the first time. */
  revision: number | undefined;

  /** Whether the budget as it is known holds for this moment. */
  knowsBudget(revision: number, now: number, period: BudgetPeriod): boolean {
    return this.revision === revision && now < this.#resetsAt && period === this.#period;
  }

  /** Takes over the written figures and keeps what is not written yet. */
  refresh(balance: BudgetBalance, thisPeriod: number, period: BudgetPeriod): void {
    this.turnTo(balance.periodStart === undefined ? thisPeriod : Math.max(thisPeriod, balance.periodStart), period);
    this.#spent = this.#unwritten + (balance.periodStart === this.#periodStart ? balance.spentNanodollars : 0);
  }

  /** Begins a new period's budget; holds and unwritten charges of an older one no longer count. */
  turnTo(periodStart: number, period: BudgetPeriod): void {
    this.#period = period;
    this.#resetsAt = endOfPeriod(Math.max(periodStart, this.#periodStart), period);
    if (periodStart <= this.#periodStart) return;
    this.#periodStart = periodStart;
    this.#spent = 0;
    this.#held = 0;
    this.#unwritten = 0;
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
  release(held: Held): void {
    this.#removeHold(held);
    this.#openCalls -= 1;
  }

  /** Takes back a {@link release}. */
  restore({ periodStart, holdNanodollars }: Held): void {
    if (periodStart === this.#periodStart) this.#held += holdNanodollars;
    this.#openCalls += 1;
  }

  /** Turns a hold into a charge that is still to be written. */
  charge(held: Held, nanodollars: number): void {
    this.#removeHold(held);
    if (held.periodStart !== this.#periodStart) return;
    this.#spent += nanodollars;
    this.#unwritten += nanodollars;
  }

  /** The charge of a call is written. */
  written(periodStart: number | null, nanodollars: number): void {
    if (periodStart === this.#periodStart) this.#unwritten -= nanodollars;
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

  #removeHold({ periodStart, holdNanodollars }: Held): void {
    if (periodStart === this.#periodStart) this.#held -= holdNanodollars;
  }
}
