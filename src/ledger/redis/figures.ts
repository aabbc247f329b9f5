import { dayOf } from "../day.ts";
import type { Written } from "./read-written.ts";

/** An account as admission sees it. */
export interface Figures {
  balanceNanodollars: number;
  heldNanodollars: number;
  /** Days since 1970. */
  day: number;
  usedTokens: number;
  heldTokens: number;
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
  return { balanceNanodollars, heldNanodollars, day, usedTokens: quotaDay === day ? usedTokens : 0, heldTokens };
}
