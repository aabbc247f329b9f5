import { describe, expect, test } from "bun:test";
import { CompiledQuery, sql } from "kysely";
import { openElsewhere } from "../../src/ledger/calls-elsewhere.ts";
import { callsElsewhere, callsElsewhereMax } from "../../src/ledger/index.ts";
import { temporaryFile, temporaryStore } from "../store/temporary-store.ts";

/** A file that two processes share, as over Redis, and open calls in it. */
async function sharedFile(ids: readonly string[]) {
  const file = temporaryFile();
  const [store, other] = [await temporaryStore(file), await temporaryStore(file)];
  await other.db.transaction().execute(async (db) => {
    for (const [index, id] of ids.entries()) {
      await sql`insert into calls (id, account_id, key_id, model, capability, premium, state, opened_at, hold_nanodollars, hold_tokens)
        values (${id}, 'acc_1', 'key_1', 'model-1', 'chat', 1, ${id.startsWith("ended") ? "settled" : "open"}, ${-index}, 10, 0)`.execute(
        db,
      );
    }
  });
  return store;
}

describe("calls of other processes on one file", () => {
  test("are the open ones that do not run here", async () => {
    const look = callsElsewhere(await sharedFile(["a", "b", "ended", "c'"]));
    const { count, calls } = await look(["b"]);
    expect([count, calls.map(({ id }) => id)]).toEqual([2, ["c'", "a"]]);
    expect(await look(["a", "b", "c'"])).toEqual({ count: 0, calls: [] });
  });

  test("are counted past the 200 that are told", async () => {
    const ids = Array.from({ length: callsElsewhereMax + 1 }, (_, index) => `call_${index}`);
    const look = callsElsewhere(await sharedFile(ids));
    const [all, one] = [await look([]), await look(["call_0"])];
    expect([all.count, all.calls.length, all.calls[0]?.id]).toEqual([201, 200, "call_200"]);
    expect([one.count, one.calls.length, one.calls.at(-1)?.id]).toEqual([200, 200, "call_1"]);
  });

  test("are found by the index of open calls", async () => {
    const store = await sharedFile([]);
    const { sql: text, parameters } = openElsewhere(store, ["a"]).compile();
    const plan = CompiledQuery.raw(`explain query plan ${text}`, [...parameters]);
    const { rows } = await store.db.executeQuery<{ detail: string }>(plan);
    const steps = rows.map(({ detail }) => detail).join("\n");
    expect(steps).toContain("calls USING INDEX calls_open");
    expect(steps).not.toMatch(/SCAN calls$/m);
  });
});
