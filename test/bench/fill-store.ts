import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { openStore, toPayerNumber } from "../../src/db/index.ts";

/** How much stands in a store before it is measured. */
export interface StoreSize {
  accounts: number;
  /** Calls that have ended, by turns of all accounts, over the last 80 days. */
  calls: number;
}

const secret = "0123456789abcdef0123456789abcdef";
const day = 86_400_000;
const days = 80;

/** The key of the account of this number, from 1. */
export const keyOfAccount = (number: number) => `sk-mg-${idOf(number)}-${secret}`;

const idOf = (number: number) => `scale${String(number).padStart(7, "0")}`;

/** What the keys of accounts 1, 2, … have in common, for those who ask with them by turns. */
export const keyPattern = keyOfAccount(0).replace("0000000", "%07d");

const secretHash = createHash("sha256").update(secret).digest("hex");

/** Statements that make accounts and keys; `numbers` is the SQL of a table with the column n, `id` of an account's id. */
function insertAccounts(numbers: string, id: string): string[] {
  return [
    `insert into accounts (id, email, created_at) select ${id}, ${id} || '@example.org', 0 from ${numbers}`,
    `insert into keys (id, account_id, name, secret_hash, created_at)
      select ${id}, ${id}, 'scale', '${secretHash}', 0 from ${numbers}`,
  ];
}

/** Makes accounts with a key each in an empty PostgreSQL database. */
export async function fillPostgresAccounts(url: string, accounts: number): Promise<void> {
  await (await openStore({ url })).close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const numbers = `generate_series(1, ${accounts}) as a(n)`;
  for (const statement of insertAccounts(numbers, "'scale' || lpad(n::text, 7, '0')")) await client.query(statement);
  await client.end();
}

/** Fills the embedded store of a new home, by SQL of its own: through the gateway it would take hours. */
export async function fillStore(home: string, { accounts, calls }: StoreSize): Promise<void> {
  const file = join(home, "modelgate.db");
  await (await openStore({ file })).close();
  const database = new DatabaseSync(file);
  const count = (name: string, to: number) =>
    `with recursive ${name}(n) as (values (1) union all select n + 1 from ${name} where n < ${to})`;
  const numbers = `(${count("a", accounts)} select n from a)`;
  const statements = insertAccounts(numbers, "printf('scale%07d', n)");
  database.exec(`
    pragma synchronous = off;
    pragma cache_size = -500000;
    begin; ${statements.join("; ")}; commit;`);
  if (calls > 0) fillCalls(database, { accounts, calls }, count("c", calls));
  database.exec("pragma wal_checkpoint(truncate)");
  database.close();
}

/** What a call of {@link insertCalls} is named by, beside its account. */
const repeated = ["famA-4.1-nano", "chat", "settled", "reported", "v1", "openai"];

/** Numbers the names of calls, and all accounts as payers. */
export function addNames(database: DatabaseSync): void {
  const names = repeated.map((name) => `('${name}')`).join(", ");
  database.exec(`begin; insert into names (name) values ${names} on conflict (name) do nothing`);
  const addPayer = database.prepare(
    "insert into payers (no, id, account_no) values (?, ?, ?) on conflict (id) do nothing",
  );
  for (const { id } of database.prepare("select id from accounts").all() as { id: string }[]) {
    const number = toPayerNumber(id);
    addPayer.run(number, id, number);
  }
  database.exec("commit");
}

const numberOf = (name: string) => `(select id from names where name = ${name})`;
const payerOf = (id: string) => `(select no from payers where id = ${id})`;

/** The words that insert a call that has ended, for each row of what follows them; its facts are SQL too, `id` of bytes. */
export function insertCalls({ id, account, at }: { id: string; account: string; at: string }): string {
  return `insert into call_rows (id, account_id, key_id, model, capability, premium, state, opened_at, settled_at, quota_day,
    hold_nanodollars, hold_tokens, input_tokens, output_tokens, usage_source, cost_nanodollars, charged_nanodollars,
    quota_tokens, price_version, plugin, status, duration_ms)
    select ${id}, ${payerOf(account)}, ${payerOf(account)}, ${numberOf("'famA-4.1-nano'")}, ${numberOf("'chat'")}, 0,
    ${numberOf("'settled'")}, ${at}, ${at} + 900, (${at}) / ${day}, 0, 900, 350, 120, ${numberOf("'reported'")}, 83000, 0,
    470, ${numberOf("'v1'")}, ${numberOf("'openai'")}, 200, 900`;
}

/** The bytes of an id of a moment, with the number of the call, in SQL of the embedded store. */
const idBytes = (at: string, number: string) => `unhex(printf('%012x%020x', ${at}, ${number}))`;

function fillCalls(database: DatabaseSync, { accounts, calls }: StoreSize, numbers: string): void {
  const indexes = database.prepare(
    "select name, sql from sqlite_master where tbl_name = 'call_rows' and sql like '%index%'",
  );
  // Each is made in one go afterwards, which is the same index and takes minutes less.
  const made = indexes.all().filter(({ sql }) => String(sql).toLowerCase().startsWith("create index"));
  for (const { name } of made) database.exec(`drop index ${name}`);
  const account = `printf('scale%07d', n % ${accounts} + 1)`;
  const from = Date.now() - days * day;
  const at = `${from} + n * ${Math.floor(((days - 1) * day) / calls)}`;
  const id = idBytes(at, "n");
  addNames(database);
  database.exec(`begin; ${numbers} ${insertCalls({ id, account, at })} from c; commit`);
  // The end of a call adds to the quota of its account: without these rows the ledger would not be true.
  database.exec(`insert into daily_quota_usage (account_id, day, used_tokens)
    select account_id, quota_day, sum(quota_tokens) from calls group by account_id, quota_day`);
  for (const { sql } of made) database.exec(String(sql));
}
