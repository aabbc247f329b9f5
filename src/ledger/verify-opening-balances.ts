import { sql } from "kysely";
import { isUncounted } from "../db/index.ts";
import type { ComparisonLabels, SumsQuery } from "./compare-sums.ts";
import { openingSums } from "./prune-calls.ts";

interface Comparison {
  labels: ComparisonLabels;
  written: SumsQuery;
  found: SumsQuery;
}

const found = "calls and pruned calls sum to";
const dayMs = sql.lit(86_400_000);
const hoursOfDay = sql.lit(24);
const subject = sql`opening_balances.account_id || ' before day ' || before_day as subject`;
const columns = ["requests", "failures", ...openingSums];
const refs = (table: string) => columns.map((column) => sql.ref(`${table}.${column}`));
const sums = (table: string) =>
  sql.join(columns.map((column) => sql`coalesce(sum(${sql.ref(`${table}.${column}`)}), 0) as ${sql.ref(column)}`));

/** Calls that are left from before the opening's day, in the columns of the opening. */
const leftOver = sql.join([
  sql`case when state = 'settled' then 1 else 0 end`,
  sql`case when state = 'released' then 1 else 0 end`,
  ...openingSums.map((column) => sql`coalesce(calls.${sql.ref(column)}, 0)`),
]);

/** Usage, quota and charges of days, and budgets, from before an account's opening are compared with it, as sums. */
export const openingComparisons: readonly Comparison[] = [
  {
    labels: { what: "Usage of", found },
    written: {
      columns,
      from: sql`select ${subject}, ${sums("usage")} from usage
        join opening_balances on opening_balances.account_id = usage.account_id
        where hours = 24 and kind = 'call' and hour < before_day * ${hoursOfDay}
        group by opening_balances.account_id, before_day`,
    },
    found: {
      columns,
      from: sql`select ${subject}, ${sql.join(refs("opening_balances"))} from opening_balances
        union all select ${subject}, ${leftOver} from calls
        join opening_balances on opening_balances.account_id = calls.account_id
        where opened_at < before_day * ${dayMs} and state <> 'abandoned' and not (${isUncounted})`,
    },
  },
  {
    labels: { what: "Quota of", found },
    written: {
      columns: ["used_tokens"],
      from: sql`select ${subject}, used_tokens from daily_quota_usage
        join opening_balances on opening_balances.account_id = daily_quota_usage.account_id where day < before_day`,
    },
    found: {
      columns: ["used_tokens"],
      from: sql`select ${subject}, quota_tokens as used_tokens from opening_balances
        union all select ${subject}, coalesce(calls.quota_tokens, 0) from calls
        join opening_balances on opening_balances.account_id = calls.account_id where quota_day < before_day`,
    },
  },
  {
    labels: { what: "Budgets of the keys of", found },
    written: {
      columns: ["spent_nanodollars"],
      from: sql`select ${subject}, spent_nanodollars from key_budget_usage
        join opening_balances on opening_balances.account_id = key_budget_usage.account_id where period_start < before_day`,
    },
    found: {
      columns: ["spent_nanodollars"],
      from: sql`select ${subject}, opening_balances.budget_nanodollars as spent_nanodollars from opening_balances
        union all select ${subject}, coalesce(calls.charged_nanodollars, 0) from calls
        join opening_balances on opening_balances.account_id = calls.account_id where period_start < before_day`,
    },
  },
  {
    labels: { what: "Charges of", found },
    written: {
      columns: ["charged_nanodollars"],
      from: sql`select ${subject}, daily_charges.charged_nanodollars from daily_charges
        join opening_balances on opening_balances.account_id = daily_charges.account_id where day < before_day`,
    },
    found: {
      columns: ["charged_nanodollars"],
      from: sql`select ${subject}, opening_balances.charged_nanodollars from opening_balances
        union all select ${subject}, coalesce(calls.charged_nanodollars, 0) from calls
        join opening_balances on opening_balances.account_id = calls.account_id where opened_at < before_day * ${dayMs}`,
    },
  },
];
