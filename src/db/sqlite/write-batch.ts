import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { type MeterName, meterNames } from "../../contract/index.ts";
import type { CallEnded, CallOpened, LedgerWrite } from "../ledger-write.ts";
import { bit, type LedgerStatements } from "./ledger-statements.ts";

const hourMs = 3_600_000;

/** Writes a batch in one transaction: all of it or nothing. */
export function writeBatch(database: DatabaseSync, statements: LedgerStatements, batch: readonly LedgerWrite[]): void {
  statements.begin.run();
  try {
    const totals = new BatchTotals();
    for (const write of batch) {
      if (write.kind === "open") writeOpen(statements, write);
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

function writeOpen(statements: LedgerStatements, open: CallOpened): void {
  statements.openCall.run(...openValues(open));
}

/** Returns whether the call was still to be ended. */
function writeEnd(statements: LedgerStatements, end: CallEnded): boolean {
  const { changes } = statements.endCall.run(end.state, ...endValues(end), end.open.callId, "open", "abandoned");
  if (changes === 0) return false;
  insertCharge(statements, end);
  return true;
}

function insertCharge(statements: LedgerStatements, { open, chargedNanodollars, settledAt }: CallEnded): void {
  if (chargedNanodollars === 0) return;
  statements.insertCharge.run(open.callId, open.accountId, -chargedNanodollars, settledAt, "charge", null);
}

/** In the order of the columns that the opening of a call writes. */
function openValues(open: CallOpened): SQLInputValue[] {
  return [
    open.callId,
    open.accountId,
    open.keyId,
    open.model,
    open.capability,
    bit(open.premium),
    "open",
    open.openedAt,
    open.quotaDay,
    open.holdNanodollars,
    open.holdTokens,
    open.priceVersion,
    open.budgetMonth,
    open.partial ? 1 : null,
  ];
}

/** In the order of the columns that the end of a call writes, after its state. */
function endValues(end: CallEnded): SQLInputValue[] {
  const { meters } = end;
  return [
    end.settledAt,
    meters.inputToken ?? null,
    meters.cacheReadToken ?? null,
    meters.cacheWriteToken ?? null,
    meters.outputToken ?? null,
    meters.image ?? null,
    meters.audioMs ?? null,
    meters.character ?? null,
    meters.call ?? null,
    end.usageSource,
    end.costNanodollars,
    end.chargedNanodollars,
    end.quotaTokens,
    end.route,
    end.status,
    end.errorCode,
    end.firstByteMs,
    end.durationMs,
  ];
}

/** One row of `usage_hours` to be added, its sums in the order of the statement. */
interface UsageSum {
  readonly accountId: string;
  readonly hour: number;
  readonly model: string;
  requests: number;
  failures: number;
  readonly meters: Record<MeterName, number>;
  cost: number;
  charged: number;
  quotaTokens: number;
}

/** What a batch adds to wallets, quota days, budgets and usage hours, so that each row is touched once a batch. */
class BatchTotals {
  readonly #wallets = new Map<string, number>();
  readonly #quotas = new Map<string, { accountId: string; day: number; tokens: number }>();
  readonly #budgets = new Map<string, { open: CallOpened; nanodollars: number }>();
  readonly #usage = new Map<string, UsageSum>();

  add(end: CallEnded): void {
    const { open } = end;
    if (end.chargedNanodollars !== 0) {
      const before = this.#wallets.get(open.accountId);
      this.#wallets.set(open.accountId, (before === undefined ? 0 : before) - end.chargedNanodollars);
      if (open.budgetMonth !== null) this.#spend(open, end.chargedNanodollars);
    }
    if (open.quotaDay !== null && end.quotaTokens !== 0) this.#draw(open.accountId, open.quotaDay, end.quotaTokens);
    this.#count(open, end);
  }

  write(statements: LedgerStatements): void {
    for (const [accountId, amount] of this.#wallets) statements.moveWallet.run(accountId, amount);
    for (const { accountId, day, tokens } of this.#quotas.values()) statements.drawQuota.run(accountId, day, tokens);
    for (const { open, nanodollars } of this.#budgets.values()) {
      statements.spendBudget.run(open.accountId, open.keyId, open.budgetMonth, nanodollars);
    }
    for (const sum of this.#usage.values()) {
      const { meters } = sum;
      statements.addUsage.run(
        sum.accountId,
        sum.hour,
        sum.model,
        sum.requests,
        sum.failures,
        meters.inputToken,
        meters.cacheReadToken,
        meters.cacheWriteToken,
        meters.outputToken,
        meters.image,
        meters.audioMs,
        meters.character,
        meters.call,
        sum.cost,
        sum.charged,
        sum.quotaTokens,
      );
    }
  }

  #draw(accountId: string, day: number, tokens: number): void {
    const key = `${day} ${accountId}`;
    const draw = this.#quotas.get(key);
    if (draw === undefined) this.#quotas.set(key, { accountId, day, tokens });
    else draw.tokens += tokens;
  }

  #spend(open: CallOpened, nanodollars: number): void {
    const key = `${open.budgetMonth} ${open.keyId}`;
    const spent = this.#budgets.get(key);
    if (spent === undefined) this.#budgets.set(key, { open, nanodollars });
    else spent.nanodollars += nanodollars;
  }

  #count(open: CallOpened, end: CallEnded): void {
    const hour = Math.floor(open.openedAt / hourMs);
    const key = `${hour} ${open.accountId} ${open.model}`;
    let sum = this.#usage.get(key);
    if (sum === undefined) {
      sum = emptySum(open.accountId, hour, open.model);
      this.#usage.set(key, sum);
    }
    if (end.state === "settled") sum.requests += 1;
    else sum.failures += 1;
    for (const name of meterNames) {
      const amount = end.meters[name];
      if (amount !== undefined) sum.meters[name] += amount;
    }
    if (end.costNanodollars !== null) sum.cost += end.costNanodollars;
    sum.charged += end.chargedNanodollars;
    sum.quotaTokens += end.quotaTokens;
  }
}

function emptySum(accountId: string, hour: number, model: string): UsageSum {
  const meters = {
    inputToken: 0,
    cacheReadToken: 0,
    cacheWriteToken: 0,
    outputToken: 0,
    image: 0,
    audioMs: 0,
    character: 0,
    call: 0,
  };
  return { accountId, hour, model, requests: 0, failures: 0, meters, cost: 0, charged: 0, quotaTokens: 0 };
}
