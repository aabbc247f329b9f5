/**
 * Budgets of subjects: what calls may cost that are of one end user, tag, session or model, of a key or of an account. A call draws on
 * each that fits it. What it draws on stands in its row, so that a process that dies, an export and the verification know it.
 *
 * Names that callers make up cost nothing by themselves: only a charge makes a row, and counters that nothing runs under are forgotten.
 */
import type { AdmissionRequest, BudgetSubject, Caller, SubjectBudget, SubjectBudgetState } from "../contract/index.ts";
import { type BudgetDraw, type BudgetFigures, type EmbeddedStore, endOfPeriod, startOfPeriod } from "../db/index.ts";
import { accountNotRead } from "./call-records.ts";
import { IdleMap } from "./idle-map.ts";

/** The budgets that a call draws on; undefined where there is none, which is most. */
export function findDraws(
  admission: Pick<AdmissionRequest, "premium" | "caller" | "model" | "session" | "tag" | "endUser">,
  now: number,
): BudgetDraw[] | undefined {
  const { premium, caller } = admission;
  if (!premium || caller.budgets === undefined) return undefined;
  const names = namesOf(admission);
  const named = caller.budgets.filter(({ subject, name }) => name !== undefined && name === names[subject]);
  // A subject that has budgets of its own is not one of each.
  const isNamed = ({ subject, keyId }: SubjectBudget) =>
    named.some((one) => one.subject === subject && one.keyId === keyId);
  const others = caller.budgets.filter((budget) => budget.name === undefined && !isNamed(budget));
  const draws = [...named, ...others].map((budget) => toDraw(budget, names[budget.subject], now));
  return draws.length === 0 ? undefined : draws;
}

/** Those of a caller whose subject is known without a call: its account, its key, and what a budget names. */
export function findKnownDraws(caller: Caller, now: number): BudgetDraw[] {
  const { account, key } = namesOf({ caller });
  return (caller.budgets ?? []).flatMap((budget) => {
    const name = budget.subject === "account" ? account : (budget.name ?? (budget.subject === "key" ? key : undefined));
    return name === undefined ? [] : [toDraw(budget, name, now)];
  });
}

/** The subjects of a call. A name that it leaves out is a subject of its own, so that leaving it out is no way around a budget. */
function namesOf({
  caller,
  model = "",
  session = "",
  tag = "",
  endUser = "",
}: Pick<AdmissionRequest, "caller"> & Partial<AdmissionRequest>): Record<BudgetSubject, string> {
  return { account: "", key: caller.keyId, end_user: endUser, tag, session, model };
}

function toDraw(budget: SubjectBudget, name: string, now: number): BudgetDraw {
  const { id, period, limitNanodollars, raise } = budget;
  const periodStart = startOfPeriod(now, period);
  const raised = raise !== undefined && now < raise.until ? raise.nanodollars : 0;
  return {
    budget,
    name,
    periodStart,
    text: JSON.stringify([id, name, periodStart]),
    limitNanodollars: Math.min(Number.MAX_SAFE_INTEGER, limitNanodollars + raised),
  };
}

export function toSubjectState(
  { budget, periodStart, limitNanodollars }: BudgetDraw,
  { spentNanodollars, heldNanodollars }: BudgetFigures,
): SubjectBudgetState {
  const resetsAt = budget.period === "lifetime" ? undefined : endOfPeriod(periodStart, budget.period);
  return { budget, limitNanodollars, spentNanodollars, heldNanodollars, resetsAt };
}

/** The budget that has the least left of those that a call draws on. */
export interface ScarcestBudget extends BudgetFigures {
  readonly draw: BudgetDraw;
  readonly left: number;
}

/** Charges of a subject in a period, also those that are not written yet, and holds of its running calls. */
class SubjectCounter {
  spent = 0;
  held = 0;
  /** Calls whose end is not written. */
  calls = 0;

  isIdle(): boolean {
    return this.calls === 0;
  }
}

/**
 * The budgets of subjects of an embedded store, in memory. Nobody else writes them, so that a counter is read once, when its subject has
 * no call whose end is still to be written, and kept until there is none again. Each method runs in one go.
 */
export class SubjectCounters {
  readonly #store: EmbeddedStore;
  readonly #counters: IdleMap<SubjectCounter>;

  constructor(store: EmbeddedStore, countersMax: number) {
    this.#store = store;
    this.#counters = new IdleMap(countersMax, () => new SubjectCounter());
  }

  /** @throws {GatewayError} `unavailable` when the store cannot be read. */
  read(accountId: string, draw: BudgetDraw): BudgetFigures {
    const counter = this.#counters.get(draw.text);
    if (counter !== undefined) return { spentNanodollars: counter.spent, heldNanodollars: counter.held };
    try {
      return this.#store.readBudgets(accountId, [draw])[0] as BudgetFigures;
    } catch (error) {
      throw accountNotRead(error);
    }
  }

  /** Counts a call in, which keeps its counters. @throws {GatewayError} As {@link read}; nothing is counted then. */
  enter(accountId: string, draws: readonly BudgetDraw[], now: number): void {
    const figures = draws.map((draw) => this.read(accountId, draw));
    for (const [at, { text }] of draws.entries()) {
      const counter = this.#counters.getOrMake(text, now);
      if (counter.calls === 0) counter.spent = (figures[at] as BudgetFigures).spentNanodollars;
      counter.calls += 1;
    }
  }

  /** The end of a call is written, or it was not admitted. */
  leave(draws: readonly BudgetDraw[]): void {
    for (const counter of this.#of(draws)) counter.calls -= 1;
  }

  addHold(draws: readonly BudgetDraw[], nanodollars: number): void {
    for (const counter of this.#of(draws)) counter.held += nanodollars;
  }

  addCharge(draws: readonly BudgetDraw[], nanodollars: number): void {
    for (const counter of this.#of(draws)) counter.spent += nanodollars;
  }

  /** The scarcest budget of a call that was counted in. */
  findScarcest(draws: readonly BudgetDraw[]): ScarcestBudget {
    const all = draws.map((draw) => {
      const { spent, held: openHolds } = this.#counters.get(draw.text) as SubjectCounter;
      const available = draw.limitNanodollars - spent - openHolds;
      return { draw, left: available, spentNanodollars: spent, heldNanodollars: openHolds };
    });
    return all.reduce((scarcest, one) => (one.left < scarcest.left ? one : scarcest));
  }

  #of(draws: readonly BudgetDraw[]): SubjectCounter[] {
    return draws.map(({ text }) => this.#counters.get(text) as SubjectCounter);
  }
}
