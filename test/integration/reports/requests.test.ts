import { describe, expect, test } from "bun:test";
import { sql } from "kysely";
import { callIdPrefix } from "../../../src/contract/index.ts";
import {
  type EndedCall,
  nameNumber,
  type OpenCall,
  type RefusalsTable,
  type Store,
  toPayerNumber,
} from "../../../src/db/index.ts";
import {
  type LogCursor,
  RefusalLog,
  type RequestFilter,
  readRequest,
  readRequests,
  refusalsOfAccountMax,
} from "../../../src/reports/index.ts";
import { recordCalls } from "../../support/payers.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryStore } from "../db/temporary-store.ts";

/** An id of that time, which ends in the name. */
const idAt = (name: string, openedAt: number) =>
  callIdPrefix(openedAt) + Buffer.from(name).toString("hex").padStart(20, "0");
/** What {@link idAt} was given. */
const nameOf = (id: string) => Buffer.from(id.slice(-20).replace(/^(00)+/, ""), "hex").toString();

function callOf(name: string, openedAt: number, open: Partial<OpenCall> = {}, end: Partial<EndedCall> = {}) {
  const opened = openOf(idAt(name, openedAt), { openedAt, ...open });
  return [opened, endOf(opened, { chargedNanodollars: 0, ...end })];
}

function refusalOf(name: string, openedAt: number, fields: Partial<RefusalsTable> = {}): RefusalsTable {
  return {
    id: idAt(name, openedAt),
    account_id: "acc_1",
    key_id: "key1",
    opened_at: openedAt,
    endpoint: "POST /v1/chat/completions",
    capability: null,
    model: null,
    protocol: null,
    status: 400,
    error_code: "invalid_request",
    message: "n is 9",
    session: null,
    tag: null,
    client_request_id: null,
    duration_ms: 1,
    requests: 1,
    ...fields,
  };
}

async function idsOf(store: Store, filter: RequestFilter, limit = 50): Promise<string[]> {
  return (await readRequests(store, filter, { limit })).requests.map(({ id }) => nameOf(id));
}

/** Six calls and two refused requests, of two accounts. */
async function logOf(): Promise<Store> {
  const store = await temporaryStore();
  const failed = { status: 500, errorCode: "upstream_error" };
  await recordCalls(store, [
    ...callOf("c1", 10, { session: "s-1", tag: "t-1" }, { clientRequestId: "mine-1", protocol: "messages" }),
    ...callOf("c2", 20, { keyId: "key2", model: "model-2" }, { plugin: "groq", protocol: "chat" }),
    ...callOf("c3", 30, {}, failed),
    openOf(idAt("c4", 40), { openedAt: 40 }),
    ...callOf("d1", 45, { accountId: "acc_2", keyId: "key3" }, failed),
    ...callOf("c5", 50, { session: "s-1" }, { ...failed, status: 429, errorCode: "rate_limit_exceeded" }),
  ]);
  await store.db
    .insertInto("refusals")
    .values([
      refusalOf("r1", 25, { session: "s-1", model: "model-9" }),
      refusalOf("r2", 50, { account_id: "acc_2", key_id: "key3", status: 403, client_request_id: "mine-2" }),
    ])
    .execute();
  return store;
}

describe("the request log", () => {
  test("holds calls and refused requests in the order of time, of one account or of all", async () => {
    const store = await logOf();
    expect(await idsOf(store, {})).toEqual(["r2", "c5", "d1", "c4", "c3", "r1", "c2", "c1"]);
    expect(await idsOf(store, { accountId: "acc_1" })).toEqual(["c5", "c4", "c3", "r1", "c2", "c1"]);
    expect(await idsOf(store, { accountId: "acc_2" })).toEqual(["r2", "d1"]);
    const { requests } = await readRequests(store, { accountId: "acc_2" }, { limit: 1 });
    expect(requests[0]).toMatchObject({ state: null, status: 403, requests: 1, input_tokens: null, plugin: null });
  });

  test.each<[string, RequestFilter, string[]]>([
    ["a time", { from: 20, until: 50 }, ["d1", "c4", "c3", "r1", "c2"]],
    ["a key", { keyId: "key2" }, ["c2"]],
    ["a key of another account", { keyId: "key3", accountId: "acc_1" }, []],
    ["a model", { model: "model-2" }, ["c2"]],
    ["a model that was asked for in vain", { model: "model-9" }, ["r1"]],
    ["a plugin", { plugin: "groq" }, ["c2"]],
    ["a protocol", { protocol: "messages" }, ["c1"]],
    ["a session", { session: "s-1" }, ["c5", "r1", "c1"]],
    ["a tag", { tag: "t-1" }, ["c1"]],
    ["a tag and an account", { tag: "t-1", accountId: "acc_2" }, []],
    ["a session and an account", { session: "s-1", accountId: "acc_2" }, []],
    ["success", { status: "ok" }, ["c2", "c1"]],
    ["failure", { status: "failed" }, ["r2", "c5", "d1", "c3", "r1"]],
    ["failure of an account", { status: "failed", accountId: "acc_2" }, ["r2", "d1"]],
    ["refusal", { status: "refused" }, ["r2", "r1"]],
    ["running", { status: "running" }, ["c4"]],
    ["one status", { status: { from: 429, to: 429 } }, ["c5"]],
    ["a class of statuses", { status: { from: 400, to: 499 } }, ["r2", "c5", "r1"]],
    ["an id", { text: idAt("c3", 30) }, ["c3"]],
    ["an id of another account", { text: idAt("d1", 45), accountId: "acc_1" }, []],
    ["the client's id", { text: "mine-1" }, ["c1"]],
    ["a part of the client's id", { text: "INE-".toLowerCase() }, ["r2", "c1"]],
    ["a sign that is one of the database's", { text: "%" }, []],
  ])("is filtered by %s", async (_what, filter, ids) => {
    expect(await idsOf(await logOf(), filter)).toEqual(ids);
  });

  test("is filtered by the name of a virtual model, which another model served", async () => {
    const store = await temporaryStore();
    const detailOf = (requested: string) => ({ detail: JSON.stringify({ requested, stream: true }) });
    await recordCalls(store, [
      ...callOf("c1", 10, {}, detailOf("fast")),
      ...callOf("c2", 20, {}, detailOf("fast-2")),
      ...callOf("c3", 30, {}, detailOf('50%_\\"x')),
      ...callOf("c4", 40, {}, { detail: JSON.stringify({ error: '"requested":"fast"' }) }),
    ]);
    await store.db
      .insertInto("refusals")
      .values([refusalOf("r1", 25, { model: "fast" })])
      .execute();
    expect(await idsOf(store, { requestedModel: "fast" })).toEqual(["r1", "c1"]);
    expect(await idsOf(store, { requestedModel: '50%_\\"x' })).toEqual(["c3"]);
    expect(await idsOf(store, { requestedModel: "_ast" })).toEqual([]);
  });

  test("is filtered by duration, cost and error code, however many newer requests do not fit", async () => {
    const store = await temporaryStore();
    const rare = { durationMs: 9000, costNanodollars: 5, status: 500, errorCode: "upstream_timeout" };
    await recordCalls(store, [
      ...callOf("c1", 10, {}, rare),
      ...callOf("c2", 20, {}, { durationMs: 1, costNanodollars: 1 }),
      ...callOf("c3", 30, {}, { durationMs: 1, costNanodollars: 1 }),
    ]);
    for (const filter of [{ durationMsMin: 5000 }, { costNanodollarsMin: 5 }, { errorCode: "upstream_timeout" }]) {
      expect(await idsOf(store, filter, 1)).toEqual(["c1"]);
    }
  });

  test("is read page by page, also within a millisecond", async () => {
    const store = await logOf();
    const pages: string[][] = [];
    let before: LogCursor | undefined;
    do {
      const page = await readRequests(store, {}, { limit: 3, before });
      pages.push(page.requests.map(({ id }) => nameOf(id)));
      before = page.next;
    } while (before !== undefined);
    expect(pages).toEqual([
      ["r2", "c5", "d1"],
      ["c4", "c3", "r1"],
      ["c2", "c1"],
    ]);
  });

  test("ends a page after 5000 rows that do not fit, and goes on from there", async () => {
    const store = await temporaryStore();
    await recordCalls(store, callOf("old", 5, { model: "rare" }));
    await sql`insert into names (name) values ('usual')`.execute(store.db);
    const bytes = store.shared ? sql`convert_to('n' || (100000 + n), 'UTF8')` : sql`cast('n' || (100000 + n) as blob)`;
    await sql`insert into call_rows (id, account_id, key_id, model, capability, premium, state, opened_at, settled_at, hold_nanodollars, hold_tokens)
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 8000)
      select ${bytes}, ${toPayerNumber("acc_1")}, ${toPayerNumber("key1")}, ${nameNumber("usual")}, ${nameNumber("chat")}, 0,
      ${nameNumber("settled")}, 10 + n / 2, 0, 0, 0 from numbers`.execute(store.db);
    const filter = { accountId: "acc_1", model: "rare" };
    const first = await readRequests(store, filter, { limit: 50 });
    expect(first).toEqual({ requests: [], next: { at: 10 + 1500, id: "n103001" } });
    const second = await readRequests(store, filter, { limit: 50, before: first.next });
    expect(second.requests.map(({ id }) => nameOf(id))).toEqual(["old"]);
    expect(second.next).toBeUndefined();
  });

  test("tells all of one request, and nothing of another account's", async () => {
    const store = await logOf();
    expect(await readRequest(store, idAt("c1", 10), "acc_1")).toMatchObject({
      status: 200,
      hold_nanodollars: 15,
      message: null,
    });
    expect(await readRequest(store, idAt("r1", 25), undefined)).toMatchObject({
      status: 400,
      message: "n is 9",
      detail: null,
    });
    expect(await readRequest(store, idAt("c1", 10), "acc_2")).toBeUndefined();
    expect(await readRequest(store, idAt("r1", 25), "acc_2")).toBeUndefined();
    expect(await readRequest(store, "a\0b", undefined)).toBeUndefined();
  });

  test("keeps the newest refused requests of an account, until they are too old", async () => {
    const store = await temporaryStore();
    const clock = { time: 86_400_000 };
    const log = new RefusalLog({ store, retentionDays: 1, now: () => clock.time, log: { warn: () => undefined } });
    const newest = refusalsOfAccountMax + 1200;
    await sql`insert into refusals (id, account_id, key_id, opened_at, endpoint, status, error_code, message, duration_ms, requests)
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(newest - 1)})
      select 'r' || (100000 + n), 'acc_1', 'key1', n, 'GET /', 400, 'invalid_request', '', 0, 1 from numbers`.execute(
      store.db,
    );
    log.add(refusalOf("newest", newest));
    log.add(refusalOf("other", 1, { account_id: "acc_2" }));
    await log.flush();
    expect(await log.prune()).toBe(1200);
    clock.time += 2200;
    expect(await log.prune()).toBe(1000);
    const rows = await store.db.selectFrom("refusals").select("opened_at").orderBy("opened_at").execute();
    expect([rows.length, rows[0]?.opened_at]).toEqual([refusalsOfAccountMax - 999, 2200]);
  });
});
