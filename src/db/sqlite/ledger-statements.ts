import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Compilable, Kysely } from "kysely";
import { type Database, meterColumns } from "../schema.ts";

const meters = Object.values(meterColumns);

/** Sums of `usage_hours`, in the order in which {@link LedgerStatements.addUsage} takes them after its key. */
const usageSums = [
  "requests",
  "failures",
  ...meters,
  "cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
] as const;

/** The statements of the hot path. Parameters are positional, in the order of the columns written here. */
export interface LedgerStatements {
  begin: StatementSync;
  commit: StatementSync;
  openCall: StatementSync;
  endCall: StatementSync;
  insertCharge: StatementSync;
  moveWallet: StatementSync;
  drawQuota: StatementSync;
  spendBudget: StatementSync;
  addUsage: StatementSync;
}

/** Compiles each statement once, by Kysely so that the schema checks it, and prepares it on the store's connection. */
export function prepareLedgerStatements(db: Kysely<Database>, database: DatabaseSync): LedgerStatements {
  const prepare = (query: Compilable) => database.prepare(query.compile().sql);
  return {
    begin: database.prepare("begin immediate"),
    commit: database.prepare("commit"),
    openCall: prepare(db.insertInto("calls").values(openColumns)),
    endCall: prepare(endCall(db)),
    insertCharge: prepare(
      db
        .insertInto("entries")
        .values({ id: "", account_id: "", amount_nanodollars: 0, at: 0, kind: "charge", note: null }),
    ),
    moveWallet: prepare(
      db
        .insertInto("wallets")
        .values({ account_id: "", balance_nanodollars: 0 })
        .onConflict((conflict) =>
          conflict.column("account_id").doUpdateSet((set) => ({
            balance_nanodollars: set("wallets.balance_nanodollars", "+", set.ref("excluded.balance_nanodollars")),
          })),
        ),
    ),
    drawQuota: prepare(
      db
        .insertInto("daily_quota_usage")
        .values({ account_id: "", day: 0, used_tokens: 0 })
        .onConflict((conflict) =>
          conflict.columns(["account_id", "day"]).doUpdateSet((set) => ({
            used_tokens: set("daily_quota_usage.used_tokens", "+", set.ref("excluded.used_tokens")),
          })),
        ),
    ),
    spendBudget: prepare(
      db
        .insertInto("key_budget_usage")
        .values({ account_id: "", key_id: "", month: 0, spent_nanodollars: 0 })
        .onConflict((conflict) =>
          conflict.columns(["account_id", "key_id", "month"]).doUpdateSet((set) => ({
            spent_nanodollars: set("key_budget_usage.spent_nanodollars", "+", set.ref("excluded.spent_nanodollars")),
          })),
        ),
    ),
    addUsage: prepare(addUsage(db)),
  };
}

/** What opens a call, in the order in which the statements take it; the values stand for their types only. */
const openColumns = {
  id: "",
  account_id: "",
  key_id: "",
  model: "",
  capability: "chat",
  premium: 0,
  state: "open",
  opened_at: 0,
  quota_day: null,
  hold_nanodollars: 0,
  hold_tokens: 0,
  price_version: null,
  budget_month: null,
  partial: null,
} as const;

/** What ends a call, but its state; likewise. */
const endColumns = {
  settled_at: 0,
  ...zeros(meters),
  usage_source: null,
  cost_nanodollars: null,
  charged_nanodollars: 0,
  quota_tokens: 0,
  route: null,
  status: 0,
  error_code: null,
  first_byte_ms: null,
  duration_ms: 0,
} as const;

/** An abandoned call can still be settled, if its process turns out to be alive: its usage is better than the policy. */
function endCall(db: Kysely<Database>): Compilable {
  return db
    .updateTable("calls")
    .set({ state: "settled", ...endColumns })
    .where("id", "=", "")
    .where("state", "in", ["open", "abandoned"]);
}

function addUsage(db: Kysely<Database>): Compilable {
  return db
    .insertInto("usage_hours")
    .values({ account_id: "", hour: 0, model: "", ...zeros(usageSums) })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "hour", "model"])
        .doUpdateSet((set) =>
          Object.fromEntries(usageSums.map((sum) => [sum, set(`usage_hours.${sum}`, "+", set.ref(`excluded.${sum}`))])),
        ),
    );
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}

/** What SQLite takes for a truth value. */
export function bit(value: boolean): SQLInputValue {
  return value ? 1 : 0;
}
