import { describe, expect, test } from "bun:test";
import { readLatestCalls } from "../../../src/reports/index.ts";
import { recordCalls } from "../../support/payers.ts";
import { chargeOf, endOf, openOf } from "../db/facts.ts";
import { temporaryFile, temporaryStore } from "../db/temporary-store.ts";

const account = "acc_1";

describe("the latest calls of an account", () => {
  test("are told once by their stamp, until one comes or ends", async () => {
    const store = await temporaryStore();
    const latest = (seen?: string) => readLatestCalls(store, account, { limit: 2, seen });
    const none = await latest();
    expect(none?.calls).toEqual([]);
    expect(await latest(none?.stamp)).toBeUndefined();

    const open = openOf("c1");
    await recordCalls(store, [open]);
    const running = await latest(none?.stamp);
    expect(running?.calls).toMatchObject([{ id: "c1", state: "open" }]);
    expect(await latest(running?.stamp)).toBeUndefined();

    await recordCalls(store, [endOf(open)]);
    const ended = await latest(running?.stamp);
    expect(ended?.calls).toMatchObject([{ id: "c1", state: "settled" }]);
    expect(await latest(ended?.stamp)).toBeUndefined();

    // Of more than are shown, the oldest goes.
    for (const id of ["c2", "c3"]) await recordCalls(store, chargeOf(id));
    const more = await latest(ended?.stamp);
    expect(more?.calls.map(({ id }) => id)).toEqual(["c3", "c2"]);
    expect(await latest(more?.stamp)).toBeUndefined();
    expect(await latest("")).toEqual(more);
  });

  test("are told again where another process changes the ledger", async () => {
    const file = temporaryFile();
    const [owner, other] = [await temporaryStore(file), await temporaryStore(file)];
    await recordCalls(owner, chargeOf("c1"));
    const seen = (await readLatestCalls(owner, account, { limit: 2 }))?.stamp;
    await recordCalls(other, chargeOf("c2"));
    expect((await readLatestCalls(owner, account, { limit: 2, seen }))?.calls.map(({ id }) => id)).toEqual([
      "c2",
      "c1",
    ]);
  });

  test("are of that account alone", async () => {
    const store = await temporaryStore();
    await recordCalls(store, chargeOf("c1"));
    const before = await readLatestCalls(store, "acc_2", { limit: 2 });
    await recordCalls(store, chargeOf("c2"));
    expect(await readLatestCalls(store, "acc_2", { limit: 2, seen: before?.stamp })).toBeUndefined();
  });
});
