import type { CompiledQuery, Kysely } from "kysely";
import type { QueryResultRow } from "pg";
import type { Database } from "../database.ts";
import type { BudgetAsked, Funds } from "../funds.ts";
import { type KeyRecord, keyQuery } from "../key-reader.ts";
import type { Lane } from "./lane.ts";

const fundsText = `select
  coalesce((select balance_nanodollars from wallets where account_id = $1), 0) as balance,
  latest.day, latest.used_tokens, others.nanodollars, others.tokens, others.partial, others.partial_draw
  from (values (1)) as one
  left join (select day, used_tokens from quota_days where account_id = $1 order by day desc limit 1) as latest on true
  left join (
    select sum(hold_nanodollars) as nanodollars,
      sum(hold_tokens) filter (where quota_day = (select max(quota_day) from calls where account_id = $1 and state = 'open')) as tokens,
      bool_or(partial = 1 and premium = 1) as partial, bool_or(partial = 1 and premium = 0) as partial_draw
    from calls where account_id = $1 and state = 'open' and node_id is distinct from $2
  ) as others on true`;

/** The same, with what a key's budget has paid from a month on. */
const budgetText = fundsText
  .replace("others.partial_draw\n", "others.partial_draw, paid.month, paid.spent, running.held\n")
  .concat(`
  left join (select month, spent_nanodollars as spent from key_months
    where account_id = $1 and key_id = $3 and month >= $4 order by month desc limit 1) as paid on true
  left join lateral (select sum(hold_nanodollars) as held from calls
    where account_id = $1 and state = 'open' and node_id is distinct from $2 and key_id = $3
    and budget_month = coalesce(paid.month, $4)) as running on true`);

interface FundsRow {
  balance: number;
  day: number | null;
  used_tokens: number | null;
  nanodollars: number | null;
  tokens: number | null;
  partial: boolean | null;
  partial_draw: boolean | null;
  month?: number | null;
  spent?: number | null;
  held?: number | null;
}

/** On the lane of the writes, so that it sees those that were asked for before, and none after. */
export async function readFunds(lane: Lane, nodeId: string, accountId: string, asked?: BudgetAsked): Promise<Funds> {
  const { rows } = await lane.query<FundsRow>(
    asked === undefined
      ? { name: "funds", text: fundsText, values: [accountId, nodeId] }
      : { name: "funds_of_key", text: budgetText, values: [accountId, nodeId, asked.keyId, asked.month] },
  );
  const { balance, day, used_tokens, nanodollars, tokens, partial, partial_draw, ...budget } = rows[0] as FundsRow;
  return {
    balanceNanodollars: balance,
    quotaDay: day === null ? undefined : day,
    usedTokens: used_tokens === null ? 0 : used_tokens,
    others: {
      nanodollars: nanodollars === null ? 0 : nanodollars,
      tokens: tokens === null ? 0 : tokens,
      isPartial: partial === true,
      isPartialDraw: partial_draw === true,
    },
    ...(asked !== undefined && {
      budget: {
        month: budget.month ?? undefined,
        spentNanodollars: budget.spent ?? 0,
        othersNanodollars: budget.held ?? 0,
      },
    }),
  };
}

/** Compiles the look-up once and returns the reader. */
export function keyReader(db: Kysely<Database>, lane: Lane): (keyId: string) => Promise<KeyRecord | undefined> {
  const text = keyQuery(db).compile().sql;
  return async (keyId) => (await lane.query<KeyRecord>({ name: "key", text, values: [keyId] })).rows[0];
}

export async function ask<Row>(lane: Lane, { sql, parameters }: CompiledQuery<Row>): Promise<Row[]> {
  const { rows } = await lane.query<QueryResultRow>({ text: sql, values: [...parameters] });
  return rows as Row[];
}
