import type { EndWrite } from "../../book-write.ts";
import type { BudgetAsked, BudgetFunds, Funds } from "../../funds.ts";
import type { JournalBatch } from "./journal-line.ts";

interface WaitingBatch extends JournalBatch {
  readonly bytes: number;
}

/** What an account's waiting batches will take from it. */
interface WaitingFunds {
  writes: number;
  nanodollars: number;
  /** Tokens by day. */
  readonly quota: Map<number, number>;
  /** Nanodollars by key and month; absent while no key with a budget is among them. */
  budgets: Map<string, BudgetSpent> | undefined;
}

interface BudgetSpent {
  readonly keyId: string;
  readonly month: number;
  nanodollars: number;
}

/** The batches that are in the journal and not applied yet, and what they mean for the accounts. */
export class WaitingBatches {
  #batches: WaitingBatch[] = [];
  readonly #funds = new Map<string, WaitingFunds>();
  #bytes = 0;
  #writes = 0;

  get all(): readonly JournalBatch[] {
    return this.#batches;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get writes(): number {
    return this.#writes;
  }

  add(batch: WaitingBatch): void {
    this.#batches.push(batch);
    this.#bytes += batch.bytes;
    this.#writes += batch.writes.length;
    for (const write of batch.writes) if (write.kind === "end") this.#count(write, 1);
  }

  /** Lets go of the batches up to this one, which are applied, and returns them. */
  shift(applied: number): readonly JournalBatch[] {
    const [first] = this.#batches;
    if (first === undefined) return [];
    const gone = this.#batches.splice(0, applied - first.sequence + 1);
    for (const { bytes, writes } of gone) {
      this.#bytes -= bytes;
      this.#writes -= writes.length;
      for (const write of writes) if (write.kind === "end") this.#count(write, -1);
    }
    return gone;
  }

  /** Whether one of them ends this call. Looks at all of them. */
  ends(callId: string): boolean {
    return this.#batches.some(({ writes }) =>
      writes.some((write) => write.kind === "end" && write.open.callId === callId),
    );
  }

  /** What will be written of an account when they are applied, given what is written now. */
  settle(accountId: string, written: Funds, asked?: BudgetAsked): Funds {
    const waiting = this.#funds.get(accountId);
    if (waiting === undefined) return written;
    let { quotaDay, usedTokens } = written;
    for (const [day, tokens] of waiting.quota) {
      if (tokens === 0) continue;
      if (day === quotaDay) usedTokens += tokens;
      else if (quotaDay === undefined || day > quotaDay) [quotaDay, usedTokens] = [day, tokens];
    }
    const balanceNanodollars = written.balanceNanodollars - waiting.nanodollars;
    if (asked === undefined || written.budget === undefined) return { balanceNanodollars, quotaDay, usedTokens };
    const budget = settleBudget(waiting, written.budget, asked);
    return { balanceNanodollars, quotaDay, usedTokens, budget };
  }

  #count({ open, chargedNanodollars, quotaTokens }: EndWrite, sign: 1 | -1): void {
    let funds = this.#funds.get(open.accountId);
    if (funds === undefined) {
      funds = { writes: 0, nanodollars: 0, quota: new Map(), budgets: undefined };
      this.#funds.set(open.accountId, funds);
    }
    funds.writes += sign;
    funds.nanodollars += sign * chargedNanodollars;
    if (open.quotaDay !== null) {
      const before = funds.quota.get(open.quotaDay);
      funds.quota.set(open.quotaDay, (before === undefined ? 0 : before) + sign * quotaTokens);
    }
    if (open.budgetMonth !== null) spend(funds, open.keyId, open.budgetMonth, sign * chargedNanodollars);
    if (funds.writes === 0) this.#funds.delete(open.accountId);
  }
}

function spend(funds: WaitingFunds, keyId: string, month: number, nanodollars: number): void {
  funds.budgets ??= new Map();
  const name = `${month} ${keyId}`;
  const spent = funds.budgets.get(name);
  if (spent === undefined) funds.budgets.set(name, { keyId, month, nanodollars });
  else spent.nanodollars += nanodollars;
}

function settleBudget({ budgets }: WaitingFunds, written: BudgetFunds, asked: BudgetAsked): BudgetFunds {
  let { month, spentNanodollars } = written;
  for (const spent of budgets?.values() ?? []) {
    if (spent.keyId !== asked.keyId || spent.month < asked.month || spent.nanodollars === 0) continue;
    if (spent.month === month) spentNanodollars += spent.nanodollars;
    else if (month === undefined || spent.month > month) [month, spentNanodollars] = [spent.month, spent.nanodollars];
  }
  return { ...written, month, spentNanodollars };
}
