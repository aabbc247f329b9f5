import { setTimeout } from "node:timers/promises";
import { type CompiledQuery, type Kysely, type SqlBool, sql } from "kysely";
import type { QueryResultRow } from "pg";
import { type AccountBalance, toQuota } from "../account-balance.ts";
import { LostConnectionError } from "../errors.ts";
import { type KeyRecord, keyQuery } from "../key-query.ts";
import type { BudgetDraw, BudgetFigures } from "../ledger-records.ts";
import { type Payer, toPayerNumber } from "../payers.ts";
import type { Database } from "../schema.ts";
import type { OrderedConnection } from "./ordered-connection.ts";

const balanceText = `select
  coalesce((select balance_nanodollars from wallets where account_id = $1), 0) as balance,
  latest.day, latest.used_tokens as used, coming.ahead, held.nanodollars, held.quota_day, held.tokens
  from (values (1)) as one
  left join (select day, used_tokens from daily_quota_usage where account_id = $1 and day <= $2::bigint + 1 order by day desc limit 1) as latest on true
  left join (select sum(used_tokens) as ahead from daily_quota_usage
    where account_id = $1 and day > $2::bigint + 1 and coalesce(counted_day, $2::bigint) = $2::bigint) as coming on true
  left join (
    select sum(hold_nanodollars) as nanodollars, max(quota_day) filter (where quota_day <= $2::bigint + 1) as quota_day,
      sum(hold_tokens) filter (where quota_day = (
        select max(quota_day) from open_calls where account_id = $1 and quota_day <= $2::bigint + 1)) as tokens
    from open_calls where account_id = $1
  ) as held on true`;

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
}

/** Runs on the connection of the writes: it sees all earlier writes and no later ones. */
export async function readBalance(
  connection: OrderedConnection,
  accountId: string,
  today: number,
): Promise<AccountBalance> {
  const values = [accountId, today];
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
  };
}

/** Like {@link readBalance} on the connection of the writes. */
export async function readBudgets(
  connection: OrderedConnection,
  { accountId }: Payer,
  draws: readonly BudgetDraw[],
): Promise<BudgetFigures[]> {
  const { rows } = await connection.query<{ spent: number; held: number }>({
    name: "budgets",
    text: `select spent, held::bigint as held
      from read_budgets($1, $2::json, null) order by place`,
    values: [toPayerNumber(accountId), JSON.stringify(draws.map(toDrawRow))],
  });
  return rows.map(({ spent, held: openHolds }) => ({ spentNanodollars: spent, heldNanodollars: openHolds }));
}

/** A draw as `read_budgets` and `decide_holds` read it. */
export function toDrawRow({ budget, name, sums }: BudgetDraw) {
  const { subject, keyId = subject === "key" ? name : undefined } = budget;
  const { subjectNo, from, until, sessionAt = null, today } = sums;
  return [
    subjectNo,
    sums.name,
    from,
    until,
    subject,
    name,
    keyId === undefined ? null : toPayerNumber(keyId),
    sessionAt,
    today,
  ];
}

type KeyColumn = "id" | "foreign_hash";

const keysTexts = new Map<KeyColumn, string>();

/** The look-up of keys by this column. It takes a millisecond to make, and several readers send it. */
function keysText(db: Kysely<Database>, column: KeyColumn): string {
  const made = keysTexts.get(column);
  if (made !== undefined) return made;
  const byValues = keyQuery(db, "postgres")
    .clearWhere()
    .where(sql<SqlBool>`${sql.ref(`keys.${column}`)} = any(${[]})`);
  const { sql: text } = byValues.compile();
  keysTexts.set(column, text);
  return text;
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
  { pauseMs = 0, column = "id" }: { pauseMs?: number; column?: KeyColumn } = {},
): (value: string) => Promise<KeyRecord | undefined> {
  const text = keysText(db, column);
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
