/**
 * The budgets that a call draws on: those for its account, its key and its names. Spending is counted by day, whether
 * or not a budget exists yet, so any period is a sum of days. A call counts on the day when it began.
 */
import type { AdmissionRequest, Budget, BudgetState, BudgetSubject, Caller } from "../contract/index.ts";
import {
  type BudgetDraw,
  type BudgetFigures,
  dayOf,
  daysOfPeriod,
  endOfPeriod,
  namesOf,
  type OpenCall,
  toPayerNumber,
} from "../db/index.ts";

const none: readonly never[] = [];

/** The draws of callers without budgets by name; these are the same all day. */
const drawsOfDay = new WeakMap<
  Caller,
  { readonly day: number; readonly today: number; readonly draws: readonly BudgetDraw[] }
>();

/** Returns the budgets that a premium call draws on; usually none. */
export function findDraws(
  admission: AdmissionRequest,
  budgets: readonly Budget[] | undefined,
  now: number,
): readonly BudgetDraw[] {
  if (budgets === undefined || budgets.length === 0) return none;
  const { caller, openedAt } = admission;
  if (budgets !== caller.budgets || budgets.some(dependsOnCall)) return drawsOf(admission, budgets, now);
  const [day, today] = [dayOf(openedAt), dayOf(now)];
  const entry = drawsOfDay.get(caller);
  if (entry?.day === day && entry.today === today) return entry.draws;
  const draws = drawsOf(admission, budgets, now);
  drawsOfDay.set(caller, { day, today, draws });
  return draws;
}

/** Whether the draw on a budget depends on more than the caller and the day. */
function dependsOnCall({ subject, raise }: Budget): boolean {
  return raise !== undefined || !(isOfAccount(subject) || subject === "key");
}

function drawsOf(admission: AdmissionRequest, budgets: readonly Budget[], now: number): readonly BudgetDraw[] {
  const { caller, openedAt } = admission;
  const names = namesOf({ ...admission, keyId: caller.keyId });
  const named = budgets.filter(({ subject, name }) => name !== undefined && name === names[subject]);
  // Budgets for a specific subject replace budgets for every subject.
  const isNamed = ({ subject, keyId, isOfGateway }: Budget) =>
    named.some((one) => one.subject === subject && one.keyId === keyId && one.isOfGateway === isOfGateway);
  const others = budgets.filter((budget) => budget.name === undefined && !isNamed(budget));
  return [...named, ...others].map((budget) => toDraw(caller, budget, names[budget.subject], { at: openedAt, now }));
}

/**
 * Returns the budgets of a caller with a subject that is certain without a call: the account, the key, or a name set in
 * the budget.
 */
export function findKnownDraws(caller: Caller, now: number): BudgetDraw[] {
  return (caller.budgets ?? []).flatMap((budget) => {
    const { subject } = budget;
    const name = isOfAccount(subject) ? "" : (budget.name ?? (subject === "key" ? caller.keyId : undefined));
    return name === undefined ? [] : [toDraw(caller, budget, name, { at: now, now })];
  });
}

/** @param time `at`: when the call began, which decides the period; `now`: the moment of the figures. */
function toDraw(
  { accountId }: Caller,
  budget: Budget,
  name: string,
  { at, now }: { at: number; now: number },
): BudgetDraw {
  const { id, subject, period, limitNanodollars, raise } = budget;
  const raised = raise !== undefined && now < raise.until ? raise.nanodollars : 0;
  const owner = isOfAccount(subject) ? accountId : subject === "key" ? name : id;
  const days = { ...daysOfPeriod(at, period), today: dayOf(now) };
  const sums = { subjectNo: toPayerNumber(owner), name: owner === id ? name : "", ...days };
  return {
    budget,
    name,
    sums: period === "session" ? { ...sums, sessionAt: at } : sums,
    limitNanodollars: Math.min(Number.MAX_SAFE_INTEGER, limitNanodollars + raised),
  };
}

function isOfAccount(subject: BudgetSubject): boolean {
  return subject === "account" || subject === "team";
}

/** Whether a call counts for a budget in the period of a draw. */
export function isCountedBy({ budget, name, sums }: BudgetDraw, open: OpenCall): boolean {
  const day = dayOf(open.openedAt);
  return (
    open.premium &&
    day >= sums.from &&
    (day < sums.until || day > sums.today) &&
    namesOf(open)[budget.subject] === name &&
    (budget.keyId === undefined || budget.keyId === open.keyId)
  );
}

export function toBudgetState(
  { budget, sums, limitNanodollars }: BudgetDraw,
  { spentNanodollars, heldNanodollars }: BudgetFigures,
): BudgetState {
  const { period } = budget;
  const resetsAt = period === "lifetime" || period === "session" ? undefined : endOfPeriod(sums.from, period);
  return { budget, limitNanodollars, spentNanodollars, heldNanodollars, resetsAt };
}
