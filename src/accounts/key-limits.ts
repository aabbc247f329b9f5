import type { Selectable } from "kysely";
import { GatewayError, isAmount, type KeyLimits } from "../contract/index.ts";
import type { Database } from "../db/index.ts";

/** Where each bound stands in the table of keys. */
export const columnOf = {
  requestsPerMinute: "requests_per_minute",
  tokensPerMinute: "tokens_per_minute",
  concurrentCalls: "concurrent_calls",
  budgetNanodollars: "budget_nanodollars",
} as const satisfies Record<keyof KeyLimits, keyof Database["keys"]>;

type BoundColumns = Record<(typeof columnOf)[keyof KeyLimits], number | null>;

export function boundColumns(bounds: KeyLimits): BoundColumns {
  return {
    requests_per_minute: bounds.requestsPerMinute ?? null,
    tokens_per_minute: bounds.tokensPerMinute ?? null,
    concurrent_calls: bounds.concurrentCalls ?? null,
    budget_nanodollars: bounds.budgetNanodollars ?? null,
  };
}

export function limitsUsageOf(row: Pick<Selectable<Database["keys"]>, keyof BoundColumns>): KeyLimits {
  return {
    requestsPerMinute: row.requests_per_minute ?? undefined,
    tokensPerMinute: row.tokens_per_minute ?? undefined,
    concurrentCalls: row.concurrent_calls ?? undefined,
    budgetNanodollars: row.budget_nanodollars ?? undefined,
  };
}

/** @throws {GatewayError} `invalid_request` when a limit is no whole number from 1, or a budget none from 0. */
export function checkBounds(bounds: KeyLimits): void {
  for (const name of ["requestsPerMinute", "tokensPerMinute", "concurrentCalls"] as const) {
    const limit = bounds[name];
    if (limit === undefined || (isAmount(limit) && limit >= 1)) continue;
    throw invalid(columnOf[name], `${columnOf[name]} is ${limit}, expected a whole number from 1 to 2^53 - 1`);
  }
  const budget = bounds.budgetNanodollars;
  if (budget === undefined || isAmount(budget)) return;
  throw invalid("budget_usd", `The budget is ${budget} nanodollars, expected a whole number from 0 to 2^53 - 1`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
