import type { Store, TransactionScope } from "../db/index.ts";

/**
 * Orders to take a provider's paused routes back into use. Circuits are in the memory of each gateway, so an order is a row of
 * the database that each gateway carries out once.
 */

/** An order about a provider. */
export interface ResumeOrder {
  readonly provider: string;
  /** The id of a model; absent: all routes of the provider. */
  readonly model?: string | undefined;
  /** The id of the key that was accepted; absent: all keys. */
  readonly keyId?: string | undefined;
}

/** Every gateway has read an order long before it is this old. */
const keptMs = 86_400_000;

/** Writes an order in a transaction that is open. */
export async function writeResume(
  { db }: Pick<TransactionScope, "db">,
  { provider, model = "", keyId = "" }: ResumeOrder,
  now: number,
): Promise<void> {
  await db
    .deleteFrom("route_resumes")
    .where("at", "<", now - keptMs)
    .execute();
  const about = { provider, model, key_id: keyId };
  const before = await db
    .selectFrom("route_resumes")
    .select("at")
    .where((eb) => eb.and(about))
    .executeTakeFirst();
  // Later than the order before it, whatever the clocks of the gateways say.
  const at = Math.max(now, (before?.at ?? 0) + 1);
  await db
    .insertInto("route_resumes")
    .values({ ...about, at })
    .onConflict((conflict) => conflict.columns(["provider", "model", "key_id"]).doUpdateSet({ at }))
    .execute();
}

/** Tells the orders of a database that this process has not carried out. */
export class ResumeReader {
  readonly #store: Pick<Store, "db">;
  /** The time of the last order about the same, of those carried out. */
  #done = new Map<string, number>();

  constructor(store: Pick<Store, "db">) {
    this.#store = store;
  }

  /** Reads the orders since the last time. Those of before the first time concern other processes. */
  async read(): Promise<ResumeOrder[]> {
    const rows = await this.#store.db.selectFrom("route_resumes").selectAll().orderBy("at").execute();
    const before = this.#done;
    this.#done = new Map(rows.map(({ at, ...about }) => [JSON.stringify(about), at]));
    return rows
      .filter(({ at, ...about }) => at > (before.get(JSON.stringify(about)) ?? 0))
      .map(({ provider, model, key_id: keyId }) => ({
        provider,
        ...(model !== "" && { model }),
        ...(keyId !== "" && { keyId }),
      }));
  }
}
