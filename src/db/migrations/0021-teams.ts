import { type Kysely, sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * An account may have people besides its holder, who need no row. A session acts in one account, and a person's next one
 * begins in the account that was chosen last; null is the person's own account. Accounts may have a budget, and budgets a
 * period.
 */
export const teams: Migration = {
  version: 21,
  async up(db, engine) {
    await db.schema
      .createTable("memberships")
      .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
      .addColumn("user_id", "text", (column) => column.notNull().references("users.id"))
      .addColumn("role", "text", (column) => column.notNull())
      .addColumn("joined_at", "bigint", (column) => column.notNull())
      .addPrimaryKeyConstraint("memberships_key", ["account_id", "user_id"] as never)
      .execute();
    await db.schema.createIndex("memberships_of_user").on("memberships").column("user_id").execute();
    await db.schema
      .createTable("team_invitations")
      .addColumn("id", "text", (column) => column.primaryKey().notNull())
      .addColumn("token_hash", "text", (column) => column.notNull().unique())
      .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
      .addColumn("role", "text", (column) => column.notNull())
      .addColumn("email", "text")
      .addColumn("created_by", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .addColumn("used_by", "text")
      .execute();
    await db.schema.createIndex("team_invitations_of_account").on("team_invitations").column("account_id").execute();
    await db.schema.alterTable("sessions").addColumn("account_id", "text").execute();
    await db.schema.alterTable("users").addColumn("current_account_id", "text").execute();
    await db.schema.alterTable("keys").addColumn("created_by", "text").execute();
    await db.schema.alterTable("keys").addColumn("budget_period", "text").execute();
    await db.schema.alterTable("accounts").addColumn("budget_nanodollars", "bigint").execute();
    await db.schema.alterTable("accounts").addColumn("budget_period", "text").execute();
    if (engine === "postgres") await decideAccountBudgets(db);
  },
};

/**
 * What `decide_holds` is changed in. An account's budget is read by the statement that reads its wallet; a batch whose calls
 * name different periods, because the budget has just changed, reads it anew.
 */
const changes: readonly (readonly [from: string, to: string])[] = [
  [
    "  wallet_held numeric;",
    "  wallet_held numeric;\n  spent_from bigint;\n  account_spent numeric;\n  account_left numeric;",
  ],
  [
    "budget_limit bigint, min_hold bigint",
    "budget_limit bigint, min_hold bigint, account_limit bigint, account_from bigint",
  ],
  ["budget_limit, min_hold, place", "budget_limit, min_hold, account_limit, account_from, place"],
  [
    "if account is distinct from given.account_id then\n        account := given.account_id;",
    `if account is distinct from given.account_id or spent_from is distinct from given.account_from then
        account := given.account_id;
        spent_from := given.account_from;`,
  ],
  [
    "into wallet, wallet_held from",
    `, coalesce((select sum(charged_nanodollars) from usage_days where account_id = account and day >= spent_from), 0)
          into wallet, wallet_held, account_spent from`,
  ],
  [
    "available := wallet - wallet_held;",
    "available := wallet - wallet_held;\n      account_left := given.account_limit - account_spent - wallet_held;",
  ],
  ["least(available, budget_left, given.hold", "least(available, budget_left, account_left, given.hold"],
  ["least(available, budget_left) <= 0", "least(available, budget_left, account_left) <= 0"],
  [
    "case when budget_left <= 0 or budget_left < available then 'budget'",
    `case
          when (budget_left <= 0 or budget_left < available) and (account_left is null or budget_left <= account_left)
            then 'budget'
          when account_left <= 0 or account_left < available then 'account_budget'`,
  ],
  [
    "      else\n        there := wallet;",
    `      elsif refusal = 'account_budget' then
        there := account_spent;
        held := wallet_held;
      else
        there := wallet;`,
  ],
];

async function decideAccountBudgets(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ definition: string }>`
    select pg_get_functiondef(pg_proc.oid) as definition
    from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
    where nspname = current_schema() and proname = 'decide_holds'`.execute(db);
  for (const { definition } of rows) {
    const changed = changes.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`decide_holds does not say ${JSON.stringify(from)}`);
      return text.replace(from, () => to);
    }, definition);
    await sql.raw(changed).execute(db);
  }
}
