import type { BoundsState, Caller } from "../../contract/index.ts";
import { endOfMonth, monthOf } from "../../store/index.ts";
import { dayOf } from "../day.ts";
import { narrowerCalls } from "../narrower-calls.ts";
import type { Written } from "./read-written.ts";

/** An account as admission sees it. */
export interface Figures {
  balanceNanodollars: number;
  heldNanodollars: number;
  /** Days since 1970. */
  day: number;
  usedTokens: number;
  heldTokens: number;
  /** Calls of the account that run. */
  running: number;
}

/** Whether a running call holds less money, or fewer tokens of a day, than it may cost. */
export function hasPartial({ open }: Written, day: number | null): boolean {
  return open.some((hold) => hold.partial && hold.day === day);
}

/** A key's budget and calls as admission sees them. */
export interface KeyFigures {
  /** Named by its first day. */
  month: number;
  spentNanodollars: number;
  heldNanodollars: number;
  running: number;
}

/** Counts what is written; the day never goes back, so that a clock that does mints no quota. */
export function figuresOf(written: Written, now: number): Figures {
  const { balanceNanodollars, quotaDay, usedTokens, open } = written;
  const day = Math.max(dayOf(now), quotaDay === undefined ? 0 : quotaDay);
  let [heldNanodollars, heldTokens] = [0, 0];
  for (const hold of open) {
    heldNanodollars += hold.nanodollars;
    if (hold.day === day) heldTokens += hold.tokens;
  }
  return {
    balanceNanodollars,
    heldNanodollars,
    day,
    usedTokens: quotaDay === day ? usedTokens : 0,
    heldTokens,
    running: open.length,
  };
}

/** Likewise of a key; its month never goes back behind one in which it paid or holds something. */
export function keyFiguresOf({ budgets, open }: Written, keyId: string, now: number): KeyFigures {
  const holds = open.filter((hold) => hold.keyId === keyId);
  const paid = budgets.get(keyId);
  const month = Math.max(monthOf(now), paid?.month ?? 0, ...holds.map((hold) => hold.budgetMonth ?? 0));
  const ofMonth = holds.filter((hold) => hold.budgetMonth === month);
  return {
    month,
    spentNanodollars: paid?.month === month ? paid.nanodollars : 0,
    heldNanodollars: ofMonth.reduce((sum, hold) => sum + hold.nanodollars, 0),
    running: holds.length,
  };
}

/** The id of a key with bounds of its own; absent for any other. */
export function keyOf({ own, keyId }: Caller): string | undefined {
  return own === undefined ? undefined : keyId;
}

export function boundsOf({ limits, own }: Caller, running: number, ofKey: KeyFigures | undefined): BoundsState {
  const calls = { limit: limits.concurrentCalls, running };
  if (own === undefined || ofKey === undefined) return { calls };
  const { spentNanodollars, heldNanodollars, month } = ofKey;
  const limitNanodollars = own.budgetNanodollars;
  const budget = { spentNanodollars, heldNanodollars, resetsAt: endOfMonth(month) };
  return {
    calls: narrowerCalls(calls, { limit: own.concurrentCalls, running: ofKey.running }),
    budget: limitNanodollars === undefined ? undefined : { limitNanodollars, ...budget },
  };
}
