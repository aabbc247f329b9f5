import { type Kysely, sql } from "kysely";
import type { Database } from "../../store/index.ts";

/** A call that holds something of an account. */
export interface OpenHold {
  callId: string;
  nanodollars: number;
  tokens: number;
  /** `null` for a premium call. */
  day: number | null;
}

/** What SQL says of an account at one moment. */
export interface Written {
  balanceNanodollars: number;
  /** The latest day on which quota was drawn; absent when none ever was. */
  quotaDay: number | undefined;
  usedTokens: number;
  open: OpenHold[];
  /** Of the calls asked about, those that are no longer open. */
  ended: { callId: string; charged: boolean }[];
}

interface Row {
  kind: "wallet" | "quota" | "open" | "settled" | "released" | "abandoned";
  id: string;
  amount: number;
  tokens: number;
  day: number | null;
}

/** Reads it in one statement, so that no call is seen both open and charged. */
export async function readWritten(db: Kysely<Database>, accountId: string, callIds: string[]): Promise<Written> {
  const asked = callIds.length === 0 ? sql`select null where 1 = 0` : sql.join(callIds);
  const { rows } = await sql<Row>`
    select 'wallet' as kind, '' as id, balance_nanodollars as amount, 0 as tokens, 0 as day
      from wallets where account_id = ${accountId}
    union all select * from (select 'quota' as kind, '' as id, 0 as amount, used_tokens as tokens, day
      from quota_days where account_id = ${accountId} order by day desc limit 1) as latest
    union all select 'open' as kind, id, hold_nanodollars as amount, hold_tokens as tokens, quota_day as day
      from calls where account_id = ${accountId} and state = 'open'
    union all select state as kind, id, 0 as amount, 0 as tokens, 0 as day
      from calls where id in (${asked}) and state <> 'open'`.execute(db);
  const written: Written = { balanceNanodollars: 0, quotaDay: undefined, usedTokens: 0, open: [], ended: [] };
  for (const { kind, id: callId, amount, tokens, day } of rows) {
    if (kind === "wallet") written.balanceNanodollars = amount;
    else if (kind === "quota") {
      written.quotaDay = day === null ? undefined : day;
      written.usedTokens = tokens;
    } else if (kind === "open") written.open.push({ callId, nanodollars: amount, tokens, day });
    else written.ended.push({ callId, charged: kind !== "abandoned" });
  }
  return written;
}
