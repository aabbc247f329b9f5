import { describe, expect, test } from "bun:test";
import { createContents } from "../../../src/db/index.ts";
import { temporaryStore } from "./temporary-store.ts";

const rowBytes = 512;
const rowOf = (id: string, accountId: string, { at = 1, bytes = 100 } = {}) => {
  return { id, accountId, at, body: new Uint8Array(bytes).fill(7), secretsId: "a key" };
};
const plenty = 2 ** 30;

describe("the table of contents", () => {
  test("gives a row to its account and to those who name none, and deletes it for its account alone", async () => {
    const contents = createContents(await temporaryStore());
    const row = rowOf("req_1", "ada");
    await contents.put("ada", [row], plenty);
    await contents.put("ada", [row], plenty);
    for (const owner of ["ada", undefined]) {
      const found = await contents.get("req_1", owner);
      expect({ ...found, body: [...(found?.body ?? [])] }).toEqual({ ...row, body: [...row.body] } as never);
      expect(await contents.has("req_1", owner)).toBe(true);
    }
    expect(await contents.get("req_1", "ben")).toBeUndefined();
    expect(await contents.has("req_1", "ben")).toBe(false);
    expect(await contents.delete("ben", "req_1")).toBe(false);
    expect(await contents.delete("ada", "req_1")).toBe(true);
    expect(await contents.delete("ada", "req_1")).toBe(false);
  });

  test("holds no more bytes of an account than it may, and drops the oldest", async () => {
    const contents = createContents(await temporaryStore());
    const bytesMax = 10 * (100 + rowBytes);
    await contents.put("ben", [rowOf("req_ben", "ben")], bytesMax);
    for (let at = 0; at < 30; at += 3) {
      const rows = [at, at + 1, at + 2].map((one) => rowOf(`req_${one}`, "ada", { at: one }));
      await contents.put("ada", rows, bytesMax);
    }
    expect(await contents.measure("ada")).toEqual({ records: 10, bytes: bytesMax });
    expect(await contents.has("req_19")).toBe(false);
    expect(await contents.has("req_20")).toBe(true);
    expect(await contents.has("req_ben")).toBe(true);
    // One that is too large alone goes at once.
    await contents.put("ada", [rowOf("req_large", "ada", { bytes: 10_000 })], bytesMax);
    expect(await contents.measure("ada")).toEqual({ records: 0, bytes: 0 });
  });

  test("deletes by age and by account in several statements", async () => {
    const contents = createContents(await temporaryStore());
    for (const accountId of ["ada", "ben"]) {
      const rows = Array.from({ length: 250 }, (_, at) => rowOf(`req_${accountId}_${at}`, accountId, { at }));
      await contents.put(accountId, rows, plenty);
    }
    expect(await contents.prune(120)).toBe(240);
    expect(await contents.has("req_ada_119")).toBe(false);
    expect(await contents.has("req_ada_120")).toBe(true);
    expect(await contents.deleteAll("ada")).toBe(130);
    expect((await contents.measure("ben")).records).toBe(130);
  });

  test("written by two at once has a position of its own for each row", async () => {
    const store = await temporaryStore();
    const contents = createContents(store);
    const writes = Array.from({ length: 8 }, (_, at) => contents.put("ada", [rowOf(`req_${at}`, "ada")], plenty));
    await Promise.all(writes);
    const rows = await store.db.selectFrom("contents").select("position").orderBy("position").execute();
    expect(rows.map(({ position }) => position)).toEqual(writes.map((_, at) => at * (100 + rowBytes)));
  });
});
