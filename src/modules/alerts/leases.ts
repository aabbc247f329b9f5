import type { Store } from "../../db/index.ts";

/**
 * Whether this process is the one that does some work now, which is due again after `ms`. Of several nodes that ask at
 * the same time one gets it.
 */
export async function tryAcquireLease(
  { db }: Pick<Store, "db">,
  name: string,
  ms: number,
  now: number,
): Promise<boolean> {
  const turn = { name, next_at: now + ms };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("alert_turns")
    .values(turn)
    .onConflict((conflict) =>
      conflict.column("name").doUpdateSet({ next_at: turn.next_at }).where("alert_turns.next_at", "<=", now),
    )
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}
