import type { Store } from "../db/index.ts";

/** Deletes are cut so that no one of them holds the write lock for long. */
const prunedAtOnceMax = 100;
/** What is left over is deleted by the next tick. */
const chunksMax = 20;

/** Deletes sessions, one-time values and invitations that are over, and returns how many. For a timer of the owner. */
export async function pruneSignIn({ db }: Store, now: number): Promise<number> {
  const at = new Date(now).toISOString();
  const sessions = () => {
    const over = db.selectFrom("sessions").select("id").where("expires_at", "<=", at).limit(prunedAtOnceMax);
    return db.deleteFrom("sessions").where("id", "in", over).executeTakeFirstOrThrow();
  };
  const verifications = () => {
    const over = db.selectFrom("verifications").select("id").where("expires_at", "<=", at).limit(prunedAtOnceMax);
    return db.deleteFrom("verifications").where("id", "in", over).executeTakeFirstOrThrow();
  };
  const invitations = () => {
    const over = db.selectFrom("invitations").select("token_hash").where("expires_at", "<=", now);
    return db
      .deleteFrom("invitations")
      .where("token_hash", "in", over.limit(prunedAtOnceMax))
      .executeTakeFirstOrThrow();
  };
  let pruned = 0;
  for (const prune of [sessions, verifications, invitations]) {
    for (let chunk = 0; chunk < chunksMax; chunk++) {
      const { numDeletedRows } = await prune();
      pruned += Number(numDeletedRows);
      if (numDeletedRows < prunedAtOnceMax) break;
    }
  }
  return pruned;
}
