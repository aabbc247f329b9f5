import { type Kysely, sql } from "kysely";
import type { Engine, Migration } from "./migration.ts";

/**
 * People who sign in, their sessions and credentials, invitations, vouchers and what administrators did. The columns
 * of the first four are those that better-auth fills: its times are ISO text and its truths 0 or 1 in both engines.
 */
export const people: Migration = {
  version: 3,
  async up(db, engine) {
    await db.schema.alterTable("accounts").addColumn("disabled_at", "bigint").execute();
    await createUsers(db, engine);
    await createSessions(db, engine);
    await createVouchers(db, engine);
    await createAudit(db, engine);
  },
};

const endOf = (engine: Engine) => (engine === "sqlite" ? sql`without rowid` : sql``);

async function createUsers(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("users")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("account_id", "text", (column) => column.notNull().unique().references("accounts.id"))
    .addColumn("email", "text", (column) => column.notNull().unique())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("password_is_temporary", "bigint", (column) => column.notNull())
    .addColumn("email_verified", "bigint", (column) => column.notNull())
    .addColumn("image", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema
    .createTable("credentials")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("user_id", "text", (column) => column.notNull().references("users.id"))
    .addColumn("provider_id", "text", (column) => column.notNull())
    .addColumn("provider_account_id", "text", (column) => column.notNull())
    .addColumn("password_hash", "text")
    .addColumn("access_token", "text")
    .addColumn("refresh_token", "text")
    .addColumn("id_token", "text")
    .addColumn("access_token_expires_at", "text")
    .addColumn("refresh_token_expires_at", "text")
    .addColumn("scope", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .addUniqueConstraint("credentials_of_provider", ["provider_id", "provider_account_id"] as never)
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema.createIndex("credentials_of_user").on("credentials").column("user_id").execute();
}

async function createSessions(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("sessions")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("token", "text", (column) => column.notNull().unique())
    .addColumn("user_id", "text", (column) => column.notNull().references("users.id"))
    .addColumn("expires_at", "text", (column) => column.notNull())
    .addColumn("ip_address", "text")
    .addColumn("user_agent", "text")
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema.createIndex("sessions_of_user").on("sessions").column("user_id").execute();
  await db.schema
    .createTable("verifications")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("identifier", "text", (column) => column.notNull())
    .addColumn("value", "text", (column) => column.notNull())
    .addColumn("expires_at", "text", (column) => column.notNull())
    .addColumn("created_at", "text", (column) => column.notNull())
    .addColumn("updated_at", "text", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema.createIndex("verifications_by_identifier").on("verifications").column("identifier").execute();
  await db.schema
    .createTable("invitations")
    .addColumn("token_hash", "text", (column) => column.primaryKey().notNull())
    .addColumn("account_id", "text", (column) => column.notNull().references("accounts.id"))
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint", (column) => column.notNull())
    .addColumn("used_at", "bigint")
    .modifyEnd(endOf(engine))
    .execute();
}

async function createVouchers(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("vouchers")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("code_hash", "text", (column) => column.notNull().unique())
    .addColumn("amount_nanodollars", "bigint", (column) => column.notNull())
    .addColumn("created_at", "bigint", (column) => column.notNull())
    .addColumn("expires_at", "bigint")
    .addColumn("voided_at", "bigint")
    .addColumn("redeemed_at", "bigint")
    .addColumn("redeemed_by", "text", (column) => column.references("accounts.id"))
    .modifyEnd(endOf(engine))
    .execute();
}

async function createAudit(db: Kysely<unknown>, engine: Engine): Promise<void> {
  await db.schema
    .createTable("audit")
    .addColumn("id", "text", (column) => column.primaryKey().notNull())
    .addColumn("at", "bigint", (column) => column.notNull())
    .addColumn("account_id", "text", (column) => column.notNull())
    .addColumn("action", "text", (column) => column.notNull())
    .addColumn("subject", "text", (column) => column.notNull())
    .addColumn("detail", "text", (column) => column.notNull())
    .modifyEnd(endOf(engine))
    .execute();
  await db.schema.createIndex("audit_by_time").on("audit").column("at").execute();
}
