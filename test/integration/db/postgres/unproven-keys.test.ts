import { expect, test } from "bun:test";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { GatewayError } from "../../../../src/contract/index.ts";
import type { OrderedConnection } from "../../../../src/db/postgres/ordered-connection.ts";
import { createKeyReader } from "../../../../src/db/postgres/readers.ts";
import type { Database } from "../../../../src/db/schema.ts";
import { createAccounts } from "../../../../src/keys/index.ts";
import { queryPostgres } from "../../../support/postgres.ts";
import { startSlowProxy } from "../../../support/slow-proxy.ts";
import { node, postgresTest, until } from "./fixture.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
/** A PostgreSQL in another zone: 2 ms there and back. */
const delayMs = 1;
/** A call of a busy test machine may wait for longer than one of a gateway, and less than a queue of strangers takes. */
const timeoutMs = 1000;

let invented = 0;
/** A key that nobody has; every second id is as long as those made here. */
function inventKey(): string {
  invented += 1;
  return `sk-mg-${String(invented).padStart(invented % 2 === 0 ? 12 : 18, "0")}-${"0".repeat(48)}`;
}

type Accounts = ReturnType<typeof createAccounts>;

async function statusOf(accounts: Accounts, key: string): Promise<number> {
  try {
    await accounts.authenticate(key);
    return 200;
  } catch (error) {
    if (error instanceof GatewayError) return error.status;
    throw error;
  }
}

/** A node behind a slow network, with twenty keys that it has not seen yet and one imported key. */
async function slowNode() {
  const { url, store: near } = await node();
  const making = createAccounts({ store: near, defaults });
  const { id: accountId } = await making.create({ email: "ada@example.org" });
  const keys: string[] = [];
  for (let made = 0; made < 20; made++) keys.push((await making.createKey({ accountId, name: `key ${made}` })).key);
  const old = `sk-mg-Abcd1234Efgh-${"f".repeat(48)}`;
  await making.createKey({ accountId, name: "imported", key: old });
  const proxy = await startSlowProxy(Number(new URL(url).port));
  proxy.delayMs = delayMs;
  const { store } = await node(url.replace(/:\d+\//, `:${proxy.port}/`), { timeoutMs });
  const heartbeat = async () => {
    const [row] = await queryPostgres<{ seen_at: string }>(
      url,
      `select seen_at from nodes where id = '${store.nodeId}'`,
    );
    return Number(row?.seen_at);
  };
  return { store, accounts: createAccounts({ store, defaults }), keys, old, heartbeat, proxy };
}

postgresTest(
  "two thousand made-up keys at once are all refused, real keys are answered, and the node keeps its heartbeat",
  async () => {
    const { store, accounts, keys, old, heartbeat, proxy } = await slowNode();
    try {
      await accounts.prepare();
      const { revision } = store;
      const before = await heartbeat();
      const strangers = Array.from({ length: 2000 }, () => statusOf(accounts, inventKey()));
      const real = [old, ...keys].map((key) => statusOf(accounts, key));
      store.pollExternalChange();
      expect(new Set(await Promise.all(real))).toEqual(new Set([200]));
      expect(new Set(await Promise.all(strangers))).toEqual(new Set([401]));
      await until("the heartbeat was written", async () => (await heartbeat()) > before);
      // A lost connection would have invalidated all cached keys.
      expect(store.revision).toBe(revision);
      expect(store.trouble?.()).toBeUndefined();
    } finally {
      await store.close();
      await proxy.stop();
    }
  },
);

postgresTest("1 500 made-up keys a second do not keep a real key from being answered, nor the heartbeat", async () => {
  const { store, accounts, keys, old, heartbeat, proxy } = await slowNode();
  try {
    const { revision } = store;
    const strangers: Promise<number>[] = [];
    const real: Promise<number>[] = [];
    const beats = new Set([await heartbeat()]);
    // For two seconds; a slow machine writes fewer heartbeats in that time, but it must write them under this load.
    for (let tick = 0; tick < 40 || (beats.size < 4 && tick < 400); tick++) {
      for (let count = 0; count < 75; count++) strangers.push(statusOf(accounts, inventKey()));
      if (tick % 10 === 0) {
        store.pollExternalChange();
        beats.add(await heartbeat());
      }
      const key = keys[tick / 2];
      if (key !== undefined) real.push(statusOf(accounts, key));
      if (tick === 20) real.push(statusOf(accounts, old));
      await Bun.sleep(50);
    }
    expect(new Set(await Promise.all(real))).toEqual(new Set([200]));
    expect(new Set(await Promise.all(strangers))).toEqual(new Set([401]));
    expect(beats.size).toBeGreaterThanOrEqual(4);
    expect(store.revision).toBe(revision);
  } finally {
    await store.close();
    await proxy.stop();
  }
});

test.each([0, 10])(
  "keys are looked up together, one query at a time (pause %d ms), and those beyond a bound fail at once",
  async (pauseMs) => {
    const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool: new pg.Pool() }) });
    let running = 0;
    const asked: string[][] = [];
    const connection = {
      async query({ values: [ids] }: { values: [string[]] }) {
        running += 1;
        expect(running).toBe(1);
        asked.push(ids);
        await Bun.sleep(2);
        running -= 1;
        return { rows: ids.includes("real") ? [{ id: "real" }] : [] };
      },
    } as unknown as OrderedConnection;
    const read = createKeyReader(db, connection, { pauseMs });
    const reads = Array.from({ length: 6000 }, (_, index) => read(`id${index}`));
    const outcomes = await Promise.allSettled([...reads, read("id7")]);
    // Without a pause the first id is sent at once and waits no more.
    const sentAtOnce = pauseMs === 0 ? 1 : 0;
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1000 - sentAtOnce);
    expect(asked.map((ids) => ids.length)).toEqual([...Array(sentAtOnce).fill(1), ...Array(10).fill(500)]);
    expect(new Set(asked.flat()).size).toBe(5000 + sentAtOnce);
    asked.length = 0;
    expect(await Promise.all(["none", "real", "real"].map(read))).toEqual([
      undefined,
      { id: "real" },
      { id: "real" },
    ] as never);
    expect(asked.flat()).toEqual(["none", "real"]);
  },
);
