import { expect } from "bun:test";
import pg from "pg";
import { moveWallet } from "../../../../src/db/index.ts";
import { addPayers } from "../../../support/payers.ts";
import { node, postgresTest } from "./fixture.ts";

postgresTest("a batch of holds does not wait for the disk of PostgreSQL, and one with an end does", async () => {
  const { store, url } = await node();
  await addPayers(store, { acc_1: ["key_1"] });
  await store.db.insertInto("payers").values(payers).execute();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // By numbers: the first name is `settled`, which is taken for a node with a lease.
  await client.query("insert into nodes (id, seen_at, lease) select name, 0, 1 from names where id = 1");
  const call = { account_id: 1, key_id: 2, model: 1, capability: 1, premium: 1, opened_at: 0 };
  const open = { ...call, id: "\\x6331", hold_nanodollars: 1, hold_tokens: 0 };
  const end = { ...open, state: 1, settled_at: 1, charged_nanodollars: 0, quota_tokens: 0, status: 200 };
  /** What PostgreSQL goes by when the transaction of a batch is committed. */
  const waitsForDisk = async (holds: object[] | null, ends: object[] | null) => {
    const [opened, late] = [holds, ends].map((rows) => rows && JSON.stringify(rows));
    await client.query("begin");
    const last = "(select proof from names where id = 1)";
    await client.query(`select record_calls(1, ${last}, 1, 1, null, $1, null, null, $2)`, [opened, late]);
    const { rows } = await client.query("show synchronous_commit");
    await client.query("commit");
    return rows[0].synchronous_commit;
  };
  expect(await waitsForDisk([open], null)).toBe("off");
  expect(await waitsForDisk(null, [end])).toBe("on");
  expect(await waitsForDisk([{ ...open, id: "\\x6332" }], [{ ...end, id: "\\x6332" }])).toBe("on");
  const { rows } = await client.query("select id, state from calls order by id");
  expect(rows).toEqual([
    { id: "c1", state: "settled" },
    { id: "c2", state: "settled" },
  ]);
  await client.end();
});

postgresTest("a hold that a crash of PostgreSQL has lost is taken anew when it is extended", async () => {
  const { store } = await node();
  await addPayers(store, { acc_1: ["key_1"] });
  const { open, extended } = holdOf();
  await store.change((db) => moveWallet(db, "acc_1", 100));
  await store.writeLedger([open]);
  await store.db.deleteFrom("open_call_rows").execute();
  const decisions = await store.writeLedger([{ kind: "extend", open: extended }]);
  expect(decisions?.get(extended)).toMatchObject({ holdNanodollars: 30, available: 100 });
  expect(await store.db.selectFrom("open_calls").select(["id", "hold_nanodollars", "node_id"]).execute()).toEqual([
    { id: "c1", hold_nanodollars: 30, node_id: store.nodeId },
  ]);
});

postgresTest("a hold on the quota that Redis has decided is written anew too where it is gone", async () => {
  const { store } = await node();
  await addPayers(store, { acc_1: ["key_1"] });
  const { open } = holdOf();
  const free = { ...open, premium: false, quotaDay: 1, holdNanodollars: 0, holdTokens: 10, guard: undefined };
  await store.writeLedger([free]);
  const held = () => store.db.selectFrom("open_calls").select(["id", "hold_tokens", "node_id"]).execute();
  for (const holdTokens of [20, 30]) {
    expect(await store.writeLedger([{ kind: "extend", open: { ...free, holdTokens } }])).toBeUndefined();
    expect(await held()).toEqual([{ id: "c1", hold_tokens: holdTokens, node_id: store.nodeId }]);
    await store.db.deleteFrom("open_call_rows").execute();
  }
});

const payers = [
  { no: 1, id: "acc_1", account_no: 1 },
  { no: 2, id: "key_1", account_no: 1 },
];

function holdOf() {
  const guard = { quotaLimit: 0, draws: [], minHold: 1 };
  const open = {
    kind: "open" as const,
    callId: "c1",
    accountId: "acc_1",
    keyId: "key_1",
    model: "m",
    capability: "chat" as const,
    premium: true,
    openedAt: 0,
    quotaDay: null,
    holdNanodollars: 10,
    holdTokens: 0,
    priceVersion: undefined,
    guard,
  };
  return { open, extended: { ...open, holdNanodollars: 30 } };
}
