import { type Kysely, PostgresAdapter, sql, type Transaction } from "kysely";
import type { Claim } from "../../contract/index.ts";
import type { Database, OpenWrite, Store } from "../../store/index.ts";
import type { Taken } from "../account-book.ts";
import { openWriteOf } from "../call-open.ts";
import { startOfDay } from "../day.ts";
import { balanceExceeded, callsExceeded, quotaExceeded } from "../refusals.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { readWritten } from "./read-written.ts";

/**
 * Holds taken in SQL alone, one transaction each, for as long as Redis cannot be used: slower, and right across all
 * nodes of one database.
 */
export class SqlBooks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Takes a call's hold and writes it down.
   *
   * @throws {GatewayError} Naming the one limit that blocks.
   */
  async admit(claim: Claim, now: number): Promise<OpenWrite> {
    const { accountId, limits } = claim.caller;
    return await this.#store.db.transaction().execute(async (db) => {
      await lockAccount(db, accountId);
      const written = await readWritten(db, accountId, []);
      const most = limits.concurrentCalls;
      if (most !== undefined && written.open.length >= most) throw callsExceeded(most);
      const open = openWriteOf(claim, take(claim, figuresOf(written, now), now));
      await db.insertInto("calls").values(rowOf(open)).execute();
      return open;
    });
  }

  async figures(accountId: string, now: number): Promise<Figures> {
    return figuresOf(await readWritten(this.#store.db, accountId, []), now);
  }
}

function take(claim: Claim, figures: Figures, now: number): Taken {
  const { balanceNanodollars: balance, heldNanodollars: held, usedTokens: used, heldTokens, day } = figures;
  if (claim.premium) {
    if (balance - held <= 0) throw balanceExceeded(claim.model, balance, held);
    return { quotaDay: null, holdNanodollars: Math.min(balance - held, claim.holdNanodollars), holdTokens: 0 };
  }
  const limit = claim.caller.freeTokensPerDay;
  const available = limit - used - heldTokens;
  if (available <= 0) throw quotaExceeded({ limit, used, held: heldTokens }, startOfDay(day + 1), now);
  return { quotaDay: day, holdNanodollars: 0, holdTokens: Math.min(available, claim.holdTokens) };
}

/** SQLite's transactions exclude each other already. */
async function lockAccount(db: Transaction<Database>, accountId: string): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`select pg_advisory_xact_lock(hashtextextended(${accountId}, 0))`.execute(db);
}

function isPostgres(db: Kysely<Database>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

function rowOf(open: OpenWrite) {
  return {
    id: open.callId,
    account_id: open.accountId,
    key_id: open.keyId,
    model: open.model,
    capability: open.capability,
    premium: open.premium ? 1 : 0,
    state: "open" as const,
    opened_at: open.openedAt,
    quota_day: open.quotaDay,
    hold_nanodollars: open.holdNanodollars,
    hold_tokens: open.holdTokens,
    price_version: open.priceVersion,
  };
}
