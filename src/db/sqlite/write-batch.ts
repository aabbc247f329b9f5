import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type MeterName, meterNames } from "../../contract/index.ts";
import type { CallEnded, CallOpened, LedgerWrite } from "../ledger-write.ts";
import { meterColumns } from "../schema.ts";

const dayMs = 86_400_000;

/** What is written of each record: a column and its value. */
type Columns<Of> = Readonly<Record<string, (record: Of) => SQLInputValue>>;

/** What an extension changes. */
const extensionColumns: Columns<CallOpened> = {
  quota_day: (open) => open.quotaDay,
  hold_nanodollars: (open) => open.holdNanodollars,
  hold_tokens: (open) => open.holdTokens,
  budget_month: (open) => open.budgetMonth,
};

const openColumns: Columns<CallOpened> = {
  id: (open) => open.callId,
  account_id: (open) => open.accountId,
  key_id: (open) => open.keyId,
  model: (open) => open.model,
  capability: (open) => open.capability,
  premium: (open) => (open.premium ? 1 : 0),
  opened_at: (open) => open.openedAt,
  price_version: (open) => open.priceVersion,
  ...extensionColumns,
  session: (open) => open.session ?? null,
};

const endColumns: Columns<CallEnded> = {
  ...Object.fromEntries(
    Object.entries(openColumns).map(([column, read]) => [column, ({ open }: CallEnded) => read(open)]),
  ),
  state: (end) => end.state,
  settled_at: (end) => end.settledAt,
  ...ofMeters((end: CallEnded, name) => end.meters[name] ?? null),
  usage_source: (end) => end.usageSource,
  cost_nanodollars: (end) => end.costNanodollars,
  charged_nanodollars: (end) => end.chargedNanodollars,
  quota_tokens: (end) => end.quotaTokens,
  route: (end) => end.route,
  status: (end) => end.status,
  error_code: (end) => end.errorCode,
  first_byte_ms: (end) => end.firstByteMs,
  duration_ms: (end) => end.durationMs,
  protocol: (end) => end.protocol ?? null,
  client_request_id: (end) => end.clientRequestId ?? null,
  detail: (end) => end.detail ?? null,
  tag: (end) => end.tag ?? null,
};

const openValues = createReader(openColumns);
const extensionValues = createReader(extensionColumns);
const endValues = createReader(endColumns);

/** The statements of the hot path, prepared on the store's connection, which checks them against the schema. */
export type LedgerStatements = ReturnType<typeof prepareLedgerStatements>;

export function prepareLedgerStatements(database: DatabaseSync) {
  const extended = Object.keys(extensionColumns).map((column) => `${column} = ?`);
  return {
    begin: database.prepare("begin immediate"),
    commit: database.prepare("commit"),
    openCall: database.prepare(insert("open_calls", Object.keys(openColumns))),
    extendCall: database.prepare(`update open_calls set ${extended} where id = ?`),
    closeCall: database.prepare("delete from open_calls where id = ?"),
    // One that was taken for abandoned is settled after all if its process turns out to be alive. It is then the latest end.
    endCall: database.prepare(
      `${insert("calls", Object.keys(endColumns))} on conflict (id) do update set seq = (select max(seq) + 1 from calls),
        ${Object.keys(endColumns).map((column) => `${column} = excluded.${column}`)} where calls.state = 'abandoned'`,
    ),
    addCharge: database.prepare(addTo("daily_charges", ["account_id", "day"], ["charged_nanodollars"])),
    moveWallet: database.prepare(addTo("wallets", ["account_id"], ["balance_nanodollars"])),
    drawQuota: database.prepare(addTo("daily_quota_usage", ["account_id", "day"], ["used_tokens"])),
    spendBudget: database.prepare(addTo("key_budget_usage", ["account_id", "key_id", "month"], ["spent_nanodollars"])),
  };
}

/** Writes a batch in one transaction: all of it or nothing. */
export function writeBatch(database: DatabaseSync, statements: LedgerStatements, batch: readonly LedgerWrite[]): void {
  statements.begin.run();
  try {
    const totals = new BatchTotals();
    for (const write of batch) {
      if (write.kind === "open") statements.openCall.run(...openValues(write));
      else if (write.kind === "extend") extendCall(statements, write.open);
      else if (writeEnd(statements, write)) totals.add(write);
    }
    totals.write(statements);
    statements.commit.run();
  } catch (error) {
    // A full disk can end the transaction by itself.
    if (database.isTransaction) database.exec("rollback");
    throw error;
  }
}

/** Returns whether the call was still to be ended. */
function writeEnd(statements: LedgerStatements, end: CallEnded): boolean {
  const wasOpen = statements.closeCall.run(end.open.callId).changes > 0;
  if (end.unmade && !wasOpen) return false;
  return statements.endCall.run(...endValues(end)).changes > 0;
}

function extendCall(statements: LedgerStatements, open: CallOpened): void {
  statements.extendCall.run(...extensionValues(open), open.callId);
}

/** What a batch adds to wallets, charges and quota of a day, and budgets, so that each row is written once a batch. */
class BatchTotals {
  readonly #wallets = new Map<string, [string, number]>();
  readonly #charges = new Map<string, [string, number, number]>();
  readonly #quotas = new Map<string, [string, number, number]>();
  readonly #budgets = new Map<string, [string, string, number, number]>();

  add(end: CallEnded): void {
    const { open, chargedNanodollars, quotaTokens } = end;
    const { accountId, keyId, quotaDay, budgetMonth } = open;
    if (chargedNanodollars !== 0) {
      const day = Math.floor(open.openedAt / dayMs);
      addRow(this.#wallets, accountId, [accountId, -chargedNanodollars]);
      addRow(this.#charges, `${day} ${accountId}`, [accountId, day, chargedNanodollars]);
      if (budgetMonth !== null) {
        addRow(this.#budgets, `${budgetMonth} ${keyId}`, [accountId, keyId, budgetMonth, chargedNanodollars]);
      }
    }
    if (quotaDay !== null && quotaTokens !== 0) {
      addRow(this.#quotas, `${quotaDay} ${accountId}`, [accountId, quotaDay, quotaTokens]);
    }
  }

  write(statements: LedgerStatements): void {
    for (const row of this.#wallets.values()) statements.moveWallet.run(...row);
    for (const row of this.#charges.values()) statements.addCharge.run(...row);
    for (const row of this.#quotas.values()) statements.drawQuota.run(...row);
    for (const row of this.#budgets.values()) statements.spendBudget.run(...row);
  }
}

/** Adds to the last value of a row. */
function addRow<Row extends [...(string | number)[], number]>(rows: Map<string, Row>, key: string, row: Row): void {
  const found = rows.get(key);
  if (found === undefined) rows.set(key, row);
  else found[found.length - 1] = (found.at(-1) as number) + (row.at(-1) as number);
}

/** Reads the values of a record in the order of its columns. */
function createReader<Of>(columns: Columns<Of>): (record: Of) => SQLInputValue[] {
  const reads = Object.values(columns);
  return (record) => reads.map((read) => read(record));
}

function ofMeters<Of>(read: (record: Of, name: MeterName) => SQLInputValue): Columns<Of> {
  return Object.fromEntries(meterNames.map((name) => [meterColumns[name], (record: Of) => read(record, name)]));
}

function insert(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns}) values (${columns.map(() => "?")})`;
}

function addTo(table: string, key: readonly string[], sums: readonly string[]): string {
  const added = sums.map((column) => `${column} = ${table}.${column} + excluded.${column}`);
  return `${insert(table, [...key, ...sums])} on conflict (${key}) do update set ${added}`;
}
