import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError, type ModelLimits } from "../../../../src/contract/index.ts";
import { creditWallet, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { node as databaseNode } from "../../db/postgres/fixture.ts";
import {
  type AdmissionFields,
  addAccount,
  createAdmission,
  createSettlement,
  readOwnBudgets,
  statesOf,
} from "../fixture.ts";
import { canShare, type Node, startNode, startNodes, until, useNodes } from "./fixture.ts";

useNodes();
const ofModel = (limits: ModelLimits): AdmissionFields => ({ modelLimits: { "model-1": limits } });
/** For a machine that has other work, where a Redis that is late would be one that is silent. */
const patient = { timeoutMs: 5000 };

/** Lets 64 calls race over the nodes; returns the ids let in, what they hold, and why the others were not. */
async function race(nodes: Node[], fields: AdmissionFields) {
  const claims = Array.from({ length: 64 }, () => createAdmission({ openedAt: Date.now(), ...fields }));
  const outcomes = await Promise.allSettled(
    claims.map((admission, index) => (nodes[index % nodes.length] as Node).ledger.admit(admission)),
  );
  const admitted = outcomes.flatMap((outcome, index) =>
    outcome.status === "fulfilled" ? [{ node: nodes[index % nodes.length] as Node, hold: outcome.value }] : [],
  );
  const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
  return { admitted, refusals: [...new Set(refusals)] };
}

describe.skipIf(!canShare)("two nodes", () => {
  test("race on a wallet for ten calls and a half, over and over: ten whole holds and one of the rest", async () => {
    const { nodes, node } = await startNodes(2, 105, patient);
    for (let round = 0; round < 25; round++) {
      const { admitted, refusals } = await race(nodes, { holdNanodollars: 10 });
      const held = admitted.map(({ hold }) => hold.heldNanodollars).sort((a, b) => a - b);
      expect(held).toEqual([5, ...Array.from({ length: 10 }, () => 10)]);
      expect(refusals).toEqual(["insufficient_balance"]);
      await Promise.all(admitted.map(({ node: { ledger }, hold }) => ledger.settle(createSettlement(hold.callId))));
      expect(await node.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
      await creditWallet(node.store, { accountId: "acc_1", nanodollars: 110, note: "again" });
    }
    expect((await verifyLedger(node.store)).differences).toEqual([]);
  });

  test.each<[string, AdmissionFields, number, string]>([
    ["a daily quota", { premium: false, holdTokens: 10, freeTokensPerDay: 95 }, 10, "quota_exceeded"],
    ["requests per minute", { requestsPerMinute: 7 }, 7, "rate_limit_exceeded"],
    ["tokens per minute", { tokensPerMinute: 900, limitTokens: 100 }, 9, "rate_limit_exceeded"],
    ["calls at once", { concurrentCalls: 5 }, 5, "rate_limit_exceeded"],
    ["a monthly budget", { keyLimits: { budgetNanodollars: 95 } }, 10, "budget_exceeded"],
    ["a key's requests per minute", { keyLimits: { requestsPerMinute: 7 } }, 7, "rate_limit_exceeded"],
    ["a key's tokens per minute", { keyLimits: { tokensPerMinute: 900 }, limitTokens: 100 }, 9, "rate_limit_exceeded"],
    ["a key's calls at once", { keyLimits: { concurrentCalls: 5 } }, 5, "rate_limit_exceeded"],
    ["a model's requests per minute", ofModel({ account: { requestsPerMinute: 7 } }), 7, "rate_limit_exceeded"],
    ["a model's tokens per minute", ofModel({ key: { tokensPerMinute: 9 } }), 9, "rate_limit_exceeded"],
    ["a model's calls at once", ofModel({ key: { concurrentCalls: 5 }, account: {} }), 5, "rate_limit_exceeded"],
  ])("share %s", async (_what, fields, count, code) => {
    const { nodes } = await startNodes(2, 100_000, patient);
    const { admitted, refusals } = await race(nodes, fields);
    expect(admitted.length).toBe(count);
    expect(refusals).toEqual([code]);
  });

  test("see a credit of another process at once", async () => {
    const { url, nodes } = await startNodes(2, 10, patient);
    for (const { ledger } of nodes) await ledger.readWalletState("acc_1");
    const elsewhere = (await databaseNode(url)).store;
    await creditWallet(elsewhere, { accountId: "acc_1", nanodollars: 90, note: "by hand" });
    for (const { ledger } of nodes) {
      expect((await ledger.readWalletState("acc_1")).balanceNanodollars).toBe(100);
    }
  });

  test("keep balance, held and spent in sum, whatever is done, and also when Redis is flushed", async () => {
    const step = fc.record({
      node: fc.nat(1),
      premium: fc.boolean(),
      hold: fc.integer({ min: 0, max: 60 }),
      spends: fc.integer({ min: 0, max: 70 }),
      end: fc.constantFrom("settled" as const, "released" as const),
      waits: fc.nat(5),
      flush: fc.nat(15).map((chance) => chance === 0),
    });
    const { redis, node, nodes } = await startNodes(2, 0, patient);
    const { store } = node;
    let accounts = 1;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const accountId = `acc_${++accounts}`;
        await addAccount(store, accountId, 200);
        let spent = 0;
        const running = steps.map(async ({ node, premium, hold, spends, end, waits, flush }) => {
          const { ledger } = nodes[node] as Node;
          for (let i = 0; i < waits; i++) await new Promise(setImmediate);
          const keyLimits = { budgetNanodollars: 150, concurrentCalls: 1000 };
          const holds = { premium, holdNanodollars: hold, holdTokens: hold };
          const admission = createAdmission({
            accountId,
            keyId: `key${accountId}`,
            keyLimits,
            ...holds,
            openedAt: Date.now(),
          });
          const outcome = await ledger.admit(admission).catch((error: unknown) => error);
          if (flush) await redis.command("FLUSHALL");
          if (outcome instanceof GatewayError) return;
          if (outcome instanceof Error) throw outcome;
          const settlement = { outcome: end, costNanodollars: spends, quotaTokens: spends };
          await ledger.settle(createSettlement(admission.callId, settlement));
          if (premium && end === "settled") spent += spends;
        });
        await Promise.all(running);
        const wallet = { balanceNanodollars: 200 - spent, heldNanodollars: 0 };
        const { caller } = createAdmission({
          accountId,
          keyId: `key${accountId}`,
          keyLimits: { budgetNanodollars: 150 },
        });
        for (const { ledger } of nodes) {
          expect(await ledger.readWalletState(accountId)).toEqual(wallet);
          const { calls } = await ledger.readLimitsUsage(caller);
          const { budget } = await readOwnBudgets(ledger, caller);
          expect([budget?.spentNanodollars, budget?.heldNanodollars, calls.running]).toEqual([spent, 0, 0]);
        }
        expect(await readWalletState(store, accountId)).toEqual(wallet);
      }),
      { numRuns: 40 },
    );
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("leave each other's running calls alone, and end those of a node that died", async () => {
    const storeOptions = { deadAfterMs: 500 };
    const { redis, url, nodes } = await startNodes(2, 100, { ...patient, leaseMs: 3000, storeOptions });
    const [dead, alive] = nodes as [Node, Node];
    const most = { concurrentCalls: 2 };
    const [lost, kept] = [
      createAdmission({ holdNanodollars: 30, ...most }),
      createAdmission({ holdNanodollars: 40, ...most }),
    ];
    await dead.ledger.admit(lost);
    await alive.ledger.admit(kept);
    await dead.ledger.close();
    const third = await startNode(url, redis, { ...patient, leaseMs: 3000, storeOptions });
    expect(await third.ledger.admit(createAdmission(most)).catch((error) => error.message)).toStartWith(
      "Concurrency limit",
    );
    expect((await third.ledger.recover()).released).toBe(0);
    await dead.store.close();
    expect((await third.ledger.recover()).callIds).toEqual([lost.callId]);
    expect(await third.ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 40 });
    // The place of the dead among calls at once is free when its lease is over; that of the living is kept.
    const next = createAdmission(most);
    await until(async () => {
      const hold = await third.ledger.admit(next).catch(() => undefined);
      return hold !== undefined;
    });
    expect(await third.ledger.admit(createAdmission(most)).catch((error) => error.message)).toStartWith(
      "Concurrency limit",
    );
    expect(Object.entries(await statesOf(third.store))).toEqual([
      [lost.callId, "abandoned"],
      [kept.callId, "open"],
      [next.callId, "open"],
    ]);
    await third.ledger.settle(createSettlement(next.callId));
    await alive.ledger.settle(createSettlement(kept.callId));
    expect(await readWalletState(third.store, "acc_1")).toEqual({ balanceNanodollars: 80, heldNanodollars: 0 });
  });

  test("count the quota of a day on from what SQL has of it, also when Redis has lost all and what still runs", async () => {
    const { redis, nodes } = await startNodes(2, 0, { ...patient, leaseMs: 300 });
    const [here, there] = nodes as [Node, Node];
    const free = (holdTokens: number) => createAdmission({ premium: false, holdTokens, openedAt: Date.now() });
    const [drawn, running] = [free(30), free(20)];
    await here.ledger.admit(drawn);
    await here.ledger.settle(createSettlement(drawn.callId, { quotaTokens: 30 }));
    await there.ledger.admit(running);
    await redis.command("FLUSHALL");
    // What runs is known again when its node has renewed it.
    await until(async () => (await redis.command("DBSIZE")) === ":1\r\n");
    expect((await here.ledger.admit(free(100))).heldTokens).toBe(50);
    const refusal = await there.ledger.admit(free(1)).catch((error) => error);
    expect(refusal.message).toStartWith(
      "Daily token quota reached: 100 free tokens a day, 30 used and 70 held by running calls; it resets at",
    );
    await there.ledger.settle(createSettlement(running.callId, { quotaTokens: 5 }));
    expect((await there.ledger.admit(free(15))).heldTokens).toBe(15);
    for (const { ledger } of nodes) {
      expect(await ledger.readQuotaState(running.caller)).toMatchObject({ usedTokens: 35, heldTokens: 65 });
    }
  });
});
