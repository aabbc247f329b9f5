import { randomBytes } from "node:crypto";
import type { Transaction } from "kysely";
import { recordAudit } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import type { Database, ServiceAccountsTable, Store } from "../db/index.ts";
import { isBehind } from "../db/page.ts";
import { lockAccount } from "../tenants/index.ts";
import { checkKeyFields } from "./key-fields.ts";

/** A program that has API keys in an account, as people have. */
export interface ServiceAccount {
  readonly id: string;
  readonly accountId: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** Service accounts of one account. */
const accountsMax = 1000;

/**
 * Creates a service account, without a key.
 *
 * @param by Who does it, for the audit log.
 * @throws {GatewayError} `invalid_request` for the name, `not_found` for the account, `conflict` when there are too many.
 */
export async function createServiceAccount(
  { db }: Pick<Store, "db">,
  { accountId, name, by }: { accountId: string; name: string; by: string },
  now: number,
): Promise<ServiceAccount> {
  checkKeyFields({ name }, now);
  const id = `svc_${randomBytes(9).toString("hex")}`;
  const row: ServiceAccountsTable = { id, account_id: accountId, name, created_at: now, created_by: by };
  await db.transaction().execute(async (transaction) => {
    await lockAccount(transaction, accountId);
    const { count } = await transaction
      .selectFrom("service_accounts")
      .select((select) => select.fn.countAll<number>().as("count"))
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow();
    if (Number(count) >= accountsMax) {
      throw new GatewayError("conflict", `The account has ${accountsMax} service accounts, its limit; delete one`);
    }
    await transaction.insertInto("service_accounts").values(row).execute();
    await recordServiceAudit(transaction, { by, what: "create", row }, now);
  });
  return toServiceAccount(row);
}

/**
 * Lists one page of the service accounts of an account, oldest first. @param after The last item of the previous page.
 */
export async function listServiceAccounts(
  { db }: Pick<Store, "db">,
  accountId: string,
  { limit, after }: { limit: number; after?: Pick<ServiceAccount, "id" | "createdAt"> | undefined },
): Promise<ServiceAccount[]> {
  let query = db.selectFrom("service_accounts").selectAll().where("account_id", "=", accountId);
  if (after !== undefined) {
    query = query.where(isBehind("created_at", "id", { ...after, created_at: after.createdAt }));
  }
  const rows = await query.orderBy("created_at").orderBy("id").limit(limit).execute();
  return rows.map(toServiceAccount);
}

/** The service accounts with these ids, by id. */
export async function findServiceAccounts(
  { db }: Pick<Store, "db">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ServiceAccount>> {
  if (ids.length === 0) return new Map();
  const unique = [...new Set(ids)];
  const rows = await db.selectFrom("service_accounts").selectAll().where("id", "in", unique).execute();
  return new Map(rows.map((row) => [row.id, toServiceAccount(row)]));
}

/** @throws {GatewayError} `not_found` */
export async function readServiceAccount(
  { db }: Pick<Store, "db">,
  { accountId, id }: { accountId: string; id: string },
): Promise<ServiceAccount> {
  const query = db.selectFrom("service_accounts").selectAll().where("id", "=", id);
  const row = await query.where("account_id", "=", accountId).executeTakeFirst();
  if (row === undefined) throw unknownServiceAccount();
  return toServiceAccount(row);
}

/** Deletes a service account and revokes its keys. @throws {GatewayError} `not_found` */
export async function deleteServiceAccount(
  store: Pick<Store, "change">,
  { accountId, id, by }: { accountId: string; id: string; by: string },
  now: number,
): Promise<void> {
  await store.change(async (db) => {
    // A key that is made at the same time finds it gone, or is revoked here.
    await lockAccount(db, accountId);
    const row = await db
      .deleteFrom("service_accounts")
      .where("id", "=", id)
      .where("account_id", "=", accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) throw unknownServiceAccount();
    await db
      .updateTable("keys")
      .set({ revoked_at: now })
      .where("service_account_id", "=", id)
      .where("revoked_at", "is", null)
      .execute();
    await recordServiceAudit(db, { by, what: "delete", row }, now);
  });
}

async function recordServiceAudit(
  db: Transaction<Database>,
  { by, what, row }: { by: string; what: "create" | "delete"; row: ServiceAccountsTable },
  now: number,
): Promise<void> {
  const { id, account_id: subject, name } = row;
  const detail = { service_account: id, name };
  await recordAudit({ db }, { accountId: by, action: `service_account.${what}`, subject, detail }, now);
}

function toServiceAccount({ id, account_id: accountId, name, created_at: createdAt }: ServiceAccountsTable) {
  return { id, accountId, name, createdAt };
}

function unknownServiceAccount(): GatewayError {
  return new GatewayError("not_found", "No service account of this project has this id");
}
