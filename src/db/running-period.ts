import { type RawBuilder, type SqlBool, sql } from "kysely";
import { startOfPeriod } from "./dates.ts";

/** The first day of the running period of the budget in a table; a budget without a period is monthly. */
export function firstDayOfPeriod(table: "keys" | "accounts", now: number): RawBuilder<number> {
  const of = (period: "day" | "week" | "month") => sql.lit(startOfPeriod(now, period));
  return sql`case ${sql.ref(`${table}.budget_period`)} when 'day' then ${of("day")} when 'week' then ${of("week")}
    else ${of("month")} end`;
}

/** Whether a row of `key_budget_usage` is of the running period of its key; after a change of the period its latest one is. */
export function isOfRunningPeriod(now: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`key_budget_usage.month >= ${firstDayOfPeriod("keys", now)} and not exists (
    select 1 from key_budget_usage as later where later.account_id = keys.account_id and later.key_id = keys.id
      and later.month > key_budget_usage.month)`;
}
