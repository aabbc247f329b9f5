import { sql } from "kysely";
import { isOpen, monthOf, type Store } from "../../store/index.ts";

/** A call that holds something of an account. */
export interface OpenHold {
  callId: string;
  nanodollars: number;
  tokens: number;
  /** `null` for a premium call. */
  day: number | null;
  keyId: string;
  /** `null` where no budget pays. */
  budgetMonth: number | null;
  /** Holds less than it may cost. */
  partial: boolean;
}

/** What the budget of a key has paid in its latest month. */
export interface BudgetPaid {
  month: number;
  nanodollars: number;
}

/** What SQL says of an account at one moment. */
export interface Written {
  balanceNanodollars: number;
  /** The latest day on which quota was drawn; absent when none ever was. */
  quotaDay: number | undefined;
  usedTokens: number;
  open: OpenHold[];
  /** By key, of those whose budget has paid lately. */
  budgets: Map<string, BudgetPaid>;
  /** Of the calls asked about, those that are no longer open. */
  ended: { callId: string; charged: boolean }[];
}

interface Row {
  kind: "wallet" | "quota" | "budget" | "open" | "settled" | "released" | "abandoned";
  id: string;
  amount: number;
  tokens: number;
  day: number | null;
  key_id: string;
  month: number | null;
  partial: number | null;
}

/** A node's clock may be at the end of a month while that of another is in the next. */
const lateMs = 86_400_000;

/** What is to be read. */
export interface WrittenAsked {
  accountId: string;
  /** Of these it is asked whether they are still open. */
  callIds: string[];
  now: number;
}

/** Reads it in one statement, so that no call is seen both open and charged. */
export async function readWritten(store: Store, { accountId, callIds, now }: WrittenAsked): Promise<Written> {
  const asked = callIds.length === 0 ? sql`select null where 1 = 0` : sql.join(callIds);
  const query = sql<Row>`
    select 'wallet' as kind, '' as id, balance_nanodollars as amount, 0 as tokens, 0 as day, '' as key_id, 0 as month, 0 as partial
      from wallets where account_id = ${accountId}
    union all select * from (select 'quota' as kind, '' as id, 0 as amount, used_tokens as tokens, day, '' as key_id, 0 as month, 0 as partial
      from quota_days where account_id = ${accountId} order by day desc limit 1) as latest
    union all select 'budget' as kind, '' as id, spent_nanodollars as amount, 0 as tokens, 0 as day, key_id, month, 0 as partial
      from key_months where account_id = ${accountId} and month >= ${monthOf(now - lateMs)}
    union all select 'open' as kind, id, hold_nanodollars as amount, hold_tokens as tokens, quota_day as day, key_id, budget_month as month, partial
      from calls where account_id = ${accountId} and state = 'open'
    union all select state as kind, id, 0 as amount, 0 as tokens, 0 as day, '' as key_id, 0 as month, 0 as partial
      from calls where id in (${asked}) and state <> 'open'`.compile(store.db);
  const written: Written = {
    balanceNanodollars: 0,
    quotaDay: undefined,
    usedTokens: 0,
    open: [],
    budgets: new Map(),
    ended: [],
  };
  for (const { kind, id: callId, amount, tokens, day, key_id: keyId, month, partial } of await store.ask(query)) {
    if (kind === "wallet") written.balanceNanodollars = amount;
    else if (kind === "quota") {
      written.quotaDay = day === null ? undefined : day;
      written.usedTokens = tokens;
    } else if (kind === "budget") {
      const paid = written.budgets.get(keyId);
      const isLater = month !== null && (paid === undefined || month > paid.month);
      if (isLater) written.budgets.set(keyId, { month, nanodollars: amount });
    } else if (kind === "open") {
      written.open.push({
        callId,
        nanodollars: amount,
        tokens,
        day,
        keyId,
        budgetMonth: month,
        partial: partial === 1,
      });
    } else written.ended.push({ callId, charged: kind !== "abandoned" });
  }
  return written;
}

/** The accounts of which calls are open. */
export function accountsWithCalls(store: Store): Promise<{ account_id: string }[]> {
  return store.ask(store.db.selectFrom("calls").select("account_id").distinct().where(isOpen).compile());
}
