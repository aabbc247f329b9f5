import { describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { insertAbandoned } from "../../../src/db/call-columns.ts";
import { type EndedCall, isConstraintError, type OpenCall, type Store } from "../../../src/db/index.ts";
import { addPayers } from "../../support/payers.ts";
import { engine, temporaryStore } from "./temporary-store.ts";

const hourMs = 3_600_000;

function openOf(callId: string, fields: Partial<OpenCall> = {}): OpenCall {
  return {
    kind: "open",
    callId,
    accountId: "acc_1",
    keyId: "key1",
    model: "model-1",
    capability: "chat",
    premium: true,
    openedAt: 5 * hourMs + 7,
    quotaDay: null,
    holdNanodollars: 15,
    holdTokens: 0,
    priceVersion: "v1",
    ...fields,
  };
}

function endOf(open: OpenCall, fields: Partial<EndedCall> = {}): EndedCall {
  return {
    kind: "end",
    open,
    outcome: "settled",
    settledAt: 5 * hourMs + 99,
    meters: { inputToken: 3, outputToken: 4 },
    usageSource: "reported",
    costNanodollars: 13,
    chargedNanodollars: 13,
    quotaTokens: 0,
    plugin: "openai",
    status: 200,
    firstByteMs: 11,
    durationMs: 22,
    ...fields,
  };
}

async function storeOfPayers(): Promise<Store> {
  const store = await temporaryStore();
  await addPayers(store, { acc_1: ["key1"], acc_2: ["key2"] });
  return store;
}

async function rowsOf(
  store: Store,
  table: "calls" | "open_calls" | "transactions" | "wallets" | "daily_charges" | "daily_quota_usage",
) {
  const rows = await store.db.selectFrom(table).selectAll().execute();
  return rows.map((row) => ({ ...row })) as Record<string, unknown>[];
}

describe("writeLedger", () => {
  test("puts every field of a call into its column", async () => {
    const store = await storeOfPayers();
    const names = { session: "s-1", tag: "t-1", endUser: "ada", agent: "a-1", parentAgent: "a-0" };
    const open = openOf("c1", { ...names, markupBasisPoints: 2000 });
    await store.writeLedger([open]);
    const numbers = {
      id_bytes: expect.anything(),
      account_no: expect.any(Number),
      key_no: expect.any(Number),
    };
    expect(await rowsOf(store, "open_calls")).toEqual([
      {
        ...numbers,
        id: "c1",
        account_id: "acc_1",
        key_id: "key1",
        model: "model-1",
        capability: "chat",
        premium: 1,
        opened_at: 5 * hourMs + 7,
        quota_day: null,
        tag: "t-1",
        end_user: "ada",
        agent: "a-1",
        parent_agent: "a-0",
        hold_nanodollars: 15,
        hold_tokens: 0,
        price_version: "v1",
        markup_basis_points: 2000,
        session: "s-1",
        node_id: engine === "sqlite" ? null : expect.any(String),
      },
    ]);
    expect(await rowsOf(store, "calls")).toEqual([]);
    const meters = {
      inputToken: 1,
      cacheReadToken: 2,
      cacheWriteToken: 3,
      cacheWrite1hToken: 9,
      outputToken: 4,
      audioInputToken: 10,
      audioOutputToken: 11,
      imageOutputToken: 12,
      image: 5,
      inputImage: 17,
      audioMs: 6,
      character: 7,
      imageInputToken: 13,
      audioCacheReadToken: 14,
      searchUnit: 15,
      webSearch: 16,
      cacheWrite12hToken: 18,
      page: 19,
      second: 20,
      call: 8,
    };
    const miss = { kind: "tools", place: "tools[3]", tokens: 21 } as const;
    const cache = { miss, lostNanodollars: 22, savedNanodollars: 23 };
    const logged = {
      cache,
      providerCostNanodollars: 10,
      providerPriceVersion: "v2",
      protocol: "messages",
      clientRequestId: "mine-1",
      detail: '{"finish":["stop"]}',
    };
    await store.writeLedger([endOf(open, { meters, errorCode: "upstream_error", ...logged })]);
    expect(await rowsOf(store, "open_calls")).toEqual([]);
    expect(await rowsOf(store, "calls")).toEqual([
      {
        ...numbers,
        error_no: expect.any(Number),
        seq: 1,
        id: "c1",
        account_id: "acc_1",
        key_id: "key1",
        model: "model-1",
        capability: "chat",
        premium: 1,
        state: "settled",
        opened_at: 5 * hourMs + 7,
        settled_at: 5 * hourMs + 99,
        quota_day: null,
        hold_nanodollars: 15,
        hold_tokens: 0,
        input_tokens: 1,
        cache_read_tokens: 2,
        cache_write_tokens: 3,
        cache_write_1h_tokens: 9,
        output_tokens: 4,
        audio_input_tokens: 10,
        audio_output_tokens: 11,
        image_output_tokens: 12,
        images: 5,
        input_images: 17,
        audio_ms: 6,
        characters: 7,
        image_input_tokens: 13,
        audio_cache_read_tokens: 14,
        search_units: 15,
        web_searches: 16,
        cache_write_12h_tokens: 18,
        pages: 19,
        seconds: 20,
        call_units: 8,
        usage_source: "reported",
        cost_nanodollars: 13,
        provider_cost_nanodollars: 10,
        provider_price_version: "v2",
        charged_nanodollars: 13,
        quota_tokens: 0,
        cache_miss: "tools",
        cache_miss_place: "tools[3]",
        cache_missed_tokens: 21,
        cache_lost_nanodollars: 22,
        cache_saved_nanodollars: 23,
        price_version: "v1",
        markup_basis_points: 2000,
        plugin: "openai",
        status: 200,
        error_code: "upstream_error",
        first_byte_ms: 11,
        duration_ms: 22,
        end_user: "ada",
        agent: "a-1",
        parent_agent: "a-0",
        session: "s-1",
        tag: "t-1",
        protocol: "messages",
        client_request_id: "mine-1",
        detail: '{"finish":["stop"]}',
        node_id: engine === "sqlite" ? null : expect.any(String),
      },
    ]);
  });

  test("leaves an unknown meter and an unknown cost unknown", async () => {
    const store = await storeOfPayers();
    const open = openOf("c1", { premium: false, quotaDay: 3 });
    await store.writeLedger([open, endOf(open, { meters: {}, costNanodollars: undefined, chargedNanodollars: 0 })]);
    const [call] = await rowsOf(store, "calls");
    expect(call).toMatchObject({ input_tokens: null, output_tokens: null, cost_nanodollars: null });
    expect(await rowsOf(store, "daily_charges")).toEqual([]);
  });

  test("moves wallet, charges and quota of a day once for each call of a batch", async () => {
    const store = await storeOfPayers();
    const premium = ["c1", "c2"].map((id) => openOf(id));
    const free = ["c3", "c4"].map((id) => openOf(id, { premium: false, quotaDay: 3, holdNanodollars: 0 }));
    const draw = { chargedNanodollars: 0, quotaTokens: 7 };
    const ends = [...premium.map((open) => endOf(open)), ...free.map((open) => endOf(open, draw))];
    await store.writeLedger([...premium, ...free]);
    await store.writeLedger([...ends, endOf(openOf("c5"), { unmade: true })]);
    expect(await rowsOf(store, "wallets")).toEqual([{ account_id: "acc_1", balance_nanodollars: -26 }]);
    expect(await rowsOf(store, "daily_quota_usage")).toEqual([
      { account_id: "acc_1", day: 3, used_tokens: 14, counted_day: null },
    ]);
    expect(await rowsOf(store, "daily_charges")).toEqual([{ account_id: "acc_1", day: 0, charged_nanodollars: 26 }]);
    expect(await rowsOf(store, "transactions")).toEqual([]);
  });

  test("adds a charge to the day on which its call began, by account", async () => {
    const store = await storeOfPayers();
    const at = (callId: string, hour: number, fields: Partial<OpenCall> = {}) =>
      openOf(callId, { ...fields, openedAt: hour * hourMs });
    const opens = [at("c1", 22), at("c2", 23), at("c3", 23, { accountId: "acc_2", keyId: "key2" }), at("c4", 24)];
    await store.writeLedger(opens);
    await store.writeLedger(opens.map((open) => endOf(open)));
    const late = [at("c5", 22), at("c6", 20)];
    await store.writeLedger([
      ...late,
      endOf(late[0] as OpenCall),
      endOf(late[1] as OpenCall, { outcome: "released", chargedNanodollars: 0 }),
    ]);
    const days = (await rowsOf(store, "daily_charges")).map((row) => Object.values(row).join(" "));
    expect(days.sort()).toEqual(["acc_1 0 39", "acc_1 1 13", "acc_2 0 13"]);
  });

  test("numbers the ends of calls in the order in which they are written, that of a call taken for abandoned anew", async () => {
    const store = await storeOfPayers();
    const seqs = async () => {
      const rows = await store.db.selectFrom("calls").select("id").orderBy("seq").execute();
      return rows.map(({ id }) => id).join(" ");
    };
    const [first, second, third] = [openOf("c1"), openOf("c2"), openOf("c3")] as const;
    await store.writeLedger([first]);
    await insertAbandonedCalls(store);
    await store.writeLedger([second, third, endOf(third)]);
    await store.writeLedger([endOf(second)]);
    expect(await seqs()).toBe("c1 c3 c2");
    await store.writeLedger([endOf(first)]);
    expect(await seqs()).toBe("c3 c2 c1");
  });

  test("counts the end of a call once, however often it is written", async () => {
    const store = await storeOfPayers();
    const open = openOf("c1");
    await store.writeLedger([open]);
    await store.writeLedger([endOf(open), endOf(open)]);
    await store.writeLedger([endOf(open, { outcome: "released", chargedNanodollars: 0 })]);
    expect(await rowsOf(store, "wallets")).toEqual([{ account_id: "acc_1", balance_nanodollars: -13 }]);
    expect(await rowsOf(store, "daily_charges")).toEqual([{ account_id: "acc_1", day: 0, charged_nanodollars: 13 }]);
    expect((await rowsOf(store, "calls"))[0]).toMatchObject({ state: "settled" });
  });

  test("settles once a call that was taken for abandoned, with its hold as it was last extended", async () => {
    const store = await storeOfPayers();
    const open = openOf("c1", { premium: false, quotaDay: 3, holdNanodollars: 0, holdTokens: 10 });
    await store.writeLedger([open]);
    await insertAbandonedCalls(store);
    expect(await rowsOf(store, "open_calls")).toEqual([]);
    expect(await rowsOf(store, "calls")).toMatchObject([{ id: "c1", state: "abandoned", settled_at: 9, status: null }]);
    const extended = { ...open, quotaDay: 4, holdTokens: 20 };
    const end = endOf(extended, { chargedNanodollars: 0, quotaTokens: 7 });
    await store.writeLedger([end]);
    await store.writeLedger([end]);
    const row = { state: "settled", quota_day: 4, hold_tokens: 20, quota_tokens: 7, settled_at: end.settledAt };
    expect(await rowsOf(store, "calls")).toMatchObject([row]);
    expect(await rowsOf(store, "daily_quota_usage")).toEqual([
      { account_id: "acc_1", day: 4, used_tokens: 7, counted_day: null },
    ]);
  });

  test("charges a call whose hold was lost, as a crash of PostgreSQL may lose the last ones, once", async () => {
    const store = await storeOfPayers();
    const open = openOf("c1");
    await store.writeLedger([open]);
    await store.db.deleteFrom("open_call_rows").execute();
    await store.writeLedger([endOf(open)]);
    await store.writeLedger([endOf(open)]);
    expect(await rowsOf(store, "calls")).toMatchObject([{ id: "c1", state: "settled", charged_nanodollars: 13 }]);
    expect(await rowsOf(store, "wallets")).toEqual([{ account_id: "acc_1", balance_nanodollars: -13 }]);
  });

  test("writes all of a batch or nothing, and says that a taken id is the fault of the write", async () => {
    const store = await storeOfPayers();
    await store.writeLedger([openOf("c1")]);
    const error = await store.writeLedger([openOf("c2"), openOf("c1")]).catch((thrown: unknown) => thrown);
    expect(isConstraintError(error)).toBe(true);
    expect((await rowsOf(store, "open_calls")).map((call) => call.id)).toEqual(["c1"]);
    await store.writeLedger([openOf("c2")]);
  });

  test("waits for a transaction of Kysely's that is open", async () => {
    const store = await storeOfPayers();
    let written: Promise<unknown> | undefined;
    await store.db.transaction().execute(async (transaction) => {
      written = store.writeLedger([openOf("c1")]);
      await transaction.insertInto("settings").values({ name: "a", value: "b" }).execute();
      // PostgreSQL has a connection for each of the two, so there nobody waits.
      if (!store.shared) expect(await transaction.selectFrom("open_calls").select("id").execute()).toEqual([]);
    });
    await written;
    expect((await rowsOf(store, "open_calls")).map((call) => call.id)).toEqual(["c1"]);
  });
});

/** As a store does at its start, or of a node that is dead. */
async function insertAbandonedCalls({ db }: Store): Promise<void> {
  await insertAbandoned(sql`open_call_rows`, 9).execute(db);
  await db.deleteFrom("open_call_rows").execute();
}
