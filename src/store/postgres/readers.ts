import type { Kysely } from "kysely";
import type { Database } from "../database.ts";
import type { Funds } from "../funds.ts";
import { type KeyRecord, keyQuery } from "../key-reader.ts";
import type { Lane } from "./lane.ts";

const fundsText = `select
  coalesce((select balance_nanodollars from wallets where account_id = $1), 0) as balance,
  latest.day, latest.used_tokens, others.nanodollars, others.tokens
  from (values (1)) as one
  left join (select day, used_tokens from quota_days where account_id = $1 order by day desc limit 1) as latest on true
  left join (
    select sum(hold_nanodollars) as nanodollars,
      sum(hold_tokens) filter (where quota_day = (select max(quota_day) from calls where account_id = $1 and state = 'open')) as tokens
    from calls where account_id = $1 and state = 'open' and node_id is distinct from $2
  ) as others on true`;

interface FundsRow {
  balance: number;
  day: number | null;
  used_tokens: number | null;
  nanodollars: number | null;
  tokens: number | null;
}

/** On the lane of the writes, so that it sees those that were asked for before, and none after. */
export async function readFunds(lane: Lane, nodeId: string, accountId: string): Promise<Funds> {
  const { rows } = await lane.query<FundsRow>({ name: "funds", text: fundsText, values: [accountId, nodeId] });
  const { balance, day, used_tokens, nanodollars, tokens } = rows[0] as FundsRow;
  return {
    balanceNanodollars: balance,
    quotaDay: day === null ? undefined : day,
    usedTokens: used_tokens === null ? 0 : used_tokens,
    others: { nanodollars: nanodollars === null ? 0 : nanodollars, tokens: tokens === null ? 0 : tokens },
  };
}

/** Compiles the look-up once and returns the reader. */
export function keyReader(db: Kysely<Database>, lane: Lane): (keyId: string) => Promise<KeyRecord | undefined> {
  const text = keyQuery(db).compile().sql;
  return async (keyId) => (await lane.query<KeyRecord>({ name: "key", text, values: [keyId] })).rows[0];
}
