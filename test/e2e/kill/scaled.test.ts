import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, type Store } from "../../../src/db/index.ts";
import { readWalletState } from "../../../src/ledger/index.ts";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { isLong, rounds } from "../../support/long.ts";
import { newDatabase, type PostgresServer, startPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { randomBelow } from "../../support/random.ts";
import { redisProgram, startRedis, type TestRedis, useRedisServers } from "../../support/redis.ts";
import { type Clients, startClients } from "./clients.ts";
import { expectTrueLedger } from "./expect-true-ledger.ts";
import { startMeteredProvider } from "./metered-provider.ts";

/** Starting PostgreSQL takes longest, so the short form has fewer of it: 13 in all. */
const roundCounts = { gateway: rounds(6, 200), redis: rounds(4, 200), postgres: rounds(3, 200) };
const clientCount = 8;
/** Between two kills. */
const peaceMsMax = 150;
/** What was killed stays away for at most so long. */
const awayMsMax = 150;
const untilMsMax = 60_000;

const places = 2;
const homes = Array.from({ length: places }, () => mkdtempSync(join(tmpdir(), "modelgate-test-")));

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + untilMsMax;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`After ${untilMsMax} ms it is still not so: ${what}`);
    await Bun.sleep(20);
  }
}

describe.skipIf(whyNoPostgres !== undefined || redisProgram === null)("two gateways, a PostgreSQL and a Redis", () => {
  useRedisServers();
  const provider = startMeteredProvider(5);
  const gateways: Gateway[] = [];
  const below = randomBelow(6);
  let postgres: PostgresServer;
  let redis: TestRedis;
  let url: string;
  let clients: Clients;

  const start = async (place: number) => {
    const env = { DATABASE_URL: url, REDIS_URL: redis.url, OPENAI_API_KEY: "sk", OPENAI_BASE_URL: provider.baseUrl };
    gateways[place] = await startGateway({ home: homes[place] as string, env });
  };
  beforeAll(async () => {
    postgres = await startPostgres();
    redis = await startRedis();
    url = await newDatabase(postgres);
    for (let place = 0; place < places; place++) await start(place);
    // The calls cost more and more, as their numbers are what they cost.
    await fillWallet(gateways[0] as Gateway, "1000000.00");
    const key = (gateways[0] as Gateway).key;
    clients = startClients(clientCount, key, (number) => (gateways[number % places] as Gateway).origin);
  });
  afterAll(async () => {
    await clients.stop();
    for (const gateway of gateways) await gateway.stop();
    await provider.stop();
    await postgres.remove();
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });

  /** Calls are answered again by both. */
  const untilServed = (what: string) =>
    until(what, async () => {
      const before = clients.delivered.size;
      await Bun.sleep(20);
      return clients.delivered.size > before;
    });

  const victims: [string, number, () => Promise<void>][] = [
    [
      "a gateway",
      roundCounts.gateway,
      async () => {
        const place = below(places);
        const gateway = gateways[place] as Gateway;
        process.kill(gateway.pid, "SIGKILL");
        await gateway.stop();
        await start(place);
      },
    ],
    [
      "Redis",
      roundCounts.redis,
      async () => {
        await redis.stop("SIGKILL");
        await Bun.sleep(below(awayMsMax));
        redis = await startRedis({ port: redis.port });
      },
    ],
    [
      "PostgreSQL",
      roundCounts.postgres,
      async () => {
        await postgres.kill();
        await Bun.sleep(below(awayMsMax));
        await postgres.start();
      },
    ],
  ];

  test.each(victims)(
    "%s killed with -9 at random instants under load, %i times: calls go through again",
    async (_who, roundCount, killAndStart) => {
      for (let round = 0; round < roundCount; round++) {
        await Bun.sleep(below(peaceMsMax));
        await killAndStart();
        await untilServed(`a call is answered in round ${round}`);
      }
    },
  );

  test("and afterwards no charge is lost, none is doubled, and all agree on the wallet", async () => {
    await clients.stop();
    const store = await openStore({ url, timeoutMs: 10_000 });
    // A charge waits in the memory of its gateway until PostgreSQL is back, and its answer does not wait with it. Where that
    // takes long, the other gateway has ended the call as one of the dead, and the charge settles it all the same.
    await until("each call that a client has is settled", async () => {
      const settled = await store.db.selectFrom("calls").select("id").where("state", "=", "settled").execute();
      const ids = new Set(settled.map(({ id }) => id));
      return [...clients.delivered.values()].every((id) => ids.has(id));
    }).catch(() => undefined);
    await until("no call of the living is open", async () => (await openCalls(store, true)).length === 0);
    // The dead's are ended after half a minute of silence, for which the short form does not wait.
    if (isLong)
      await until("no call is open, also none of the dead", async () => (await openCalls(store)).length === 0);
    const { settled, unpaid } = await expectTrueLedger(store, { provider, clients });
    expect(clients.delivered.size).toBeGreaterThan(100);
    // PostgreSQL away is 503; for Redis and for a killed gateway nobody gets an error.
    expect([...clients.statuses.keys()].filter((status) => ![200, 503, 0].includes(status))).toEqual([]);
    const account = await store.db.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
    const nanodollars = (usd: string | undefined) => Math.round(Number(usd) * 1e9);
    for (const gateway of gateways) {
      // Not at once: its connection to PostgreSQL may not be made anew yet, and a node that was taken for dead may
      // still write the ends of its calls.
      let [told, written]: unknown[] = [];
      await until("it tells the wallet that is written", async () => {
        const answer = await gateway.ask("/key");
        if (answer.status === 503) return false;
        const { wallet } = (await answer.json()) as { wallet: Record<string, string> };
        told = {
          balanceNanodollars: nanodollars(wallet.balance_usd),
          heldNanodollars: nanodollars(wallet.held_usd),
        };
        written = await readWalletState(store, account.id);
        return Bun.deepEquals(told, written);
      }).catch((error) => expect([told, error]).toEqual([written, undefined]));
    }
    await expectTrueLedger(store, { provider, clients });
    await store.close();
    const delivered = clients.delivered.size;
    console.log(`Kills by turns: ${delivered} answers delivered, ${settled} charged, ${unpaid} unpaid`);
  });
});

/** A node that lives says so twice a second. */
const seenMsMax = 5000;

async function openCalls({ db }: Store, ofLiving = false): Promise<{ id: string }[]> {
  const living = db
    .selectFrom("nodes")
    .select("id")
    .where("seen_at", ">", Date.now() - seenMsMax);
  const open = db.selectFrom("open_calls").select("id");
  return await (ofLiving ? open.where("node_id", "in", living) : open).execute();
}
