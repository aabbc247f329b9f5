import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type CallColumn, callColumns, extensionColumns, openColumns, toCallKey, toStored } from "../call-columns.ts";
import type { EndedCall, LedgerWrite, OpenCall } from "../ledger-records.ts";
import { type NameNumbers, SqliteNames } from "../names.ts";
import { SqlitePayers, toPayerNumber } from "../payers.ts";
import { CountedBudgets } from "./counted-budgets.ts";

const dayMs = 86_400_000;
/** Length of the trial row's text: it makes the row at least as long as the row of a call. */
const triedCharacters = 200;

const openValues = createReader(openColumns);
const extensionValues = createReader(pick(openColumns, extensionColumns));
const endValues = createReader(callColumns);

/** The statements of the hot path, prepared on the store's connection, which checks them against the schema. */
export type LedgerStatements = ReturnType<typeof prepareLedgerStatements>;

export function prepareLedgerStatements(database: DatabaseSync) {
  const extended = extensionColumns.map((column) => `${column} = ?`);
  const [names, payers] = [new SqliteNames(database), new SqlitePayers(database)];
  const dataVersion = database.prepare("pragma data_version");
  const readVersion = () => (dataVersion.get() as { data_version: number }).data_version;
  let version = readVersion();
  const budgets = new CountedBudgets(database);
  return {
    begin: database.prepare("begin immediate"),
    commit: database.prepare("commit"),
    names,
    payers,
    /** For a transaction that has begun: another process may have put another database in the place of this one. */
    forgetIfOthersWrote() {
      const current = readVersion();
      if (current === version) return;
      version = current;
      names.forget();
      payers.forget();
      budgets.forget();
    },
    openCall: database.prepare(insert("open_call_rows", ["id", ...Object.keys(openColumns)])),
    extendCall: database.prepare(`update open_call_rows set ${extended} where id = ?`),
    tryInsert: database.prepare(
      `insert into open_call_rows (id, account_id, key_id, model, capability, premium, opened_at, hold_nanodollars, hold_tokens, session)
        values (?, 0, 0, 1, 1, 0, 0, 0, 0, '${"x".repeat(triedCharacters)}')`,
    ),
    closeCall: database.prepare("delete from open_call_rows where id = ?"),
    // A call that was marked as abandoned is settled after all if its process turns out to be alive. It is then the
    // latest end.
    endCall: database.prepare(
      `${insert("call_rows", ["id", ...Object.keys(callColumns)])} on conflict (id) do update set
        seq = (select max(seq) + 1 from call_rows),
        ${Object.keys(callColumns).map((column) => `${column} = excluded.${column}`)}
        where call_rows.state = (select id from names where name = 'abandoned')`,
    ),
    budgets,
    moveWallet: database.prepare(addTo("wallet_rows", ["account_id"], ["balance_nanodollars"])),
    drawQuota: database.prepare(addTo("daily_quota_usage", ["account_id", "day"], ["used_tokens"])),
    spend: database.prepare(addTo("spending", ["account_id", "subject_id", "name", "day"], ["spent_nanodollars"])),
    noteSession:
      database.prepare(`update spending set first_at = min(coalesce(first_at, ?1), ?1), last_at = max(coalesce(last_at, ?2), ?2)
      where account_id = ?3 and subject_id = ?4 and name = ?5 and day = ?6`),
  };
}

/** Writes a batch in one transaction: all of it or nothing. */
export function writeLedger(database: DatabaseSync, statements: LedgerStatements, batch: readonly LedgerWrite[]): void {
  statements.begin.run();
  try {
    statements.forgetIfOthersWrote();
    const totals = new BatchTotals(statements.budgets);
    for (const write of batch) {
      if (write.kind === "open") openCall(statements, write);
      else if (write.kind === "extend") extendCall(statements, write.open);
      else if (writeEnd(statements, write)) totals.add(write);
    }
    totals.write(statements);
    statements.commit.run();
    statements.names.keep();
    statements.payers.keep();
  } catch (error) {
    // A full disk can end the transaction by itself.
    if (database.isTransaction) database.exec("rollback");
    statements.names.rollBack();
    statements.payers.rollBack();
    throw error;
  }
}

/** `Store.tryWrite` of the embedded store. */
export function tryWrite(database: DatabaseSync, { begin, commit, tryInsert, closeCall }: LedgerStatements): void {
  begin.run();
  try {
    tryInsert.run(triedId);
    closeCall.run(triedId);
    commit.run();
  } catch (error) {
    // A full disk can end the transaction by itself.
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}

/** No call has it, and no other process sees it. */
const triedId = Buffer.from("tried");

function openCall({ openCall: insertOpen, names, payers }: LedgerStatements, open: OpenCall): void {
  payers.admit(open, true);
  insertOpen.run(...openValues(open, names, toCallKey(open.callId)));
}

/** Returns whether the call was still to be ended. */
function writeEnd({ closeCall, endCall, names, payers }: LedgerStatements, end: EndedCall): boolean {
  const key = toCallKey(end.open.callId);
  const wasOpen = closeCall.run(key).changes > 0;
  if (end.unmade && !wasOpen) return false;
  payers.admit(end.open, false);
  return endCall.run(...endValues(end, names, key)).changes > 0;
}

function extendCall({ extendCall: update, names }: LedgerStatements, open: OpenCall): void {
  update.run(...extensionValues(open, names), toCallKey(open.callId));
}

/** Sums of a batch for wallets, spending and daily quota: each row is written once per batch. */
class BatchTotals {
  readonly #budgets: CountedBudgets;
  /** Wallet changes by the number of the account. */
  readonly #wallets = new Map<number, [number, number]>();
  readonly #quotas = new Map<string, [string, number, number]>();
  readonly #spent = new Map<string, [number, number, string, number, number]>();
  /** Calls of sessions: when they began and ended, and their rows. */
  readonly #sessions: [number, number, number, number, string, number][] = [];

  constructor(budgets: CountedBudgets) {
    this.#budgets = budgets;
  }

  add({ open, settledAt, chargedNanodollars, quotaTokens }: EndedCall): void {
    const { accountId, keyId, quotaDay } = open;
    if (chargedNanodollars !== 0) {
      const [account, key] = [toPayerNumber(accountId), toPayerNumber(keyId)];
      const day = Math.floor(open.openedAt / dayMs);
      addRow(this.#wallets, account, [account, -chargedNanodollars]);
      addRow(this.#spent, `${account} ${day}`, [account, account, "", day, chargedNanodollars]);
      addRow(this.#spent, `${account} ${day} ${key}`, [account, key, "", day, chargedNanodollars]);
      for (const { no, name, isSession } of this.#budgets.countedBy(open)) {
        if (isSession) this.#sessions.push([open.openedAt, settledAt, account, no, name, day]);
        addRow(this.#spent, `${account} ${day} ${no} ${name}`, [account, no, name, day, chargedNanodollars]);
      }
    }
    if (quotaDay !== null && quotaTokens !== 0) {
      addRow(this.#quotas, `${quotaDay} ${accountId}`, [accountId, quotaDay, quotaTokens]);
    }
  }

  write(statements: LedgerStatements): void {
    for (const row of this.#wallets.values()) statements.moveWallet.run(...row);
    for (const row of this.#spent.values()) statements.spend.run(...row);
    for (const row of this.#sessions) statements.noteSession.run(...row);
    for (const row of this.#quotas.values()) statements.drawQuota.run(...row);
  }
}

/** Adds to the last value of a row. */
function addRow<Key, Row extends [...(string | number)[], number]>(rows: Map<Key, Row>, key: Key, row: Row): void {
  const rowOfKey = rows.get(key);
  if (rowOfKey === undefined) rows.set(key, row);
  else rowOfKey[rowOfKey.length - 1] = (rowOfKey.at(-1) as number) + (row.at(-1) as number);
}

type Reader<Of> = (record: Of, names: NameNumbers, ...before: SQLInputValue[]) => SQLInputValue[];

/** Reads the values of a record in the order of its columns. Values passed for leading columns come first. */
function createReader<Of>(columns: Readonly<Record<string, CallColumn<Of>>>): Reader<Of> {
  const all = Object.values(columns);
  return (record, names, ...values) => {
    for (const { type, read } of all) {
      const value = read(record);
      values.push(typeof value === "string" ? toStored(type, value, names) : value);
    }
    return values;
  };
}

function pick<Of>(columns: Readonly<Record<string, Of>>, names: readonly string[]): Record<string, Of> {
  return Object.fromEntries(names.map((name) => [name, columns[name] as Of]));
}

function insert(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns}) values (${columns.map(() => "?")})`;
}

function addTo(table: string, key: readonly string[], sums: readonly string[]): string {
  const added = sums.map((column) => `${column} = ${table}.${column} + excluded.${column}`);
  return `${insert(table, [...key, ...sums])} on conflict (${key}) do update set ${added}`;
}
