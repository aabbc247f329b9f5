import { type InferResult, type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Engine } from "./migrations/migration.ts";
import type { Database } from "./schema.ts";

/**
 * A key with the settings of its account, from one query. `budgets` and `model_limits` are JSON arrays of the rows that
 * apply to its calls, each an array of {@link budgetFields} or {@link modelLimitFields}; null if there are no such
 * rows. `holder_email_verified` is null if the account has no holder. For limits that the account does not set, the
 * limits of its role are read.
 */
export type KeyRecord = InferResult<ReturnType<typeof keyQuery>>[number];

/** Columns of `budgets` that a key is read with. */
const budgetFields = [
  "id",
  "account_id",
  "subject",
  "name",
  "key_id",
  "budget_nanodollars",
  "budget_period",
  "raise_nanodollars",
  "raise_until",
] as const;

const modelLimitFields = [
  "account_id",
  "key_id",
  "model",
  "requests_per_minute",
  "tokens_per_minute",
  "concurrent_calls",
] as const;

const rowsOfKey = {
  sqlite: (row: RawBuilder<unknown>) => sql<string>`json_group_array(json_array(${row}) order by created_at, id)`,
  postgres: (row: RawBuilder<unknown>) => sql<string>`json_agg(json_build_array(${row}) order by created_at, id)::text`,
};

/** Matches the limits for the role of an account's holder; the role is `none` if no user signs in to the account. */
export function isRoleOf(holder: "users" | "holder"): RawBuilder<SqlBool> {
  return sql`role_limits.role = coalesce(${sql.ref(`${holder}.role`)}, 'none')`;
}

/** Whether an account was founded as a team, or has members other than its holder. */
export function isTeam(): RawBuilder<SqlBool> {
  return sql<SqlBool>`(accounts.founded_by is not null or accounts.email like '%.invalid'
    or exists (select 1 from memberships where memberships.account_id = accounts.id))`;
}

/** The look-up of a key, with a place for its id or its foreign hash. */
export function keyQuery(db: Kysely<Database>, engine: Engine, column: "id" | "foreign_hash" = "id") {
  return db
    .selectFrom("keys")
    .innerJoin("accounts", "accounts.id", "keys.account_id")
    .leftJoin("users", "users.account_id", "accounts.id")
    .leftJoin("role_limits", (join) => join.on(isRoleOf("users")))
    .select([
      "keys.id",
      "keys.account_id",
      "keys.secret_hash",
      "keys.previous_secret_hash",
      "keys.previous_until",
      "keys.allowed_networks",
      "keys.allowed_models",
      "keys.cache_marks",
      "keys.expires_at",
      "keys.revoked_at",
      "keys.requests_per_minute as key_requests_per_minute",
      "keys.tokens_per_minute as key_tokens_per_minute",
      "keys.concurrent_calls as key_concurrent_calls",
      "accounts.allowed_models as account_allowed_models",
      "accounts.free_tokens_per_day",
      "role_limits.free_tokens_per_day as role_free_tokens_per_day",
      "accounts.disabled_at as account_disabled_at",
      "accounts.billed_afterwards",
      "users.email_verified as holder_email_verified",
      "keys.created_by",
      "keys.foreign_hash",
    ])
    .select(({ fn }) => [
      fn.coalesce("accounts.requests_per_minute", "role_limits.requests_per_minute").as("account_requests_per_minute"),
      fn.coalesce("accounts.tokens_per_minute", "role_limits.tokens_per_minute").as("account_tokens_per_minute"),
      fn.coalesce("accounts.concurrent_calls", "role_limits.concurrent_calls").as("account_concurrent_calls"),
    ])
    .select(({ selectFrom }) =>
      selectFrom("budgets")
        .select(rowsOfKey[engine](sql.join(budgetFields.map((field) => sql.ref(`budgets.${field}`)))).as("budgets"))
        .where(({ eb, or, ref }) =>
          or([eb("budgets.account_id", "=", ref("keys.account_id")), eb("budgets.account_id", "=", sql.lit(""))]),
        )
        .where(({ or, eb }) => or([eb("subject", "<>", sql.lit("team")), isTeam()]))
        .where(({ eb, or, ref }) => or([eb("key_id", "is", null), eb("key_id", "=", ref("keys.id"))]))
        .where(({ eb, or, ref }) =>
          or([
            eb("subject", "<>", sql.lit("key")),
            eb("budgets.name", "is", null),
            eb("budgets.name", "=", ref("keys.id")),
          ]),
        )
        .having(({ eb, fn }) => eb(fn.countAll(), ">", sql.lit(0)))
        .as("budgets"),
    )
    .select(({ selectFrom }) =>
      selectFrom("model_limits")
        .select(
          rowsOfKey[engine](sql.join(modelLimitFields.map((field) => sql.ref(`model_limits.${field}`)))).as("limits"),
        )
        .where(({ and, eb, or, ref }) =>
          or([
            and([eb("account_id", "=", sql.lit("")), eb("key_id", "=", sql.lit(""))]),
            and([eb("account_id", "=", ref("keys.account_id")), eb("key_id", "in", [sql.lit(""), ref("keys.id")])]),
          ]),
        )
        .having(({ eb, fn }) => eb(fn.countAll(), ">", sql.lit(0)))
        .as("model_limits"),
    )
    .select(({ selectFrom }) =>
      selectFrom("markups")
        .select("basis_points")
        .whereRef("markups.account_id", "=", "keys.account_id")
        .where("provider", "=", sql.lit(""))
        .as("markup_basis_points"),
    )
    .select(({ exists, ref, selectFrom }) =>
      exists(
        selectFrom("content_switches")
          .select("subject")
          .where("subject", "in", [ref("keys.id"), ref("accounts.id")]),
      ).as("keeps_content"),
    )
    .where(`keys.${column}`, "=", "");
}
