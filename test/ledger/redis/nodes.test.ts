import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../../src/contract/index.ts";
import { creditWallet, verifyLedger, walletOf } from "../../../src/ledger/index.ts";
import { temporaryStore } from "../../store/temporary-store.ts";
import { redisProgram } from "../../support/redis.ts";
import { addAccount, type ClaimFields, claimOf, settlementOf } from "../ground.ts";
import { type Node, startNode, startNodes, until, useNodes } from "./ground.ts";

useNodes();
/** For a machine that has other work. */
setDefaultTimeout(60_000);

/** Lets 64 calls race over the nodes; returns the ids let in, what they hold, and why the others were not. */
async function race(nodes: Node[], fields: ClaimFields) {
  const claims = Array.from({ length: 64 }, () => claimOf({ openedAt: Date.now(), ...fields }));
  const outcomes = await Promise.allSettled(
    claims.map((claim, index) => (nodes[index % nodes.length] as Node).ledger.admit(claim)),
  );
  const admitted = outcomes.flatMap((outcome, index) =>
    outcome.status === "fulfilled" ? [{ node: nodes[index % nodes.length] as Node, hold: outcome.value }] : [],
  );
  const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
  return { admitted, refusals: [...new Set(refusals)] };
}

describe.skipIf(redisProgram === null)("two nodes", () => {
  test("race on a wallet for ten calls and a half, over and over: ten whole holds and one partial", async () => {
    const { nodes, node } = await startNodes(2, 105);
    for (let round = 0; round < 25; round++) {
      const { admitted, refusals } = await race(nodes, { holdNanodollars: 10 });
      const held = admitted.map(({ hold }) => hold.heldNanodollars).sort((a, b) => a - b);
      expect(held).toEqual([5, ...Array.from({ length: 10 }, () => 10)]);
      expect(refusals).toEqual(["insufficient_balance"]);
      await Promise.all(admitted.map(({ node: { ledger }, hold }) => ledger.settle(settlementOf(hold.callId))));
      expect(await node.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
      await creditWallet(node.store, { accountId: "acc_1", nanodollars: 110, note: "again" });
    }
    expect((await verifyLedger(node.store)).differences).toEqual([]);
  });

  test.each<[string, ClaimFields, number, string]>([
    ["a daily quota", { premium: false, holdTokens: 10, freeTokensPerDay: 95 }, 10, "quota_exceeded"],
    ["requests per minute", { requestsPerMinute: 7 }, 7, "rate_limit_exceeded"],
    ["tokens per minute", { tokensPerMinute: 900, limitTokens: 100 }, 9, "rate_limit_exceeded"],
    ["calls at once", { concurrentCalls: 5 }, 5, "rate_limit_exceeded"],
    ["a monthly budget", { own: { budgetNanodollars: 95 } }, 10, "budget_exceeded"],
    ["a key's requests per minute", { own: { requestsPerMinute: 7 } }, 7, "rate_limit_exceeded"],
    ["a key's tokens per minute", { own: { tokensPerMinute: 900 }, limitTokens: 100 }, 9, "rate_limit_exceeded"],
    ["a key's calls at once", { own: { concurrentCalls: 5 } }, 5, "rate_limit_exceeded"],
  ])("share %s", async (_what, fields, count, code) => {
    const { nodes } = await startNodes(2, 100_000);
    const { admitted, refusals } = await race(nodes, fields);
    expect(admitted.length).toBe(count);
    expect(refusals).toEqual([code]);
  });

  test("see a credit of another process at their next sync", async () => {
    const { file, nodes } = await startNodes(2, 10);
    for (const { ledger } of nodes) await ledger.walletOf("acc_1");
    const elsewhere = await temporaryStore(file);
    await creditWallet(elsewhere, { accountId: "acc_1", nanodollars: 90, note: "by hand" });
    for (const { ledger } of nodes) {
      await ledger.sync();
      expect((await ledger.walletOf("acc_1")).balanceNanodollars).toBe(100);
    }
  });

  // What it read in SQL may have the charge of a call that it does not know, whose end would be counted once more.
  test("call off a seeding when a call begins or ends", async () => {
    const { redis, nodes } = await startNodes(1, 100);
    const { ledger } = nodes[0] as Node;
    await ledger.walletOf("acc_1");
    const onAccounts = (work: string) =>
      redis.command(
        "EVAL",
        `local count = 0 for _, key in ipairs(redis.call('KEYS', '*')) do ${work} end return count`,
        "0",
      );
    const begin = () =>
      onAccounts(`if redis.call('TYPE', key).ok == 'hash' and redis.call('HEXISTS', key, 'sound') == 1
      then redis.call('HSET', key, 'guard', 'a token') count = count + 1 end`);
    const guarded = () =>
      onAccounts(`if redis.call('TYPE', key).ok == 'hash' then
      count = count + redis.call('HEXISTS', key, 'guard') end`);
    const claim = claimOf({ openedAt: Date.now(), holdNanodollars: 10 });
    for (const step of [() => ledger.admit(claim), () => ledger.settle(settlementOf(claim.callId))]) {
      expect(await begin()).toStartWith(":1");
      expect(await guarded()).toStartWith(":1");
      await step();
      await until(async () => (await guarded()).startsWith(":0"));
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
    const { redis, file, nodes } = await startNodes(2, 0);
    const store = await temporaryStore(file);
    let accounts = 1;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const accountId = `acc_${++accounts}`;
        await addAccount(store, accountId, 200);
        let spent = 0;
        const running = steps.map(async ({ node, premium, hold, spends, end, waits, flush }) => {
          const { ledger } = nodes[node] as Node;
          for (let i = 0; i < waits; i++) await new Promise(setImmediate);
          const own = { budgetNanodollars: 150, concurrentCalls: 1000 };
          const holds = { premium, holdNanodollars: hold, holdTokens: hold };
          const claim = claimOf({ accountId, keyId: `key${accountId}`, own, ...holds, openedAt: Date.now() });
          const outcome = await ledger.admit(claim).catch((error: unknown) => error);
          if (flush) await redis.command("FLUSHALL");
          if (outcome instanceof GatewayError) return;
          if (outcome instanceof Error) throw outcome;
          const settlement = { outcome: end, costNanodollars: spends, quotaTokens: spends };
          await ledger.settle(settlementOf(claim.callId, settlement));
          if (premium && end === "settled") spent += spends;
        });
        await Promise.all(running);
        const wallet = { balanceNanodollars: 200 - spent, heldNanodollars: 0 };
        const { caller } = claimOf({ accountId, keyId: `key${accountId}`, own: { budgetNanodollars: 150 } });
        for (const { ledger } of nodes) {
          expect(await ledger.walletOf(accountId)).toEqual(wallet);
          const { budget, calls } = await ledger.boundsOf(caller);
          expect([budget?.spentNanodollars, budget?.heldNanodollars, calls.running]).toEqual([spent, 0, 0]);
        }
        expect(await walletOf(store, accountId)).toEqual(wallet);
      }),
      { numRuns: 40 },
    );
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("leave each other's running calls alone, and end those of a node that died", async () => {
    const { redis, file, nodes } = await startNodes(2, 100, { leaseMs: 1500 });
    const [dead, alive] = nodes as [Node, Node];
    const [lost, kept] = [claimOf({ holdNanodollars: 30 }), claimOf({ holdNanodollars: 40 })];
    await dead.ledger.admit(lost);
    await alive.ledger.admit(kept);
    await dead.ledger.close();
    const third = await startNode(file, redis, { leaseMs: 1500 });
    const ended: string[] = [];
    await until(async () => {
      ended.push(...(await third.ledger.beat()).callIds);
      return third.reports.includes("calls_recovered") || ended.length > 0 || alive.reports.includes("calls_recovered");
    });
    expect(await third.ledger.walletOf("acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 40 });
    const rows = await third.store.db.selectFrom("calls").select(["id", "state"]).orderBy("id").execute();
    expect(rows.map(({ id, state }) => [id, state])).toEqual([
      [lost.callId, "abandoned"],
      [kept.callId, "open"],
    ]);
    await alive.ledger.settle(settlementOf(kept.callId));
    expect(await walletOf(third.store, "acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
  });
});
