/** Managed rows that belong to an account, or to every account: how one of them is read, changed and removed. */
import type { Transaction } from "kysely";
import { type Administrator, recordAudit } from "../audit/index.ts";
import { GatewayError, quoteValue } from "../contract/index.ts";
import type { Database, Store, TransactionScope } from "../db/index.ts";
import { type Fields, toJson } from "../lib/fields.ts";
import { lockManaged } from "./roles.ts";

/** Stands in place of the id of an account for what is about every account. */
export const eachAccount = "";

type OwnedTable = "markups" | "model_limits" | "policies";

/** The actor of a change, and the owner of the rows. */
export interface OwnedBy {
  readonly by: Administrator;
  /** {@link eachAccount}: those of every account. */
  readonly accountId: string;
}

interface OwnedRows<Row> {
  /** @param accountId Absent: of any account. @throws {GatewayError} `not_found` */
  read(store: Pick<Store, "db">, accountId: string | undefined, id: string): Promise<Row>;
  /** @param check Throws for a row that cannot be. @throws {GatewayError} `not_found`, `forbidden` */
  change(
    store: TransactionScope,
    change: OwnedBy & { readonly id: string; readonly changes: Partial<Row> },
    now: number,
    check?: (row: Row) => void,
  ): Promise<Row>;
  /** @throws {GatewayError} `not_found`, `forbidden` */
  remove(store: TransactionScope, row: OwnedBy & { readonly id: string }, now: number): Promise<void>;
  /** Runs work on the owner's rows, which nobody else changes meanwhile. @throws {GatewayError} `not_found`, `forbidden` */
  inOwner<Result>(
    store: TransactionScope,
    owner: OwnedBy,
    work: (db: Transaction<Database>) => Promise<Result>,
  ): Promise<Result>;
  /** Writes the audit entry of a row. */
  record(db: Transaction<Database>, by: Administrator, what: string, row: Row, now: number): Promise<void>;
}

/**
 * @param things How the rows are called in an error: "There is no markup with …".
 * @param actions What is done in the audit log: `markup.set`.
 */
export function ownedRows<Table extends OwnedTable>({
  table: name,
  things,
  action,
  actions,
  fields,
}: {
  table: Table;
  things: string;
  action: string;
  actions: { readonly change: string; readonly remove: string };
  fields: Fields<Database[Table]>;
}): OwnedRows<Database[Table]> {
  type Row = Database[Table];
  // The tables have these columns in common.
  const table = name as "markups";
  const unknown = (id: string) => new GatewayError("not_found", `There ${things} with the id ${quoteValue(id)} here`);
  const expectRow = (row: unknown, id: string): Row => {
    if (row === undefined) throw unknown(id);
    return row as Row;
  };
  const inOwner: OwnedRows<Row>["inOwner"] = (store, { by, accountId }, work) =>
    store.change(async (db) => {
      if (accountId !== eachAccount) await lockManaged(db, by, accountId);
      return await work(db);
    });
  const record: OwnedRows<Row>["record"] = (db, by, what, row, now) => {
    const account = row.account_id === eachAccount ? null : row.account_id;
    const detail = { account, ...toJson<Row, Fields<Row>>(fields, row) };
    return recordAudit({ db }, { accountId: by.accountId, action: `${action}.${what}`, subject: row.id, detail }, now);
  };
  return {
    inOwner,
    record,
    async read({ db }, accountId, id) {
      let query = db.selectFrom(table).selectAll().where("id", "=", id);
      if (accountId !== undefined) query = query.where("account_id", "=", accountId);
      return expectRow(await query.executeTakeFirst(), id);
    },
    change: (store, { by, accountId, id, changes }, now, check) =>
      inOwner(store, { by, accountId }, async (db) => {
        const changed = await db
          .updateTable(table)
          .set({ ...changes, id })
          .where("id", "=", id)
          .where("account_id", "=", accountId)
          .returningAll()
          .executeTakeFirst();
        const row = expectRow(changed, id);
        check?.(row);
        await record(db, by, actions.change, row, now);
        return row;
      }),
    remove: (store, { by, accountId, id }, now) =>
      inOwner(store, { by, accountId }, async (db) => {
        const removed = await db
          .deleteFrom(table)
          .where("id", "=", id)
          .where("account_id", "=", accountId)
          .returningAll()
          .executeTakeFirst();
        await record(db, by, actions.remove, expectRow(removed, id), now);
      }),
  };
}

/** @throws {GatewayError} `invalid_request` for a key of somebody else. */
export async function expectKeyOf(
  db: Transaction<Database>,
  accountId: string,
  keyId: string,
  param = "api_key_id",
): Promise<void> {
  const query = db.selectFrom("keys").select("id").where("id", "=", keyId).where("account_id", "=", accountId);
  if ((await query.executeTakeFirst()) !== undefined) return;
  throw new GatewayError("invalid_request", `${param}: the project has no key ${quoteValue(keyId)}`, { param });
}
