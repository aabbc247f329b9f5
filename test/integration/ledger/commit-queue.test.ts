import { expect, test } from "bun:test";
import type { EndedCall, Store } from "../../../src/db/index.ts";
import { toEndedCall, toOpenCall } from "../../../src/ledger/call-records.ts";
import { CommitQueue } from "../../../src/ledger/commit-queue.ts";
import { ProcessLedger, verifyLedger } from "../../../src/ledger/index.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { addAccount, createAdmission, createSettlement, statesOf } from "./fixture.ts";

/** A store whose disk takes as long as a test wants to sync what is committed. */
function onSlowDisk(store: Store) {
  const disk: { syncs: number; finish(): void } = { syncs: 0, finish: () => undefined };
  const writeLedger: Store["writeLedger"] = async (batch, onCommitted) => {
    await store.writeLedger(batch, onCommitted);
    if (batch.every(({ kind }) => kind !== "end")) return undefined;
    disk.syncs += 1;
    await new Promise<void>((resolve) => {
      disk.finish = resolve;
    });
    return undefined;
  };
  return { disk, slow: Object.create(store, { writeLedger: { value: writeLedger } }) as Store };
}

async function untilSyncs(disk: { syncs: number }, syncs: number): Promise<void> {
  while (disk.syncs < syncs) await Bun.sleep(1);
}

test("a charge that a slow disk keeps for longer than a call waits is written once the store takes it", async () => {
  const store = await temporaryStore();
  await addAccount(store, "acc_1", 100);
  let isFull = true;
  const writeLedger: Store["writeLedger"] = (batch, onCommitted) => {
    if (isFull && batch.some(({ kind }) => kind === "end"))
      return Promise.reject(new Error("database or disk is full"));
    return store.writeLedger(batch, onCommitted);
  };
  const impatient = Object.create(store, { writeLedger: { value: writeLedger }, callWaitMs: { value: 50 } }) as Store;
  const spooled: string[] = [];
  const spool = {
    failure: undefined,
    append: async (ends: readonly EndedCall[]) => {
      await Bun.sleep(200);
      return spooled.push(...ends.map(({ open }) => open.callId)) > 0;
    },
    clear: async () => void spooled.splice(0),
  };
  const queue = new CommitQueue(impatient, () => undefined, { spool });
  const admission = createAdmission();
  const { callId } = admission;
  const open = toOpenCall(admission, { quotaDay: null, holdNanodollars: 10, holdTokens: 0 });
  await queue.add(open);
  await queue.add(toEndedCall(open, createSettlement(callId), 0));
  expect([spooled, queue.unwritten.size]).toEqual([[callId], 1]);
  isFull = false;
  await queue.flush();
  expect([spooled, queue.unwritten.size, await statesOf(store)]).toEqual([[], 0, { [callId]: "settled" }]);
  queue.close();
});

test("while a charge waits for the disk, holds are written at once and the next charges wait for the next sync", async () => {
  const store = await temporaryStore();
  const { disk, slow } = onSlowDisk(store);
  const ledger = new ProcessLedger({ store: slow });
  await addAccount(store, "acc_1", 100);
  const calls = Array.from({ length: 4 }, () => createAdmission());
  const [first, second, third, fourth] = calls.map(({ callId }) => callId) as [string, string, string, string];
  const admit = (place: number) => ledger.admit(calls[place] as (typeof calls)[number]);
  await Promise.all([admit(0), admit(1)]);
  const settled: string[] = [];
  const settle = async (callId: string) => {
    await ledger.settle(createSettlement(callId));
    settled.push(callId);
  };
  // The batch of this charge has a hold too, which does not wait for the charge's sync.
  const one = settle(first);
  await admit(2);
  await untilSyncs(disk, 1);
  const two = settle(second);
  await admit(3);
  expect(await statesOf(store)).toEqual({
    [first]: "settled",
    [second]: "open",
    [third]: "open",
    [fourth]: "open",
  });
  expect([disk.syncs, settled]).toEqual([1, []]);
  disk.finish();
  await one;
  expect(settled).toEqual([first]);
  await untilSyncs(disk, 2);
  disk.finish();
  await two;
  expect(settled).toEqual([first, second]);
  const rest = Promise.all([settle(third), settle(fourth)]);
  await untilSyncs(disk, 3);
  disk.finish();
  await rest;
  expect(await ledger.readWalletState("acc_1")).toEqual({ balanceNanodollars: 60, heldNanodollars: 0 });
  expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { open: 0 } });
  await ledger.close();
});
