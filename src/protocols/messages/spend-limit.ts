/**
 * A budget as Claude Code reads it once a person has signed it in to a gateway: as limits of a plan of which nothing but the overage
 * is left. It warns its person from three quarters on, and shows when a spent budget begins anew.
 */
import type { BudgetState, SpentBudget } from "../../contract/index.ts";

const prefix = "anthropic-ratelimit-unified-";
const periodNames = { day: "daily", week: "weekly", month: "monthly" };
/** Shares of a budget from which on its person is told. */
const thresholds = [0.95, 0.75];

/** The headers of an answer. `undefined` for a budget that never begins anew, for which the client has no words. */
export function toSpendHeaders(state: BudgetState): Record<string, string> | undefined {
  const { limitNanodollars, spentNanodollars, heldNanodollars, resetsAt } = state;
  if (resetsAt === undefined || limitNanodollars === 0) return undefined;
  const share = (spentNanodollars + heldNanodollars) / limitNanodollars;
  const threshold = thresholds.find((least) => share >= least);
  const status = threshold === undefined ? "allowed" : "allowed_warning";
  return {
    [`${prefix}status`]: status,
    [`${prefix}representative-claim`]: "overage",
    [`${prefix}overage-status`]: status,
    // A call that was answered was within the limit, whatever it cost in the end.
    [`${prefix}overage-utilization`]: String(Math.min(0.99, Math.floor(share * 100) / 100)),
    ...(threshold !== undefined && { [`${prefix}overage-surpassed-threshold`]: String(threshold) }),
    ...resetHeaders(resetsAt),
  };
}

/** The headers of a refusal. */
export function toSpentHeaders({ period, resetsAt }: SpentBudget): Record<string, string> {
  return {
    "x-should-retry": "false",
    [`${prefix}status`]: "rejected",
    [`${prefix}overage-utilization`]: "1",
    [`${prefix}overage-surpassed-threshold`]: "1",
    [`${prefix}overage-period`]: periodNames[period],
    [`${prefix}overage-disabled-reason`]: "org_spend_cap_reached",
    ...resetHeaders(resetsAt),
  };
}

function resetHeaders(resetsAt: number): Record<string, string> {
  const seconds = String(Math.ceil(resetsAt / 1000));
  return { [`${prefix}reset`]: seconds, [`${prefix}overage-reset`]: seconds };
}
