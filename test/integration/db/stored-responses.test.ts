import { expect, test } from "bun:test";
import { createStoredResponses } from "../../../src/db/index.ts";
import { temporaryStore } from "./temporary-store.ts";

const accountBytesMax = 1_000_000;
const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).sort();

/** A store with a clock of its own, and a way to put a response with one item into it. */
async function fixture() {
  const clock = { now: 1000 };
  const store = await temporaryStore(undefined, () => clock.now);
  const responses = createStoredResponses(store, () => clock.now);
  const put = (
    accountId: string,
    name: string,
    options: Partial<Parameters<typeof responses.put>[2]> = {},
    bytes = 9,
  ) => {
    const rows = [`resp_${name}`, `msg_${name}`].map((id) => ({
      id,
      responseId: `resp_${name}`,
      body: new Uint8Array(bytes).fill(7),
    }));
    return responses.put(accountId, rows, { expiresAt: 2000, usedIds: [], accountBytesMax, ...options });
  };
  return { clock, store, responses, put };
}

test("rows come back to their account alone, until they expire", async () => {
  const { clock, responses, put } = await fixture();
  await put("acc_1", "a");
  const found = await responses.get("acc_1", ["resp_a", "msg_a", "msg_b"]);
  expect(ids(found)).toEqual(["msg_a", "resp_a"]);
  expect([...(found[0]?.body ?? [])]).toEqual(Array(9).fill(7));
  expect(await responses.get("acc_2", ["resp_a", "msg_a"])).toEqual([]);
  expect(await responses.delete("acc_2", "resp_a")).toBe(false);
  clock.now = 1999;
  expect(ids(await responses.sizes("acc_1", ["resp_a"]))).toEqual(["resp_a"]);
  clock.now = 2000;
  expect(await responses.sizes("acc_1", ["resp_a"])).toEqual([]);
  expect(await responses.get("acc_1", ["resp_a"])).toEqual([]);
  expect(await responses.delete("acc_1", "resp_a")).toBe(false);
});

test("what is used lives as long as its user, and no longer", async () => {
  const { clock, responses, put } = await fixture();
  await put("acc_1", "a");
  await put("acc_2", "a");
  await put("acc_1", "b", { expiresAt: 3000, usedIds: ["resp_a"] });
  await put("acc_1", "c", { expiresAt: 2500, usedIds: ["resp_a"] });
  clock.now = 2998;
  expect(ids(await responses.get("acc_1", ["resp_a", "msg_a", "resp_b"]))).toEqual(["resp_a", "resp_b"]);
  expect(await responses.get("acc_2", ["resp_a"])).toEqual([]);
});

test("two requests that use the same response at once are both stored", async () => {
  const { responses, put } = await fixture();
  await put("acc_1", "a");
  const names = [...Array(20).keys()].map((number) => `b${number}`);
  await Promise.all(names.map((name) => put("acc_1", name, { expiresAt: 3000, usedIds: ["resp_a", "msg_a"] })));
  expect(
    (
      await responses.get(
        "acc_1",
        names.map((name) => `resp_${name}`),
      )
    ).length,
  ).toBe(20);
});

test("beyond its bytes an account loses what expires first, and no other account does", async () => {
  const { responses, put } = await fixture();
  await put("acc_2", "z", { expiresAt: 1500 }, 50_000);
  await put("acc_1", "a", { expiresAt: 2001 }, 50_000);
  await put("acc_1", "b", { expiresAt: 2002 }, 50_000);
  await put("acc_1", "c", { expiresAt: 2003, accountBytesMax: 220_000 }, 50_000);
  const all = ["resp_a", "msg_a", "resp_b", "msg_b", "resp_c", "msg_c"];
  expect(ids(await responses.get("acc_1", all))).toEqual(["msg_b", "msg_c", "resp_b", "resp_c"]);
  expect(ids(await responses.get("acc_2", ["resp_z"]))).toEqual(["resp_z"]);
});

test("an account at its bytes loses as much as each response adds, and is measured again once it has room", async () => {
  const { clock, responses, put } = await fixture();
  const names = [...Array(12).keys()].map((number) => `a${number}`);
  const kept = async () =>
    ids(
      await responses.sizes(
        "acc_1",
        names.map((name) => `resp_${name}`),
      ),
    );
  const bounds = { accountBytesMax: 220_000 };
  // Two responses fit. Each of them is another process, which has seen nothing of the others, or one that has seen all.
  for (const [index, name] of names.slice(0, 6).entries()) {
    await put("acc_1", name, { ...bounds, expiresAt: 2000 + index }, 50_000);
    expect(await kept()).toEqual(names.slice(Math.max(0, index - 1), index + 1).map((one) => `resp_${one}`));
  }
  clock.now = 2010;
  expect(await responses.prune(2010)).toBe(4);
  for (const [index, name] of names.slice(6).entries()) {
    await put("acc_1", name, { ...bounds, expiresAt: 3000 + index }, 50_000);
    const last = names.slice(Math.max(6, index + 5), index + 7);
    expect(await kept()).toEqual(last.map((one) => `resp_${one}`).sort());
  }
});

test("the rows of an account are measured when they may be too many, and not for each response", async () => {
  const { store, put } = await fixture();
  const own = createStoredResponses({ ...store, shared: false }, () => 1000);
  const write = async (number: number) => {
    const rows = [{ id: `resp_${number}`, responseId: `resp_${number}`, body: new Uint8Array(100_000) }];
    await own.put("acc_1", rows, { expiresAt: 2000 + number, usedIds: [], accountBytesMax });
  };
  const has = async (name: string) => (await own.sizes("acc_1", [`resp_${name}`])).length === 1;
  for (const number of [1, 2, 3]) await write(number);
  // Another process fills the account. This one measures it when its own rows would fill it.
  await put("acc_1", "other", { expiresAt: 1500, accountBytesMax: 2_000_000 }, 400_000);
  for (const number of [4, 5, 6, 7, 8, 9]) await write(number);
  expect(await has("other")).toBe(true);
  await write(10);
  expect([await has("other"), await has("1"), await has("2")]).toEqual([false, false, true]);
});

test("a response is deleted with its items", async () => {
  const { store, responses, put } = await fixture();
  await put("acc_1", "a");
  await put("acc_1", "b");
  await put("acc_2", "a");
  expect(await responses.delete("acc_1", "resp_a")).toBe(true);
  expect(await responses.delete("acc_1", "resp_a")).toBe(false);
  expect(await responses.delete("acc_1", "msg_b")).toBe(false);
  const left = await store.db.selectFrom("stored_responses").select(["account_id", "id"]).execute();
  expect(left.map(({ account_id, id }) => `${account_id} ${id}`).sort()).toEqual([
    "acc_1 msg_b",
    "acc_1 resp_b",
    "acc_2 msg_a",
    "acc_2 resp_a",
  ]);
});

test("prune deletes all that expired, also more than one cut, and nothing else", async () => {
  const { responses, put } = await fixture();
  await Promise.all([...Array(105).keys()].map((number) => put("acc_1", `a${number}`)));
  await put("acc_1", "b", { expiresAt: 2001 });
  expect(await responses.prune(2000)).toBe(210);
  expect(await responses.prune(2000)).toBe(0);
  expect(ids(await responses.get("acc_1", ["resp_b"]))).toEqual(["resp_b"]);
});

test("rows of an id that is there already take its place, and many rows are written at once", async () => {
  const { responses, put } = await fixture();
  await put("acc_1", "a");
  const rows = [...Array(250).keys()].map((number) => ({
    id: `msg_${number}`,
    responseId: "resp_a",
    body: new Uint8Array([1]),
  }));
  await responses.put("acc_1", [...rows, { id: "msg_a", responseId: "resp_b", body: new Uint8Array([2]) }], {
    expiresAt: 2000,
    usedIds: [],
    accountBytesMax,
  });
  expect(
    (
      await responses.get(
        "acc_1",
        rows.map(({ id }) => id),
      )
    ).length,
  ).toBe(250);
  expect([...((await responses.get("acc_1", ["msg_a"]))[0]?.body ?? [])]).toEqual([2]);
});
