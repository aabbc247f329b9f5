import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { BatchTotals } from "./batch-totals.ts";
import { bit, type LedgerStatements } from "./ledger-statements.ts";
import type { CallEnded, CallOpened, LedgerWrite } from "./ledger-write.ts";

/** Writes a batch in one transaction: all of it stands afterwards, or none. */
export function writeBatch(database: DatabaseSync, statements: LedgerStatements, batch: readonly LedgerWrite[]): void {
  statements.begin.run();
  try {
    const usageMeter = new BatchTotals();
    for (const write of batch) {
      if (write.kind === "open") writeOpen(statements, write);
      else if (writeEnd(statements, write)) usageMeter.add(write);
    }
    usageMeter.write(statements);
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
  enterCharge(statements, end);
  return true;
}

function enterCharge(statements: LedgerStatements, { open, chargedNanodollars, settledAt }: CallEnded): void {
  if (chargedNanodollars === 0) return;
  statements.enterCharge.run(open.callId, open.accountId, -chargedNanodollars, settledAt, "charge", null);
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
