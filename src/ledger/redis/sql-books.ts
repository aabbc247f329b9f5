import { sql } from "kysely";
import type { BudgetState, Claim } from "../../contract/index.ts";
import { endOfMonth, type OpenWrite, type Store } from "../../store/index.ts";
import type { Taken } from "../account-book.ts";
import { openWriteOf } from "../call-open.ts";
import { type CommitQueue, fundsGone } from "../commit-queue.ts";
import { startOfDay } from "../day.ts";
import { budgetOf } from "../key-book.ts";
import { balanceExceeded, budgetExceeded, callsExceeded, quotaExceeded } from "../refusals.ts";
import { type Figures, figuresOf, hasPartial, type KeyFigures, keyFiguresOf } from "./figures.ts";
import { readWritten, type Written } from "./read-written.ts";

/** Each try that fails means that another node took something; so many in a row are no bad luck. */
const triesMax = 16;

/**
 * Holds taken in SQL alone, for as long as Redis cannot be used. What is available is read first and judged again by
 * the statement that writes the hold, so that it is right across all nodes of one database.
 */
export class SqlBooks {
  readonly #store: Store;
  readonly #queue: CommitQueue;

  constructor(store: Store, queue: CommitQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  /**
   * Takes a call's hold and writes it down.
   *
   * @throws {GatewayError} Naming the one limit that blocks.
   */
  async admit(claim: Claim, now: number): Promise<OpenWrite> {
    const { accountId, limits } = claim.caller;
    // What Redis let in before it was gone is on its way to the books, and must be seen there.
    await this.#queue.tried();
    for (let tries = 0; tries < triesMax; tries++) {
      const written = await readWritten(this.#store, { accountId, callIds: [], now });
      checkKey(claim, written, now);
      const most = limits.concurrentCalls;
      if (most !== undefined && written.open.length >= most) throw callsExceeded(most);
      const open = openWriteOf(claim, take(claim, written, now), true);
      if (this.#store.shared ? await this.#queued(open) : await this.#inserted(open)) return open;
    }
    throw new Error(`The hold of call ${claim.callId} was taken away by others ${triesMax} times`);
  }

  async figures(
    accountId: string,
    keyId: string | undefined,
    now: number,
  ): Promise<Figures & { ofKey: KeyFigures | undefined }> {
    const written = await readWritten(this.#store, { accountId, callIds: [], now });
    return { ...figuresOf(written, now), ofKey: keyId === undefined ? undefined : keyFiguresOf(written, keyId, now) };
  }

  /** A shared store judges guarded holds itself. */
  async #queued(open: OpenWrite): Promise<boolean> {
    const failures = await this.#queue.add(open);
    if (!failures?.has(open)) return true;
    if (failures.get(open) === fundsGone) return false;
    throw failures.get(open);
  }

  /** One statement: a transaction of several would lock the file across turns of the event loop. */
  async #inserted(open: OpenWrite): Promise<boolean> {
    const row = rowOf(open);
    const held = open.premium ? sql.ref("hold_nanodollars") : sql.ref("hold_tokens");
    const ofDay = open.premium ? sql`` : sql`and quota_day = ${open.quotaDay}`;
    const hold = open.premium ? open.holdNanodollars : open.holdTokens;
    const owned = open.premium
      ? sql`coalesce((select balance_nanodollars from wallets where account_id = ${open.accountId}), 0)`
      : sql`${open.guard?.quotaLimit} - coalesce((select used_tokens from quota_days
          where account_id = ${open.accountId} and day = ${open.quotaDay}), 0)`;
    const { rows } = await sql`
      insert into calls (${sql.join(Object.keys(row).map((column) => sql.ref(column)))})
      select ${sql.join(Object.values(row))} where ${owned} - coalesce((select sum(${held}) from calls
        where account_id = ${open.accountId} and state = 'open' ${ofDay}), 0) >= ${Math.max(1, hold)}
        ${inBudget(open)} ${aloneInPart(open)}
      returning id`.execute(this.#store.db);
    return rows.length > 0;
  }
}

/** @throws {GatewayError} Naming the bound of the key that blocks. */
function checkKey(claim: Claim, written: Written, now: number): void {
  const { own, keyId } = claim.caller;
  if (own === undefined) return;
  const budget = budgetStateOf(claim, written, now);
  if (budget !== undefined && availableOf(budget) <= 0) throw budgetExceeded(budget, now);
  const most = own.concurrentCalls;
  if (most !== undefined && keyFiguresOf(written, keyId, now).running >= most) throw callsExceeded(most, "key");
}

/** That the budget of the key has as much as the hold takes. */
function inBudget({ accountId, keyId, budgetMonth, guard, holdNanodollars }: OpenWrite) {
  const limit = guard?.budgetLimit;
  if (limit === undefined || budgetMonth === null) return sql``;
  return sql`and ${limit} - coalesce((select spent_nanodollars from key_months
      where account_id = ${accountId} and key_id = ${keyId} and month = ${budgetMonth}), 0)
    - coalesce((select sum(hold_nanodollars) from calls where account_id = ${accountId} and state = 'open'
      and key_id = ${keyId} and budget_month = ${budgetMonth}), 0) >= ${Math.max(1, holdNanodollars)}`;
}

function take(claim: Claim, written: Written, now: number): Taken {
  const figures = figuresOf(written, now);
  return claim.premium ? takeMoney(claim, { written, figures }, now) : takeQuota(claim, { written, figures }, now);
}

interface Known {
  written: Written;
  figures: Figures;
}

function takeMoney(claim: Claim, { written, figures }: Known, now: number): Taken {
  const { balanceNanodollars: balance, heldNanodollars: held } = figures;
  const available = balance - held;
  if (available <= 0) throw balanceExceeded(claim.model, balance, held);
  const budget = budgetStateOf(claim, written, now);
  const inBudget = budget === undefined ? available : availableOf(budget);
  const holdNanodollars = Math.min(available, inBudget, claim.holdNanodollars);
  const partial = holdNanodollars < claim.holdNanodollars;
  if (partial && hasPartial(written, null)) {
    throw budget !== undefined && inBudget < available
      ? budgetExceeded(budget, now)
      : balanceExceeded(claim.model, balance, held);
  }
  return { quotaDay: null, holdNanodollars, holdTokens: 0, budgetMonth: budget?.month ?? null, partial };
}

function takeQuota(claim: Claim, { written, figures }: Known, now: number): Taken {
  const { usedTokens: used, heldTokens: held, day } = figures;
  const limit = claim.caller.freeTokensPerDay;
  const available = limit - used - held;
  const holdTokens = Math.min(available, claim.holdTokens);
  const partial = holdTokens < claim.holdTokens;
  if (available <= 0 || (partial && hasPartial(written, day))) {
    throw quotaExceeded({ limit, used, held }, startOfDay(day + 1), now);
  }
  return { quotaDay: day, holdNanodollars: 0, holdTokens, budgetMonth: null, partial };
}

/** The budget that a call draws on, with its month; absent where none does. */
function budgetStateOf(claim: Claim, written: Written, now: number): (BudgetState & { month: number }) | undefined {
  const limitNanodollars = budgetOf(claim);
  if (limitNanodollars === undefined) return undefined;
  const { month, spentNanodollars, heldNanodollars } = keyFiguresOf(written, claim.caller.keyId, now);
  return { month, limitNanodollars, spentNanodollars, heldNanodollars, resetsAt: endOfMonth(month) };
}

function availableOf({ limitNanodollars, spentNanodollars, heldNanodollars }: BudgetState): number {
  return limitNanodollars - spentNanodollars - heldNanodollars;
}

/** That no other call of the account holds less than it may cost. */
function aloneInPart({ accountId, partial, premium, quotaDay }: OpenWrite) {
  if (!partial) return sql``;
  const sameKind = premium ? sql`premium = 1` : sql`quota_day = ${quotaDay}`;
  return sql`and not exists (select 1 from calls where account_id = ${accountId} and state = 'open' and partial = 1
    and ${sameKind})`;
}

function rowOf(open: OpenWrite) {
  return {
    id: open.callId,
    account_id: open.accountId,
    key_id: open.keyId,
    model: open.model,
    capability: open.capability,
    premium: open.premium ? 1 : 0,
    state: "open",
    opened_at: open.openedAt,
    quota_day: open.quotaDay,
    hold_nanodollars: open.holdNanodollars,
    hold_tokens: open.holdTokens,
    price_version: open.priceVersion,
    budget_month: open.budgetMonth,
    partial: open.partial ? 1 : null,
  };
}
