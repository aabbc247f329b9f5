import { setTimeout } from "node:timers/promises";
import { type CompiledQuery, type Kysely, type SqlBool, sql } from "kysely";
import type { QueryResultRow } from "pg";
import { type AccountBalance, type BudgetQuery, toQuota } from "../account-balance.ts";
import { drawsText } from "../call-columns.ts";
import { LostConnectionError } from "../errors.ts";
import { type KeyRecord, keyQuery } from "../key-query.ts";
import type { BudgetDraw, BudgetFigures } from "../ledger-records.ts";
import { toPayerNumber } from "../payers.ts";
import type { Database } from "../schema.ts";
import type { OrderedConnection } from "./ordered-connection.ts";

/** With what the budget of a key has paid from a period on; without a key nothing. */
const balanceText = `select
  coalesce((select balance_nanodollars from wallets where account_id = $1), 0) as balance,
  latest.day, latest.used_tokens as used, coming.ahead, held.nanodollars, held.quota_day, held.tokens, paid.period_start, paid.spent, running.reserved
  from (values (1)) as one
  left join (select day, used_tokens from daily_quota_usage where account_id = $1 and day <= $4::bigint + 1 order by day desc limit 1) as latest on true
  left join (select sum(used_tokens) as ahead from daily_quota_usage
    where account_id = $1 and day > $4::bigint + 1 and coalesce(counted_day, $4::bigint) = $4::bigint) as coming on true
  left join (
    select sum(hold_nanodollars) as nanodollars, max(quota_day) filter (where quota_day <= $4::bigint + 1) as quota_day,
      sum(hold_tokens) filter (where quota_day = (
        select max(quota_day) from open_calls where account_id = $1 and quota_day <= $4::bigint + 1)) as tokens
    from open_calls where account_id = $1
  ) as held on true
  left join (select period_start, spent_nanodollars as spent from key_budget_usage
    where account_id = $1 and key_id = $2 and period_start >= $3 order by period_start desc limit 1) as paid on true
  left join lateral (select sum(hold_nanodollars) as reserved from open_calls
    where account_id = $1 and key_id = $2
    and period_start = coalesce(paid.period_start, $3)) as running on true`;

const aheadText = `update daily_quota_usage set counted_day = $2::bigint
  where account_id = $1 and day > $2::bigint + 1 and counted_day is null`;

interface AccountBalanceRow {
  balance: number;
  day: number | null;
  used: number | null;
  ahead: number | null;
  nanodollars: number | null;
  quota_day: number | null;
  tokens: number | null;
  period_start: number | null;
  spent: number | null;
  reserved: number | null;
}

/** On the connection of the writes, so that it sees all earlier writes and no later ones. */
export async function readBalance(
  connection: OrderedConnection,
  accountId: string,
  today: number,
  budgetQuery?: BudgetQuery,
): Promise<AccountBalance> {
  const values = [accountId, budgetQuery?.keyId, budgetQuery?.periodStart, today];
  const { rows } = await connection.query<AccountBalanceRow>({ name: "balance", text: balanceText, values });
  const row = rows[0] as AccountBalanceRow;
  if (row.ahead !== null) await connection.query({ name: "count_ahead", text: aheadText, values: [accountId, today] });
  return {
    balanceNanodollars: row.balance,
    ...toQuota(row, today),
    // Sums over no row.
    held: {
      nanodollars: row.nanodollars === null ? 0 : row.nanodollars,
      quotaDay: row.quota_day === null ? undefined : row.quota_day,
      tokens: row.tokens === null ? 0 : row.tokens,
    },
    ...(budgetQuery !== undefined && {
      budget: {
        periodStart: row.period_start ?? undefined,
        spentNanodollars: row.spent ?? 0,
        othersNanodollars: row.reserved ?? 0,
      },
    }),
  };
}

/** Like {@link readBalance} on the connection of the writes. */
export async function readSpent(connection: OrderedConnection, accountId: string, sinceDay: number): Promise<number> {
  const { rows } = await connection.query<{ spent: number }>({
    name: "spent",
    text: "select coalesce(sum(charged_nanodollars), 0)::bigint as spent from daily_charges where account_id = $1 and day >= $2",
    values: [accountId, sinceDay],
  });
  return (rows[0] as { spent: number }).spent;
}

/** Like {@link readBalance} on the connection of the writes. */
export async function readBudgets(
  connection: OrderedConnection,
  accountId: string,
  draws: readonly BudgetDraw[],
): Promise<BudgetFigures[]> {
  const { rows } = await connection.query<{ spent: number; held: number }>({
    name: "budgets",
    text: `select spent, held::bigint as held
      from read_budgets($1, $2::json, null) order by place`,
    values: [toPayerNumber(accountId), drawsText(draws)],
  });
  return rows.map(({ spent, held: openHolds }) => ({ spentNanodollars: spent, heldNanodollars: openHolds }));
}

const idsPerQuery = 500;
const waitingMax = 5000;

/**
 * Returns a reader of keys. However many are read at once, one query at a time looks up all ids that wait, and ids beyond
 * a bound fail at once.
 *
 * @param pauseMs Before each query; bounds the queries per second.
 */
export function createKeyReader(
  db: Kysely<Database>,
  connection: OrderedConnection,
  { pauseMs = 0, column = "id" }: { pauseMs?: number; column?: "id" | "foreign_hash" } = {},
): (value: string) => Promise<KeyRecord | undefined> {
  const byIds = keyQuery(db, "postgres")
    .clearWhere()
    .where(sql<SqlBool>`${sql.ref(`keys.${column}`)} = any(${[]})`);
  const text = byIds.compile().sql;
  const waiting = new Map<string, PromiseWithResolvers<KeyRecord | undefined>>();
  let isRunning = false;
  const lookUp = async (batch: [string, PromiseWithResolvers<KeyRecord | undefined>][]) => {
    try {
      const values = [batch.map(([id]) => id)];
      const { rows } = await connection.query<KeyRecord>({ name: `keys_by_${column}`, text, values });
      const rowsOf = new Map(rows.map((row) => [row[column], row]));
      for (const [id, { resolve }] of batch) resolve(rowsOf.get(id));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
  };
  const run = async () => {
    isRunning = true;
    while (waiting.size > 0) {
      if (pauseMs > 0) await setTimeout(pauseMs);
      const batch = [...waiting.entries().take(idsPerQuery)];
      for (const [id] of batch) waiting.delete(id);
      await lookUp(batch);
    }
    isRunning = false;
  };
  return (keyId) => {
    const pending = waiting.get(keyId);
    if (pending !== undefined) return pending.promise;
    if (waiting.size >= waitingMax)
      return Promise.reject(new LostConnectionError("Too many keys are waiting to be looked up", false));
    const added = Promise.withResolvers<KeyRecord | undefined>();
    waiting.set(keyId, added);
    if (!isRunning) void run();
    return added.promise;
  };
}

export async function ask<Row>(connection: OrderedConnection, { sql, parameters }: CompiledQuery<Row>): Promise<Row[]> {
  const { rows } = await connection.query<QueryResultRow>({ text: sql, values: [...parameters] });
  return rows as Row[];
}
