import { expect, test } from "bun:test";
import { sql } from "kysely";
import { insertAbandoned } from "../../../src/db/call-columns.ts";
import { createIdempotencyKeys, type KeyedRequest, type Store } from "../../../src/db/index.ts";
import { ProcessLedger } from "../../../src/ledger/index.ts";
import { addAccount, createAdmission, createSettlement } from "../ledger/fixture.ts";
import { engine, temporaryStore } from "./temporary-store.ts";

const dayMs = 86_400_000;
const answer = new Uint8Array([0, 1, 255]);

function requestOf(callId: string, fields: Partial<KeyedRequest> = {}): KeyedRequest {
  return { id: "id-1", accountId: "acc_1", callId, bodyHash: "body-1", ...fields };
}

/** The claims of another process that shares the database: over SQLite it has ended, over PostgreSQL no node is known by its id. */
function deadProcess({ db }: Store) {
  return createIdempotencyKeys({ db, now: Date.now, ...(engine === "postgres" && { sharedNodeId: "dead" }) });
}

test("of equal requests one is the first; the others find it running, then its answer", async () => {
  const { idempotencyKeys } = await temporaryStore();
  const requests = Array.from({ length: 16 }, (_, index) => requestOf(`call_${index}`));
  const claims = await Promise.all(requests.map((request) => idempotencyKeys.claim(request)));
  expect(claims.map(({ state }) => state).sort()).toEqual(["claimed", ...Array(15).fill("running")]);
  const first = requests[claims.findIndex(({ state }) => state === "claimed")] as KeyedRequest;
  expect(await idempotencyKeys.claim(requestOf("other", { bodyHash: "body-2" }))).toEqual({ state: "other_body" });
  await idempotencyKeys.complete(first, answer);
  const found = await idempotencyKeys.claim(requestOf("later"));
  if (found.state !== "done") throw new Error(`It is ${found.state}`);
  expect([found.callId, found.answerBytes]).toEqual([first.callId, answer.length]);
  expect([...((await idempotencyKeys.readAnswer(first.id)) as Uint8Array)]).toEqual([...answer]);
});

test("a claim that was given up is free again, and a late end of its call changes nothing", async () => {
  const { idempotencyKeys } = await temporaryStore();
  await idempotencyKeys.claim(requestOf("call_1"));
  await idempotencyKeys.release(requestOf("call_1"));
  expect(await idempotencyKeys.claim(requestOf("call_2"))).toEqual({ state: "claimed" });
  await idempotencyKeys.complete(requestOf("call_1"), answer);
  await idempotencyKeys.release(requestOf("call_1"));
  expect(await idempotencyKeys.claim(requestOf("call_3"))).toEqual({ state: "running" });
});

test("a key is free after a day, and expired rows are deleted, also more than one cut", async () => {
  let now = 0;
  const { idempotencyKeys, db } = await temporaryStore(undefined, () => now);
  await idempotencyKeys.claim(requestOf("call_1"));
  await idempotencyKeys.complete(requestOf("call_1"), answer);
  now = dayMs - 1;
  expect((await idempotencyKeys.claim(requestOf("call_2"))).state).toBe("done");
  now = dayMs;
  expect(await idempotencyKeys.claim(requestOf("call_2", { bodyHash: "body-2" }))).toEqual({ state: "claimed" });
  now = 0;
  for (let i = 0; i < 205; i++) await idempotencyKeys.claim(requestOf(`call_${i}`, { id: `id-old-${i}` }));
  expect(await idempotencyKeys.prune(dayMs)).toBe(205);
  expect(await idempotencyKeys.prune(dayMs)).toBe(0);
  expect((await db.selectFrom("idempotency_keys").select("call_id").execute()).map((row) => row.call_id)).toEqual([
    "call_2",
  ]);
});

test("newer answers of an account take the room of its older ones, which are not run again", async () => {
  const store = await temporaryStore();
  const sharedNodeId = store.nodeId ?? undefined;
  const keys = createIdempotencyKeys({
    db: store.db,
    now: Date.now,
    bytesMax: 10_000,
    ...(sharedNodeId && { sharedNodeId }),
  });
  const big = new Uint8Array(3000);
  const other = requestOf("call_other", { id: "id-other", accountId: "acc_2" });
  await keys.claim(other);
  await keys.complete(other, big);
  const requests = Array.from({ length: 5 }, (_, index) => requestOf(`call_${index}`, { id: `id-${index}` }));
  for (const request of requests) {
    await keys.claim(request);
    await keys.complete(request, big);
  }
  const kept = await Promise.all([...requests, other].map((request) => keys.claim({ ...request, callId: "later" })));
  expect(kept.map((claim) => claim.state === "done" && claim.answerBytes !== undefined)).toEqual([
    false,
    false,
    true,
    true,
    true,
    true,
  ]);
  expect(new Set(kept.map(({ state }) => state))).toEqual(new Set(["done"]));
});

test("the request of a dead process runs anew, once, unless its call was charged", async () => {
  const store = await temporaryStore();
  const ledger = new ProcessLedger({ store });
  const dead = deadProcess(store);
  await addAccount(store, "acc_1", 1000);
  const open = createAdmission({ openedAt: Date.now() });
  const settled = createAdmission({ openedAt: Date.now() });
  await ledger.admit(open);
  await ledger.admit(settled);
  await ledger.settle(createSettlement(settled.callId));
  for (const callId of ["never admitted", open.callId, settled.callId])
    await dead.claim(requestOf(callId, { id: callId }));
  const again = (id: string, callId: string) => store.idempotencyKeys.claim(requestOf(callId, { id }));
  expect((await again("never admitted", "call_a")).state).toBe("claimed");
  expect((await again("never admitted", "call_b")).state).toBe("running");
  expect((await again(open.callId, "call_c")).state).toBe("running");
  await insertAbandoned(sql`open_call_rows`, 0).execute(store.db);
  await store.db.deleteFrom("open_call_rows").execute();
  expect((await again(open.callId, "call_c")).state).toBe("claimed");
  expect(await again(settled.callId, "call_d")).toEqual({
    state: "done",
    callId: settled.callId,
    answerBytes: undefined,
  });
  // The dead process was only cut off: its answer is of a call that is no longer the request's.
  await dead.complete(requestOf(open.callId, { id: open.callId }), answer);
  expect((await again(open.callId, "call_e")).state).toBe("running");
  await ledger.close();
});

test("an answer that could not be stored is not run again by its own process", async () => {
  const store = await temporaryStore();
  const ledger = new ProcessLedger({ store });
  await addAccount(store, "acc_1", 1000);
  const admission = createAdmission({ openedAt: Date.now() });
  const request = requestOf(admission.callId);
  await store.idempotencyKeys.claim(request);
  await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId));
  const failed = await store.idempotencyKeys.complete(request, {} as Uint8Array).then(
    () => false,
    () => true,
  );
  expect(failed).toBe(true);
  expect(await store.idempotencyKeys.claim(requestOf("later"))).toEqual({
    state: "done",
    callId: admission.callId,
    answerBytes: undefined,
  });
  await ledger.close();
});
