import { describe, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { moveWallet, openStore } from "../../../../src/db/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { addPayer, chargeOf } from "../facts.ts";
import { temporaryFile, temporaryStore } from "../temporary-store.ts";

describe("the embedded store", () => {
  test("has what was written in its tables at once, for every other process too", async () => {
    const file = temporaryFile();
    const store = await temporaryStore(file);
    await addPayer(store);
    const other = new DatabaseSync(file, { readOnly: true });
    await store.writeLedger(chargeOf("c1"));
    expect({ ...other.prepare("select state, charged_nanodollars as charged from calls").get() }).toEqual({
      state: "settled",
      charged: 10,
    });
    other.close();
  });

  test.each([
    [undefined, 2],
    ["full", 2],
    ["normal", 1],
  ] as const)("syncs as it is told: %p", async (synchronous, level) => {
    const prepared: DatabaseSync[] = [];
    const { prepare } = DatabaseSync.prototype;
    // The store keeps its connection to itself, so it is caught when it prepares its first statement.
    DatabaseSync.prototype.prepare = function (sql) {
      prepared.push(this);
      return prepare.call(this, sql);
    };
    const store = await openStore({ file: temporaryFile(), synchronous }).finally(() => {
      DatabaseSync.prototype.prepare = prepare;
    });
    expect({ ...prepared[0]?.prepare("pragma synchronous").get() }).toEqual({ synchronous: level });
    await store.close();
  });

  test("writes calls that come while a change is under way after it, and neither is lost", async () => {
    const store = await temporaryStore();
    await addPayer(store);
    const writes: Promise<unknown>[] = [];
    const change = (name: string) =>
      store.change(async (db) => {
        writes.push(store.writeLedger(chargeOf(`during ${name}`)));
        await db.insertInto("settings").values({ name, value: "" }).execute();
        await Bun.sleep(1);
      });
    await Promise.all(["a", "b", "c"].map(change));
    await Promise.all(writes);
    const { db } = store;
    expect(await db.selectFrom("settings").select("name").where("value", "=", "").execute()).toHaveLength(3);
    expect((await db.selectFrom("calls").select("id").orderBy("id").execute()).map(({ id }) => id)).toEqual([
      "during a",
      "during b",
      "during c",
    ]);
  });

  test("has copies in memory read anew after a change that was taken back, since they may show it", async () => {
    const store = await temporaryStore();
    const before = store.revision;
    await errorOf(
      store.change(async (db) => {
        await moveWallet(db, "acc_1", 5);
        throw new Error("No");
      }),
    );
    expect(store.revision).toBeGreaterThan(before);
    expect(store.readBalance("acc_1", 0)).toMatchObject({ balanceNanodollars: 0 });
  });
});

describe("the claim to serve", () => {
  test("is one process's until it closes, in a file that only its owner may read", async () => {
    const file = temporaryFile();
    const [first, second] = [await temporaryStore(file), await temporaryStore(file)];
    expect([first.lockForServing?.(), first.lockForServing?.(), second.lockForServing?.()]).toEqual([
      true,
      true,
      false,
    ]);
    expect(statSync(file.replace(/db$/, "lock")).mode & 0o777).toBe(0o600);
    await addPayer(second);
    await second.writeLedger(chargeOf("c1"));
    await first.close();
    expect(second.lockForServing?.()).toBe(true);
  });
});
