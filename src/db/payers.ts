/**
 * Rows of calls and wallets refer to accounts and keys by number. Such a number decides who pays, so it is computed
 * from the id of the account or key: a database never assigns it to another payer, whatever a restore or a failover has
 * lost.
 *
 * The table `payers` maps each number to its id. The row of a payer is written before the first row that uses its
 * number, and names the account of a key. The statements that hold and charge look for it, so a database that has lost
 * the row, or never had it, charges nobody.
 */
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { Kysely } from "kysely";
import { UnknownPayerError } from "./errors.ts";
import type { LedgerWrite } from "./ledger-records.ts";
import type { PinnedConnection } from "./postgres/ordered-connection.ts";
import type { Database } from "./schema.ts";

/** Maximum size of each cache; beyond it the cache is emptied. */
const cachedMax = 200_000;
const numbers = new Map<string, number>();

/**
 * Number of an account or key: the first 53 bits of the SHA-256 of its id. Two of a million have the same one with a
 * probability of 1 : 18 000; the row of the second cannot be written then, and its calls are refused.
 */
export function toPayerNumber(id: string): number {
  const cachedNumber = numbers.get(id);
  if (cachedNumber !== undefined) return cachedNumber;
  const hash = createHash("sha256").update(id).digest();
  const number = hash.readUIntBE(0, 6) * 32 + (hash.readUInt8(6) >> 3);
  if (numbers.size >= cachedMax) numbers.clear();
  numbers.set(id, number);
  return number;
}

/** Account and key of a call. */
export interface Payer {
  readonly accountId: string;
  readonly keyId: string;
}

/** Keys whose rows in `payers` this process has seen, with their accounts. */
class KnownPayers {
  readonly #accountIds = new Map<string, string>();

  has({ accountId, keyId }: Payer): boolean {
    return this.#accountIds.get(keyId) === accountId;
  }

  add({ accountId, keyId }: Payer): void {
    if (this.#accountIds.size >= cachedMax) this.#accountIds.clear();
    this.#accountIds.set(keyId, accountId);
  }

  delete(keyId: string): void {
    this.#accountIds.delete(keyId);
  }

  clear(): void {
    this.#accountIds.clear();
  }
}

/** Payers of the embedded store. New ones are inserted by the transaction that is open. */
export class SqlitePayers {
  readonly #known = new KnownPayers();
  readonly #isKey: ReturnType<DatabaseSync["prepare"]>;
  readonly #insert: ReturnType<DatabaseSync["prepare"]>;
  /** Keys of the open transaction. */
  #added: string[] = [];

  constructor(database: DatabaseSync) {
    this.#isKey = database.prepare("select 1 from keys where id = +? and account_id = +?");
    this.#insert = database.prepare(
      `insert into payers (no, id, account_no) values (?, ?, ?) on conflict (id) do update
        set account_no = excluded.account_no where payers.account_no is null`,
    );
  }

  /**
   * Ensures that account and key of a call have their rows. The end of a call is written even if they do not exist: a
   * served call stays in the ledger, and `verifyLedger` reports it.
   *
   * @throws {UnknownPayerError} For a hold, when the key is not a key of that account.
   */
  admit(payer: Payer, isHold: boolean): void {
    if (this.#known.has(payer)) return;
    const { accountId, keyId } = payer;
    const isKey = this.#isKey.get(keyId, accountId) !== undefined;
    if (isHold && !isKey) throw new UnknownPayerError(payer);
    const accountNo = isKey ? toPayerNumber(accountId) : null;
    this.#insert.run(toPayerNumber(accountId), accountId, accountNo);
    this.#insert.run(toPayerNumber(keyId), keyId, accountNo);
    if (!isKey) return;
    this.#known.add(payer);
    this.#added.push(keyId);
  }

  keep(): void {
    if (this.#added.length > 0) this.#added = [];
  }

  /** After a rollback the rows of the transaction are not there. */
  rollBack(): void {
    for (const keyId of this.#added) this.#known.delete(keyId);
    this.#added = [];
  }

  forget(): void {
    this.#known.clear();
  }
}

/** Adds the rows of payers that are missing, and returns the keys that are no keys of their accounts. */
const admitText = `with given as (
    select given.*, exists (select from keys where keys.id = key_id and keys.account_id = given.account_id) as is_key
    from json_to_recordset($1) as given (account_id text, account_no bigint, key_id text, key_no bigint, is_hold boolean)
  ), payer as (
    select no, id, max(owner_no) as owner_no from given, lateral (values
      (account_no, account_id, case when is_key then account_no end), (key_no, key_id, case when is_key then account_no end)
    ) as payer (no, id, owner_no) where is_key or not is_hold group by no, id
  ), added as (
    insert into payers (no, id, account_no) select no, id, owner_no from payer where not exists (
      select from payers where payers.id = payer.id and (payers.account_no is not null or owner_no is null)) order by no
    on conflict (id) do update set account_no = excluded.account_no where payers.account_no is null
  )
  select account_id as "accountId", key_id as "keyId", is_hold as "isHold" from given where not is_key`;

function toRow({ accountId, keyId }: Payer, isHold: boolean): string {
  const numbers = { account_no: toPayerNumber(accountId), key_no: toPayerNumber(keyId) };
  return JSON.stringify({ account_id: accountId, key_id: keyId, ...numbers, is_hold: isHold });
}

/** Payers of PostgreSQL. Their rows are committed before the rows that refer to them. */
export class PostgresPayers {
  readonly #known = new KnownPayers();

  /**
   * Payers of a batch whose rows this process has not seen, keyed by the JSON that {@link PostgresPayers.admit} sends
   * for each.
   */
  findUnknown(batch: readonly LedgerWrite[]): ReadonlyMap<string, Payer> | undefined {
    let unknown: Map<string, Payer> | undefined;
    for (const write of batch) {
      const payer = write.kind === "open" ? write : write.open;
      if (this.#known.has(payer)) continue;
      unknown ??= new Map();
      unknown.set(toRow(payer, write.kind !== "end"), payer);
    }
    return unknown;
  }

  /**
   * Admits the payers of a batch, as {@link SqlitePayers.admit} does.
   *
   * @throws {UnknownPayerError} For holds of keys that are not keys of their accounts.
   */
  async admit(connection: PinnedConnection, wanted: ReadonlyMap<string, Payer>): Promise<void> {
    const statement = { name: "admit_payers", text: admitText, values: [`[${[...wanted.keys()]}]`] };
    const { rows: strangers } = await connection.query<Payer & { isHold: boolean }>(statement);
    const stranger = strangers.find(({ isHold }) => isHold);
    if (stranger !== undefined) throw new UnknownPayerError(stranger);
    const keyIds = new Set(strangers.map(({ keyId }) => keyId));
    for (const payer of wanted.values()) if (!keyIds.has(payer.keyId)) this.#known.add(payer);
  }

  forget(): void {
    this.#known.clear();
  }
}

/** Adds the row of an account to `payers` if it is missing. For a transaction that has seen that the account exists. */
export async function addPayingAccount(db: Kysely<Database>, accountId: string): Promise<void> {
  const no = toPayerNumber(accountId);
  await db
    .insertInto("payers")
    .values({ no, id: accountId, account_no: no })
    .onConflict((conflict) =>
      conflict.column("id").doUpdateSet({ account_no: no }).where("payers.account_no", "is", null),
    )
    .execute();
}
