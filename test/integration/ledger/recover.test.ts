import { describe, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { commandLine } from "../../../src/audit/index.ts";
import { creditWallet, ProcessLedger, readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { createBudget } from "../../support/budgets.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement, ledgerFixture } from "./fixture.ts";

const load = fileURLToPath(import.meta.resolve("./load.ts"));

describe("recover", () => {
  test("finds nothing where nothing was left open", async () => {
    const { ledger } = await ledgerFixture();
    expect(await ledger.recover()).toEqual({ released: 0, heldNanodollars: 0, heldTokens: 0, callIds: [] });
  });

  test("abandons what a dead process left open: no charge, the hold free again, all of it reported", async () => {
    const file = temporaryFile();
    const dead = await ledgerFixture(file);
    await addAccount(dead.store, "acc_1", 100);
    await dead.ledger.admit(createAdmission({ callId: "a", holdNanodollars: 30 }));
    await dead.ledger.admit(createAdmission({ callId: "b", premium: false, holdTokens: 40 }));
    await dead.ledger.admit(createAdmission({ callId: "c" }));
    await dead.ledger.settle(createSettlement("c"));
    const store = await temporaryStore(file);
    const ledger = new ProcessLedger({ store, now: () => 77 });
    expect((await readWalletState(store, "acc_1")).heldNanodollars).toBe(30);
    expect(await ledger.recover()).toEqual({
      released: 2,
      heldNanodollars: 30,
      heldTokens: 40,
      callIds: ["a", "b"],
    });
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
    const call = await store.db.selectFrom("calls").selectAll().where("id", "=", "a").executeTakeFirstOrThrow();
    expect(call).toMatchObject({ state: "abandoned", settled_at: 77, usage_source: null, cost_nanodollars: null });
    expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { open: 0, abandoned: 2 } });
    expect((await ledger.recover()).released).toBe(0);
  });

  test("frees budgets of subjects from what a dead process held of them, and charges them nothing", async () => {
    const file = temporaryFile();
    const dead = await ledgerFixture(file);
    await addAccount(dead.store, "acc_1", 100);
    const fields = {
      by: commandLine,
      accountId: "acc_1",
      subject: "end_user",
      limitNanodollars: 50,
      period: "day",
    } as const;
    const budgets = [await createBudget(dead.store, fields, dead.clock.time)];
    const call = { budgets, endUser: "ada", holdNanodollars: 30 };
    await dead.ledger.admit(createAdmission(call));
    const ended = createAdmission({ ...call, holdNanodollars: 5 });
    await dead.ledger.admit(ended);
    await dead.ledger.settle(createSettlement(ended.callId, { costNanodollars: 5 }));
    const store = await temporaryStore(file);
    const ledger = new ProcessLedger({ store, now: () => dead.clock.time });
    expect((await ledger.recover()).released).toBe(1);
    expect((await ledger.admit(createAdmission({ ...call, holdNanodollars: 60 }))).heldNanodollars).toBe(45);
    expect((await verifyLedger(store)).differences).toEqual([]);
  });

  test("does not hinder a process that lives after all: its call is charged, once", async () => {
    const file = temporaryFile();
    const alive = await ledgerFixture(file);
    await addAccount(alive.store, "acc_1", 100);
    const admission = createAdmission();
    await alive.ledger.admit(admission);
    const store = await temporaryStore(file);
    await new ProcessLedger({ store }).recover();
    await alive.ledger.settle(createSettlement(admission.callId));
    await alive.ledger.settle(createSettlement(admission.callId));
    expect(await readWalletState(store, "acc_1")).toEqual({ balanceNanodollars: 90, heldNanodollars: 0 });
    expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { abandoned: 0 } });
  });

  test("is refused while calls of its own are running", async () => {
    const { store, ledger } = await ledgerFixture();
    await addAccount(store, "acc_1", 100);
    await ledger.admit(createAdmission());
    expect(() => ledger.recover()).toThrow("Cannot recover: calls of this process are already running");
  });
});

test("credits made beside a process under load are all counted, and so are its charges", async () => {
  const file = temporaryFile();
  const store = await temporaryStore(file);
  await addAccount(store, "acc_1", 1e12);
  const child = Bun.spawn([process.execPath, load, file, "0"], { stdout: "pipe" });
  const reader = child.stdout.getReader();
  await reader.read();
  for (let i = 0; i < 50; i++) await creditWallet(store, { accountId: "acc_1", nanodollars: 1000, note: "top-up" });
  child.kill("SIGKILL");
  await child.exited;
  const verification = await verifyLedger(store);
  expect(verification.differences).toEqual([]);
  const charged = await store.db.selectFrom("calls").select("id").where("charged_nanodollars", "<>", 0).execute();
  const charges = charged.length;
  expect(charges).toBeGreaterThan(0);
  expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(1e12 + 50_000 - 10 * charges);
});

test("killed with -9 under load, five times over, the ledger holds every charge that was told, once", async () => {
  const file = temporaryFile();
  const first = await temporaryStore(file);
  await addAccount(first, "acc_1", 1e12);
  await first.close();
  const told = new Set<string>();
  for (let round = 0; round < 5; round++) {
    const child = Bun.spawn([process.execPath, load, file, String(round)], {
      stdout: "pipe",
    });
    let text = "";
    const reading = (async () => {
      for await (const chunk of child.stdout) {
        text += new TextDecoder().decode(chunk);
        if (text.length > 4000 * (round + 1)) child.kill("SIGKILL");
      }
    })();
    await child.exited;
    await reading;
    for (const line of text.split("\n").slice(0, -1)) told.add(line);
    const store = await temporaryStore(file);
    const ledger = new ProcessLedger({ store });
    await ledger.recover();
    const settled = await store.db.selectFrom("calls").select("id").where("state", "=", "settled").execute();
    const written = new Set(settled.map((call) => call.id));
    expect([...told].filter((id) => !written.has(id))).toEqual([]);
    const verification = await verifyLedger(store);
    expect(verification.differences).toEqual([]);
    expect(verification.counts.open).toBe(0);
    expect((await readWalletState(store, "acc_1")).balanceNanodollars).toBe(1e12 - 10 * written.size);
    await store.close();
  }
  expect(told.size).toBeGreaterThan(100);
});
