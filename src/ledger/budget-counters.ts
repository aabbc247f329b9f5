import type { Budget, Caller } from "../contract/index.ts";
import type { BudgetDraw, BudgetFigures, EmbeddedStore, EndedCall, OpenCall } from "../db/index.ts";
import { isCountedBy } from "./budget-draws.ts";
import { accountNotRead } from "./call-records.ts";
import { IdleMap } from "./idle-map.ts";

/** A call that runs, or whose charge is still to be written, and the counters that it counts in. */
export interface LiveCall {
  open: OpenCall;
  /** Absent while it runs. */
  end: EndedCall | undefined;
  readonly counters: BudgetCounter[];
}

/**
 * Counts the spending of a budget in a period, including charges that are not written yet, and the amount held by
 * running calls.
 */
export class BudgetCounter {
  spent = 0;
  held = 0;
  /** Calls that run or whose end is not written. */
  calls = 0;
  /**
   * The account's calls that were looked through when the counter was read; every later call counts in it. Absent: the
   * counter must be read from the store.
   */
  seen: CallsOfAccount | undefined;
  /** Revision of the store when the counter was read. */
  revision = 0;

  isIdle(): boolean {
    return this.calls === 0;
  }
}

/** The budget of a call with the least left. */
export interface ScarcestBudget extends BudgetFigures {
  readonly draw: BudgetDraw;
  readonly left: number;
}

/** The calls of an account that run or whose charge is not written, by their ids. */
export type CallsOfAccount = ReadonlyMap<string, LiveCall>;

/**
 * The budgets of an embedded store, in memory. No other process writes charges, so a counter is read once, together
 * with the running calls of its account, and again after the store was changed: calls from before a budget are only
 * summed up after the budget is made. An idle counter is dropped when others need the room. Each method runs
 * synchronously.
 */
export class BudgetCounters {
  readonly #store: EmbeddedStore;
  readonly #isWriting: () => boolean;
  readonly #counters: IdleMap<BudgetCounter>;

  /**
   * @param isWriting Whether a batch is being written: it is then unknown whether the store already has its charges.
   */
  constructor(store: EmbeddedStore, countersMax: number, isWriting: () => boolean) {
    this.#store = store;
    this.#isWriting = isWriting;
    this.#counters = new IdleMap(countersMax, () => new BudgetCounter());
  }

  /**
   * Returns the counters of the budgets that a call of an account draws on.
   *
   * @throws {GatewayError} `unavailable` when the store cannot be read.
   */
  of(caller: Caller, draws: readonly BudgetDraw[], calls: CallsOfAccount, now: number): BudgetCounter[] {
    return draws.map((draw) => {
      const id = idOf(caller, draw);
      const present = this.#counters.get(id);
      // The session may have been silent for a day in the meantime.
      const isCurrent = draw.sums.sessionAt === undefined || (present !== undefined && present.calls > 0);
      if (isCurrent && present?.seen === calls && present.revision === this.#store.revision) return present;
      const written = this.#read(caller, draw);
      const counter = this.#counters.getOrMake(id, now);
      this.#refresh(counter, { draw, written, calls });
      return counter;
    });
  }

  /** Returns the counters that are in memory already. */
  known(caller: Caller, draws: readonly BudgetDraw[]): BudgetCounter[] {
    return draws.flatMap((draw) => this.#counters.get(idOf(caller, draw)) ?? []);
  }

  #read(caller: Caller, draw: BudgetDraw): number {
    try {
      return (this.#store.readBudgets(caller, [draw])[0] as BudgetFigures).spentNanodollars;
    } catch (error) {
      throw accountNotRead(error);
    }
  }

  #refresh(
    counter: BudgetCounter,
    { draw, written, calls }: { draw: BudgetDraw; written: number; calls: CallsOfAccount },
  ): void {
    counter.spent = written;
    counter.seen = calls;
    counter.revision = this.#store.revision;
    for (const call of calls.values()) {
      if (!isCountedBy(draw, call.open)) continue;
      // A call that began before the budget was made.
      if (!call.counters.includes(counter)) {
        call.counters.push(counter);
        counter.calls += 1;
        if (call.end === undefined) counter.held += call.open.holdNanodollars;
      }
      if (call.end === undefined) continue;
      counter.spent += call.end.chargedNanodollars;
      // A charge that is being written may be both in the store and in memory.
      if (this.#isWriting()) counter.seen = undefined;
    }
  }
}

function idOf({ accountId }: Caller, { sums: { subjectNo, name, from } }: BudgetDraw): string {
  return `${accountId} ${subjectNo} ${from} ${name}`;
}

/**
 * The budgets that the calls of an account have drawn on. A request that was authenticated before a budget was made
 * does not include that budget, but its call counts.
 */
export class KnownBudgets {
  /** Budgets by the key that they are limited to; empty: budgets for all keys. */
  readonly #budgets = new Map<string, Map<string, Budget>>();
  readonly #seen = new Map<string, readonly Budget[]>();

  /** Stores the budgets of a caller, and returns the budgets of its account that the caller does not include. */
  findOthers({ keyId, budgets = none }: Caller): readonly Budget[] {
    if (this.#seen.get(keyId) !== budgets) {
      this.#seen.set(keyId, budgets);
      for (const budget of budgets) {
        const { id, subject, name, keyId: scope = (subject === "key" ? name : undefined) ?? "" } = budget;
        const ofScope = this.#budgets.get(scope);
        if (ofScope === undefined) this.#budgets.set(scope, new Map([[id, budget]]));
        else ofScope.set(id, budget);
      }
    }
    const all = [this.#budgets.get(""), this.#budgets.get(keyId)];
    if (all.reduce((sum, ofScope) => sum + (ofScope?.size ?? 0), 0) === budgets.length) return none;
    const ids = new Set(budgets.map(({ id }) => id));
    return all.flatMap((ofScope) => [...(ofScope?.values() ?? [])].filter(({ id }) => !ids.has(id)));
  }
}

const none: readonly never[] = [];

/** The scarcest budget of a call. */
export function findScarcest(
  draws: readonly BudgetDraw[],
  counters: readonly BudgetCounter[],
): ScarcestBudget | undefined {
  let scarcest: ScarcestBudget | undefined;
  for (const [at, draw] of draws.entries()) {
    const { spent, held: openHolds } = counters[at] as BudgetCounter;
    const left = draw.limitNanodollars - spent - openHolds;
    if (scarcest !== undefined && scarcest.left <= left) continue;
    scarcest = { draw, left, spentNanodollars: spent, heldNanodollars: openHolds };
  }
  return scarcest;
}
