import type { Store } from "../db/index.ts";

/** A browser that is signed in. */
export interface Session {
  id: string;
  /** Milliseconds since 1970, as the other time. */
  createdAt: number;
  expiresAt: number;
  /** What the browser says it is; absent when it says nothing. */
  userAgent: string | undefined;
}

const listedMax = 200;

/** Where a person is signed in, the latest first. */
export async function listSessions({ db }: Store, userId: string, now: number): Promise<Session[]> {
  const rows = await db
    .selectFrom("sessions")
    .select(["id", "created_at", "expires_at", "user_agent"])
    .where("user_id", "=", userId)
    .where("expires_at", ">", new Date(now).toISOString())
    .orderBy("created_at", "desc")
    .orderBy("id")
    .limit(listedMax)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    createdAt: Date.parse(row.created_at),
    expiresAt: Date.parse(row.expires_at),
    userAgent: row.user_agent?.slice(0, 300) || undefined,
  }));
}

/** Signs one browser of a person out. Returns whether there was such a one. */
export async function endSession({ db }: Store, userId: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("sessions")
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
