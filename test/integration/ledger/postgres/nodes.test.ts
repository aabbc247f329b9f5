import { expect } from "bun:test";
import { join } from "node:path";
import { GatewayError } from "../../../../src/contract/index.ts";
import { createPruner, ProcessLedger, readWalletState, verifyLedger } from "../../../../src/ledger/index.ts";
import { newDatabase } from "../../../support/postgres.ts";
import { rollUp } from "../../../support/usage.ts";
import { node, postgresTest, until } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement, dayMs, newYear, readOwnBudgets } from "../fixture.ts";

async function twoNodes() {
  const { store, url } = await node();
  await addAccount(store, "acc_1");
  const other = (await node(url)).store;
  const ledgers = [store, other].map((it) => new ProcessLedger({ store: it, now: () => newYear })) as [
    ProcessLedger,
    ProcessLedger,
  ];
  return { store, other, url, ledgers };
}

async function race(ledgers: ProcessLedger[], claims: ReturnType<typeof createAdmission>[]) {
  const outcomes = await Promise.all(
    claims.map((admission, index) =>
      (ledgers[index % ledgers.length] as ProcessLedger).admit(admission).then(
        (hold) => ({ admission, ledger: ledgers[index % ledgers.length] as ProcessLedger, hold }),
        (error: unknown) => {
          if (error instanceof GatewayError) return error.code;
          throw error;
        },
      ),
    ),
  );
  const admitted = outcomes.filter((outcome) => typeof outcome !== "string");
  return { admitted, refused: outcomes.filter((outcome) => typeof outcome === "string") };
}

postgresTest(
  "64 clients of two nodes race on one wallet that affords ten calls and a half: eleven are let in, and the ledger verifies",
  async () => {
    const { store, ledgers } = await twoNodes();
    for (let round = 0; round < 10; round++) {
      const accountId = `acc_${round}`;
      await addAccount(store, accountId, 105);
      const { admitted, refused } = await race(
        ledgers,
        Array.from({ length: 64 }, () => createAdmission({ accountId })),
      );
      expect(admitted.map(({ hold }) => hold.heldNanodollars).sort((a, b) => b - a)).toEqual([
        ...Array(10).fill(10),
        5,
      ]);
      expect(new Set(refused)).toEqual(new Set(["insufficient_balance"]));
      await Promise.all(admitted.map(({ admission, ledger }) => ledger.settle(createSettlement(admission.callId))));
      expect(await readWalletState(store, accountId)).toEqual({ balanceNanodollars: -5, heldNanodollars: 0 });
    }
    expect((await verifyLedger(store)).differences).toEqual([]);
  },
);

postgresTest(
  "the monthly budget of a key is one, whichever node a call comes to, and no call overdraws it",
  async () => {
    const { store, ledgers } = await twoNodes();
    const [here, there] = ledgers;
    await addAccount(store, "acc_1", 10_000);
    const keyLimits = { budgetNanodollars: 105 };
    const { admitted, refused } = await race(
      ledgers,
      Array.from({ length: 64 }, () => createAdmission({ keyLimits })),
    );
    expect(admitted.map(({ hold }) => hold.heldNanodollars).sort((a, b) => b - a)).toEqual([...Array(10).fill(10), 5]);
    expect(new Set(refused)).toEqual(new Set(["budget_exceeded"]));
    const [first, ...rest] = admitted.filter(({ hold }) => hold.heldNanodollars === 10);
    await first?.ledger.settle(createSettlement(first.admission.callId, { costNanodollars: 1 }));
    // Nine are free again, which is less than these calls must be able to hold.
    for (const ledger of ledgers) {
      const admission = createAdmission({ keyLimits, minNanodollars: 10 });
      const more = await ledger.admit(admission).catch((error: GatewayError) => error.code);
      expect(more).toBe("budget_exceeded");
    }
    const partial = admitted.filter(({ hold }) => hold.heldNanodollars === 5);
    for (const { admission, ledger, hold } of [...rest, ...partial]) {
      await ledger.settle(createSettlement(admission.callId, { costNanodollars: hold.heldNanodollars }));
    }
    for (const ledger of [here, there]) {
      expect((await readOwnBudgets(ledger, createAdmission({ keyLimits }).caller)).budget).toMatchObject({
        spentNanodollars: 96,
        heldNanodollars: 0,
      });
    }
    expect((await verifyLedger(store)).differences).toEqual([]);
  },
);

postgresTest("the daily quota is one, whichever node a call comes to, also on its first day", async () => {
  const { store, ledgers } = await twoNodes();
  const claims = Array.from({ length: 40 }, () => createAdmission({ premium: false, holdTokens: 10 }));
  const { admitted, refused } = await race(ledgers, claims);
  expect([admitted.length, new Set(refused)]).toEqual([10, new Set(["quota_exceeded"])]);
  await Promise.all(
    admitted.map(({ admission, ledger }) => ledger.settle(createSettlement(admission.callId, { quotaTokens: 8 }))),
  );
  const more = await race(
    ledgers,
    Array.from({ length: 9 }, () => createAdmission({ premium: false, holdTokens: 10 })),
  );
  expect(more.admitted.reduce((sum, { hold }) => sum + hold.heldTokens, 0)).toBe(20);
  expect((await verifyLedger(store)).differences).toEqual([]);
});

postgresTest("a call waits for no other node's calls that have ended: what they gave back is there", async () => {
  const { store, ledgers } = await twoNodes();
  const [here, there] = ledgers;
  await addAccount(store, "acc_1", 100);
  const all = createAdmission({ holdNanodollars: 100 });
  await here.admit(all);
  const refusal = await there.admit(createAdmission()).catch((error: GatewayError) => error);
  expect((refusal as GatewayError).message).toContain("the wallet has 0.0000001 USD with 0.0000001 USD held");
  expect(await there.readWalletState("acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 100 });
  await here.settle(createSettlement(all.callId, { costNanodollars: 30 }));
  expect((await there.admit(createAdmission({ holdNanodollars: 90 }))).heldNanodollars).toBe(70);
});

postgresTest(
  "a wallet is charged by many nodes at once, each call once, without waiting for each other forever",
  async () => {
    const { store, ledgers } = await twoNodes();
    const accounts = ["acc_1", "acc_2", "acc_3", "acc_4", "acc_5"];
    for (const id of accounts) await addAccount(store, id, 1e6);
    const claims = Array.from({ length: 600 }, (_, index) =>
      createAdmission({ accountId: accounts[(index * 7) % 5] as string }),
    );
    const { admitted } = await race(ledgers, claims);
    expect(admitted.length).toBe(600);
    // Each call is settled on both nodes: the one that holds it and the one that only knows its row.
    await Promise.all(
      admitted.flatMap(({ admission }) => ledgers.map((it) => it.settle(createSettlement(admission.callId)))),
    );
    for (const id of accounts) expect((await readWalletState(store, id)).balanceNanodollars).toBe(1e6 - 1200);
    expect((await verifyLedger(store)).differences).toEqual([]);
  },
);

postgresTest(
  "the open calls of a node that lives are left alone; those of a dead one are ended by another",
  async () => {
    const { store, other, ledgers } = await twoNodes();
    const [here, there] = ledgers;
    await addAccount(store, "acc_1", 100);
    await there.admit(createAdmission({ callId: "theirs", holdNanodollars: 60 }));
    await here.admit(createAdmission({ callId: "ours" }));
    expect((await here.recover()).released).toBe(0);
    await other.close();
    expect(await here.recover()).toMatchObject({ released: 1, heldNanodollars: 60, callIds: ["theirs"] });
    expect((await here.recover()).released).toBe(0);
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 100, heldNanodollars: 10 });
  },
);

postgresTest("two nodes prune at once, each call once", async () => {
  const { store, other, ledgers } = await twoNodes();
  await addAccount(store, "acc_1", 1e6);
  const claims = Array.from({ length: 1200 }, () => createAdmission());
  await Promise.all(claims.map((admission) => ledgers[0].admit(admission)));
  await Promise.all(claims.map(({ callId }) => ledgers[0].settle(createSettlement(callId))));
  await rollUp(store);
  const steps = [store, other].map((it) =>
    createPruner({ store: it, retentionDays: 1, now: () => newYear + 9 * dayMs }),
  );
  const pruned = await Promise.all([...steps, ...steps].map((step) => step()));
  // The last one that was counted stays.
  expect(pruned.reduce((sum, count) => sum + count, 0)).toBe(1199);
  expect((await verifyLedger(store)).differences).toEqual([]);
});

postgresTest("nodes killed with -9 under load lose and double no charge that was told", async () => {
  const url = await newDatabase();
  const { store } = await node(url, { deadAfterMs: 1000 });
  await addAccount(store, "acc_1", 1e12);
  const ledger = new ProcessLedger({ store });
  const told = new Set<string>();
  for (let round = 0; round < 3; round++) {
    const runs = ["a", "b"].map((name) => runUntilKilled(url, `${round}${name}`, 1500 * (round + 1)));
    for (const ids of await Promise.all(runs)) for (const id of ids) told.add(id);
  }
  await until("no call is open", async () => {
    await ledger.recover();
    return (await verifyLedger(store)).counts.open === 0;
  });
  const settled = await store.db.selectFrom("calls").select("id").where("state", "=", "settled").execute();
  const written = new Set(settled.map(({ id }) => id));
  expect([...told].filter((id) => !written.has(id))).toEqual([]);
  expect(told.size).toBeGreaterThan(100);
  expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(1e12 - 10 * written.size);
  expect((await verifyLedger(store)).differences).toEqual([]);
});

/** Runs a process that makes calls, kills it when it has said so much, and returns the ids of the calls it said. */
async function runUntilKilled(url: string, name: string, charactersMax: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../load.ts"), url, name], { stdout: "pipe" });
  let text = "";
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.length > charactersMax) child.kill("SIGKILL");
  }
  await child.exited;
  return text.split("\n").slice(0, -1);
}
