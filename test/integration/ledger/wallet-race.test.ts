import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { openStore, type Store } from "../../../src/db/index.ts";
import { creditWallet, ProcessLedger, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { openRedisLimits } from "../../../src/ledger/redis/redis-limits.ts";
import { rounds } from "../../support/long.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";
import { randomBelow } from "../../support/random.ts";
import { redisProgram, startRedis, useRedisServers } from "../../support/redis.ts";
import { temporaryFile } from "../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement } from "./fixture.ts";

/** The proof of the wallet: 64 clients race on one that affords ten calls, on every engine, store and number of nodes. */
const clients = 64;
const hold = 10;
const affordable = 10;
const roundCount = rounds(12, 1000);

interface Place {
  name: string;
  nodes: number;
  postgres: boolean;
  redis: boolean;
}

const hasPostgres = whyNoPostgres === undefined;
const places: Place[] = [
  { name: "one node, SQLite", nodes: 1, postgres: false, redis: false },
  { name: "two nodes, PostgreSQL", nodes: 2, postgres: true, redis: false },
  { name: "one node, PostgreSQL", nodes: 1, postgres: true, redis: false },
  { name: "one node, PostgreSQL and Redis", nodes: 1, postgres: true, redis: true },
  { name: "two nodes, PostgreSQL and Redis", nodes: 2, postgres: true, redis: true },
].filter(({ postgres, redis }) => (!postgres || hasPostgres) && (!redis || redisProgram !== null));
if (!hasPostgres) console.warn(`The wallet's race is not run on PostgreSQL: ${whyNoPostgres}`);

interface Let {
  ledger: ProcessLedger;
  callId: string;
  heldNanodollars: number;
}

/** Admits by all clients at once; what is let in, and why the rest is not. */
async function admitAll(ledgers: ProcessLedger[], accountId: string, then?: (call: Let) => Promise<void>) {
  const refusals: string[] = [];
  const letIn: Let[] = [];
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      const ledger = ledgers[index % ledgers.length] as ProcessLedger;
      const admission = createAdmission({ accountId, holdNanodollars: hold, openedAt: Date.now() });
      try {
        const { heldNanodollars } = await ledger.admit(admission);
        const call = { ledger, callId: admission.callId, heldNanodollars };
        letIn.push(call);
        await then?.(call);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        refusals.push(error.code);
      }
    }),
  );
  return { letIn, refusals: [...new Set(refusals)] };
}

describe.each(places)("64 clients on one wallet: $name", ({ nodes, postgres, redis }) => {
  const stores: Store[] = [];
  const ledgers: ProcessLedger[] = [];
  useRedisServers();
  beforeAll(async () => {
    const url = postgres ? await newDatabase() : undefined;
    const file = temporaryFile();
    const server = redis ? await startRedis() : undefined;
    for (let node = 0; node < nodes; node++) {
      // What is asked is who is let in and not how soon: a busy machine is no reason to fail.
      const store = await openStore(url === undefined ? { file } : { url, timeoutMs: 10_000 });
      stores.push(store);
      const limits =
        server === undefined ? undefined : await openRedisLimits({ store, url: server.url, timeoutMs: 10_000 });
      ledgers.push(new ProcessLedger({ store, limits }));
    }
  });
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close();
    for (const store of stores) await store.close();
  });
  const store = () => stores[0] as Store;

  test(`whole holds, one of what is left, then none: ${roundCount} rounds`, async () => {
    const below = randomBelow(41);
    for (let round = 0; round < roundCount; round++) {
      // Each account races as a new one, which is read by all at once, and as one that is in use.
      const accountId = `acc_${round >> 1}`;
      const rest = below(hold);
      const start = affordable * hold + rest;
      if (round % 2 === 0) await addAccount(store(), accountId, start);
      else {
        const { balanceNanodollars } = await readWalletState(store(), accountId);
        const nanodollars = start - balanceNanodollars;
        await creditWallet(store(), { accountId, nanodollars, note: "again" });
        for (const each of stores) each.bumpRevision();
      }
      const { letIn, refusals } = await admitAll(ledgers, accountId);
      const held = letIn.map(({ heldNanodollars }) => heldNanodollars).sort((a, b) => b - a);
      const whole = Array.from({ length: affordable }, () => hold);
      expect(held).toEqual(rest === 0 ? whole : [...whole, rest]);
      expect(refusals).toEqual(["insufficient_balance"]);
      await Promise.all(letIn.map(({ ledger, callId }) => ledger.settle(createSettlement(callId))));
      const overdraft = rest === 0 ? 0 : hold - rest;
      expect(await readWalletState(store(), accountId)).toEqual({
        balanceNanodollars: 0 - overdraft,
        heldNanodollars: 0,
      });
    }
    expect((await verifyLedger(store())).differences).toEqual([]);
  });

  test(`charged as they go, what is overdrawn is less than one call: ${roundCount} rounds`, async () => {
    const below = randomBelow(42);
    for (let round = 0; round < roundCount; round++) {
      const accountId = `going_${round}`;
      await addAccount(store(), accountId, affordable * hold);
      let spent = 0;
      const { letIn, refusals } = await admitAll(ledgers, accountId, async ({ ledger, callId }) => {
        const costNanodollars = 1 + below(hold);
        spent += costNanodollars;
        await ledger.settle(createSettlement(callId, { costNanodollars }));
      });
      expect(letIn.length).toBeGreaterThanOrEqual(affordable);
      expect(refusals.filter((code) => code !== "insufficient_balance")).toEqual([]);
      const { balanceNanodollars, heldNanodollars } = await readWalletState(store(), accountId);
      expect([balanceNanodollars, heldNanodollars]).toEqual([affordable * hold - spent, 0]);
      expect(balanceNanodollars).toBeGreaterThan(-hold);
    }
    expect((await verifyLedger(store())).differences).toEqual([]);
  });
});
