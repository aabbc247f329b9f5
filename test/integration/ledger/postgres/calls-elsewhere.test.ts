import { expect } from "bun:test";
import { sql } from "kysely";
import type { Store } from "../../../../src/db/index.ts";
import { ProcessLedger, remoteCalls, remoteCallsMax } from "../../../../src/ledger/index.ts";
import { node, postgresTest, until } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement, newYear, statesOf } from "../fixture.ts";

/** Two nodes on one database, each with a ledger. */
async function twoNodes() {
  const { store, url } = await node();
  const other = (await node(url)).store;
  await addAccount(store, "acc_1", 1e6);
  const [here, there] = [store, other].map((it) => new ProcessLedger({ store: it, now: () => newYear }));
  if (here === undefined || there === undefined) throw new Error("There are no two ledgers");
  const heartbeat = () => setSeen(store, 60_000);
  await heartbeat();
  return { store, other, here, there, look: remoteCalls(store, 20_000), heartbeat };
}

/** Nothing polls here, so the test says when a node was seen: so many milliseconds from now. */
async function setSeen(store: Store, ms: number, nodeId?: string | null): Promise<void> {
  await sql`update nodes set seen_at = floor(extract(epoch from clock_timestamp()) * 1000) + ${ms}
    where ${nodeId ?? null}::text is null or id = ${nodeId ?? null}`.execute(store.db);
}

postgresTest(
  "of two nodes each sees what the other runs, with what was written of it, and nothing of its own",
  async () => {
    const { other, here, there, look } = await twoNodes();
    const [ours, theirs] = [
      createAdmission(),
      createAdmission({ keyId: "key_9", model: "model-9", holdNanodollars: 70 }),
    ];
    await here.admit(ours);
    await there.admit(theirs);
    expect(await look()).toMatchObject({
      count: 1,
      calls: [
        {
          id: theirs.callId,
          account_id: "acc_1",
          key_id: "key_9",
          model: "model-9",
          capability: "chat",
          opened_at: newYear,
          hold_nanodollars: 70,
        },
      ],
    });
    const { calls } = await remoteCalls(other)();
    expect(calls.map(({ id }) => id)).toEqual([ours.callId]);
    await there.settle(createSettlement(theirs.callId));
    expect(await look()).toEqual({ count: 0, calls: [] });
  },
);

postgresTest("up to 200 are told, the longest running first, and all are counted", async () => {
  const { there, look } = await twoNodes();
  // The last to be let in has run for longest.
  const claims = Array.from({ length: remoteCallsMax + 1 }, (_, index) =>
    createAdmission({ openedAt: newYear - index }),
  );
  const [newest, ...rest] = claims;
  const longestFirst = rest.map(({ callId }) => callId).reverse();
  await Promise.all(rest.map((admission) => there.admit(admission)));
  const whole = await look();
  expect([whole.count, whole.calls.map(({ id }) => id)]).toEqual([200, longestFirst]);
  await there.admit(newest as (typeof claims)[number]);
  const cut = await look();
  expect([cut.count, cut.calls.map(({ id }) => id)]).toEqual([201, longestFirst]);
});

postgresTest("one that runs for less long than 200 others is told by its id, and one of this node is not", async () => {
  const { here, there, look } = await twoNodes();
  const claims = Array.from({ length: remoteCallsMax }, (_, index) =>
    createAdmission({ openedAt: newYear - index - 1 }),
  );
  const [newest, ours] = [createAdmission({ model: "model-9" }), createAdmission()];
  await Promise.all([...claims, newest].map((admission) => there.admit(admission)));
  await here.admit(ours);
  expect(await look(newest.callId)).toMatchObject({ count: 1, calls: [{ id: newest.callId, model: "model-9" }] });
  expect(await look(ours.callId)).toEqual({ count: 0, calls: [] });
});

postgresTest(
  "calls of a node that has not been seen for ten seconds are left out, and of one that has ended",
  async () => {
    const { store, other, there, look, heartbeat } = await twoNodes();
    await there.admit(createAdmission());
    await setSeen(store, -5000, other.nodeId);
    expect((await look()).count).toBe(1);
    await setSeen(store, -10_001, other.nodeId);
    expect(await look()).toEqual({ count: 0, calls: [] });
    await heartbeat();
    expect((await look()).count).toBe(1);
    await other.close();
    expect(await look()).toEqual({ count: 0, calls: [] });
    expect(Object.values(await statesOf(store))).toEqual(["open"]);
  },
);

postgresTest("a store that hangs is given up in time, and asked one question at a time", async () => {
  const { other, there, store } = await twoNodes();
  const { callId } = createAdmission();
  await there.admit(createAdmission({ callId }));
  const look = remoteCalls(store, 100);
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = other.db.transaction().execute(async (db) => {
    await sql`lock table open_calls in access exclusive mode`.execute(db);
    locked.resolve();
    await release.promise;
  });
  try {
    await locked.promise;
    for (let turn = 0; turn < 3; turn++) {
      const asked = await Promise.allSettled([look(), look()]);
      expect(asked.map((each) => (each.status === "rejected" ? each.reason.message : "told"))).toEqual(
        Array(2).fill("There was no answer within 100 ms"),
      );
    }
    const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and wait_event_type = 'Lock'`.execute(
      other.db,
    );
    expect(rows[0]?.waiting).toBe(1);
  } finally {
    release.resolve();
    await holding;
  }
  await until("it answers again", () =>
    look().then(
      ({ calls }) => calls[0]?.id === callId,
      () => false,
    ),
  );
});
