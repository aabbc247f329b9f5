/**
 * Branches of sessions that were ended: their running calls end, and their next calls are refused for a while, because an agent that
 * lost one call makes the next. Each gateway of the database reads them when it hears of a change.
 */
import { type Administrator, createAudited } from "../audit/index.ts";
import type { Database, Store, TransactionScope } from "../db/index.ts";

/** For how long calls of an ended branch are refused. */
const branchRefusedMs = 10 * 60_000;

/** Ended branches of an account that are kept; the oldest make room. */
const branchesMax = 100;

/** An agent of a session and everything below it, or without an agent all of the session. */
export interface Branch {
  readonly accountId: string;
  readonly session: string;
  readonly agent: string | undefined;
}

export interface EndedBranch extends Branch {
  readonly endedAt: number;
  /** From then on its calls are served again. */
  readonly refusedUntil: number;
}

/** Ends a branch. `running` is how many calls end with it, for the audit log. */
export async function endBranch(
  store: TransactionScope,
  { by, branch, running }: { by: Pick<Administrator, "accountId">; branch: Branch; running: number },
  now: () => number,
): Promise<EndedBranch> {
  const { accountId, session, agent } = branch;
  const endedAt = now();
  const refusedUntil = endedAt + branchRefusedMs;
  const row = { account_id: accountId, session, agent: agent ?? "" };
  const times = { ended_at: endedAt, refused_until: refusedUntil };
  await createAudited(store, now)(
    async ({ db }) => {
      await db.deleteFrom("ended_branches").where("refused_until", "<=", endedAt).execute();
      await db
        .insertInto("ended_branches")
        .values({ ...row, ...times })
        .onConflict((conflict) => conflict.columns(["account_id", "session", "agent"]).doUpdateSet(times))
        .execute();
      const older = await db
        .selectFrom("ended_branches")
        .select("ended_at")
        .where("account_id", "=", accountId)
        .orderBy("ended_at", "desc")
        .offset(branchesMax)
        .limit(1)
        .executeTakeFirst();
      if (older !== undefined) {
        const ofAccount = db.deleteFrom("ended_branches").where("account_id", "=", accountId);
        await ofAccount.where("ended_at", "<=", older.ended_at).execute();
      }
    },
    () => ({
      accountId: by.accountId,
      action: "session.end",
      subject: session,
      detail: { account: accountId, agent: agent ?? null, calls: running },
    }),
  );
  return { ...branch, endedAt, refusedUntil };
}

/** The branches whose calls are refused now. */
export async function listEndedBranches({ db }: Pick<Store, "db">, now: number): Promise<EndedBranch[]> {
  const rows = await db.selectFrom("ended_branches").selectAll().where("refused_until", ">", now).execute();
  return rows.map(toBranch);
}

function toBranch(row: Database["ended_branches"]): EndedBranch {
  const { account_id: accountId, session, agent, ended_at: endedAt, refused_until: refusedUntil } = row;
  return { accountId, session, agent: agent === "" ? undefined : agent, endedAt, refusedUntil };
}
