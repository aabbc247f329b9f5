import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/contract/index.ts";
import { createAccount } from "../../../../src/tenants/accounts.ts";
import { createUser } from "../../../../src/tenants/users.ts";
import { expectError } from "../../../support/expect-error.ts";
import { faultsOf, schemaMissing } from "../../../support/openai-schema.ts";
import { parseEvents } from "../../../support/sse.ts";
import { completionOf } from "../../kernel/streams.ts";
import { caller } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";
import { asked, gatewayOf, long, minuteMs, rowsOf, store, useStore } from "./stored-fixture.ts";

useStore();

describe("a stored response", () => {
  test("is answered as it was, and deleted once", async () => {
    const { create, send } = gatewayOf();
    const made = await create({ ...asked, metadata: { a: "b" } });
    expect(await (await send(`responses/${made.id}`)).json()).toEqual(made);
    const promised = { status: 400, param: "stream" };
    await expectError(await send(`responses/${made.id}?stream=true`), promised);
    const deleted = await send(`responses/${made.id}`, "DELETE");
    expect(await deleted.json()).toEqual({ id: made.id, object: "response", deleted: true });
    for (const method of ["GET", "DELETE"]) {
      await expectError(await send(`responses/${made.id}`, method), { status: 404, code: "not_found", says: made.id });
    }
    expect(await rowsOf()).toEqual([]);
  });

  test("has input items in pages", async () => {
    const { create, send } = gatewayOf();
    const input = ["one", "two", "three"].map((content) => ({ role: "user", content }));
    const { id } = await create({ model: "chat-1", input });
    const list = async (query: string) => {
      const page = await (await send(`responses/${id}/input_items${query}`)).json();
      const texts = page.data.map((item: { content: { text: string }[] }) => item.content[0]?.text);
      return { ...page, texts };
    };
    const all = await list("");
    expect(all).toMatchObject({ object: "list", has_more: false, texts: ["three", "two", "one"] });
    expect([all.first_id, all.last_id]).toEqual([all.data[0].id, all.data[2].id]);
    expect(new Set(all.data.map((item: { id: string }) => item.id)).size).toBe(3);
    const first = await list("?limit=2&order=asc");
    expect(first).toMatchObject({ has_more: true, texts: ["one", "two"] });
    expect(await list(`?order=asc&after=${first.last_id}`)).toMatchObject({ has_more: false, texts: ["three"] });
    for (const [query, param] of [
      ["limit=0", "limit"],
      ["limit=101", "limit"],
      ["limit=x", "limit"],
      ["order=up", "order"],
      ["after=msg_x", "after"],
    ]) {
      await expectError(await send(`responses/${id}/input_items?${query}`), { status: 400, param: param as string });
    }
  });

  test.skipIf(schemaMissing !== undefined)("and its input items are as OpenAI describes them", async () => {
    const { create, send } = gatewayOf();
    const call = { type: "function_call", call_id: "c1", name: "add", arguments: "{}" };
    const result = { type: "function_call_output", call_id: "c1", output: "two" };
    const input = [{ role: "developer", content: "Be kind" }, { role: "user", content: "Hi" }, call, result];
    const { id } = await create({ model: "chat-1", input });
    const list = await (await send(`responses/${id}/input_items`)).json();
    expect(list.data.map((item: { id: string }) => item.id.split("_")[0])).toEqual(["fco", "fc", "msg", "msg"]);
    expect(faultsOf("ResponseItemList", list)).toEqual([]);
    expect(faultsOf("Response", await (await send(`responses/${id}`)).json())).toEqual([]);
  });

  test("is to another account as if it had never been", async () => {
    const { create, as } = gatewayOf();
    const made = await create();
    const ben = as("ben");
    const item = made.output[0]?.id as string;
    const bodies = (id: string, itemId: string) => [
      { ...asked, previous_response_id: id },
      { model: "chat-1", input: [{ type: "item_reference", id: itemId }] },
      { model: "chat-1", input: [{ type: "item_reference", id: `${item}_in0` }] },
    ];
    const tell = async (response: Response, id: string) =>
      `${response.status} ${await response.text()}`.replaceAll(id, "");
    const [own, unknown] = [bodies(made.id, item), bodies("resp_none", "msg_none")];
    for (const [index, body] of own.entries()) {
      const [theirs, nobodys] = [await ben.post(body), await ben.post(unknown[index] as object)];
      expect(theirs.status).toBe(400);
      const told = (text: string) => text.replace(/(resp|msg)_\w+/g, "");
      expect(told(await theirs.text())).toBe(told(await nobodys.text()));
    }
    for (const [path, method] of [
      ["", "GET"],
      ["/input_items", "GET"],
      ["", "DELETE"],
    ] as const) {
      const theirs = await tell(await ben.send(`responses/${made.id}${path}`, method), made.id);
      expect(theirs).toStartWith("404 ");
      expect(theirs).toBe(await tell(await ben.send(`responses/resp_none${path}`, method), "resp_none"));
    }
    expect((await as("ada").send(`responses/${made.id}`)).status).toBe(200);
  });

  test("of a team is for the person who made it, by all of their keys, and nobody finds its id in the request log", async () => {
    const { ask, deps } = gatewayOf();
    const now = Date.now();
    const create = async (email: string) => {
      const { id } = await createAccount(store, { email }, now);
      await store.db.transaction().execute((db) => {
        return createUser(db, { accountId: id, role: "member", emailVerified: true }, now);
      });
      return id;
    };
    const [ada, ben] = [await create("ada@example.org"), await create("ben@example.org")];
    /** What a key of Ada's account is, by whom it was made. */
    const keys: Record<string, { keyId: string; createdBy?: string }> = {
      first: { keyId: "k1", createdBy: ada },
      second: { keyId: "k2", createdBy: ada },
      bens: { keyId: "k3", createdBy: ben },
      command: { keyId: "k4", createdBy: "cli" },
      unknown: { keyId: "k5" },
    };
    const authenticate = (token: string) => ({ ...caller, ...keys[token], accountId: ada });
    Object.assign(deps.accounts, { authenticate });
    const as = (key: string, path: string, init: RequestInit = {}) =>
      ask(path, { ...init, headers: { authorization: `Bearer ${key}`, "content-type": "application/json" } });
    const answered = await as("first", "responses", { method: "POST", body: JSON.stringify(asked) });
    const made = (await answered.json()) as { id: string; output: { id: string }[] };
    const call = answered.headers.get("x-request-id")?.replace("req_", "") as string;
    expect([call.length > 10, JSON.stringify(made).includes(call)]).toEqual([true, false]);
    const item = { type: "item_reference", id: made.output[0]?.id };
    const uses = (key: string) =>
      [
        as(key, `responses/${made.id}`),
        as(key, `responses/${made.id}/input_items`),
        as(key, "responses", {
          method: "POST",
          body: JSON.stringify({ ...asked, previous_response_id: made.id }),
        }),
        as(key, "responses", { method: "POST", body: JSON.stringify({ model: "chat-1", input: [item] }) }),
      ] as const;
    const statuses = async (key: string) => (await Promise.all(uses(key))).map(({ status }) => status);
    const [all, none] = [
      [200, 200, 200, 200],
      [404, 404, 400, 400],
    ];
    // Nobody else is in the account.
    for (const key of ["first", "second", "command", "unknown"]) expect([key, await statuses(key)]).toEqual([key, all]);
    const user_id = (await store.db.selectFrom("users").select("id").where("account_id", "=", ben).executeTakeFirst())
      ?.id as string;
    const membership = { account_id: ada, user_id, role: "member" as const, joined_at: now };
    await store.db.insertInto("memberships").values(membership).execute();
    for (const key of ["first", "second"]) expect([key, await statuses(key)]).toEqual([key, all]);
    for (const key of ["bens", "command", "unknown"]) expect([key, await statuses(key)]).toEqual([key, none]);
    expect((await as("bens", `responses/${made.id}`, { method: "DELETE" })).status).toBe(404);
    // The key of somebody who has left stays in the account, and what is made there is not for it.
    await store.db.deleteFrom("memberships").execute();
    expect(await statuses("bens")).toEqual(none);
    expect(await statuses("command")).toEqual(all);
    expect((await as("second", `responses/${made.id}`, { method: "DELETE" })).status).toBe(200);
  });

  test("expires", async () => {
    const { create, send, post, clock } = gatewayOf({ RESPONSES_TTL_MINUTES: "5" });
    const { id } = await create();
    clock.nowMs += 5 * minuteMs - 1;
    expect((await send(`responses/${id}`)).status).toBe(200);
    clock.nowMs += 1;
    await expectError(await send(`responses/${id}`), { status: 404, code: "not_found" });
    await expectError(await post({ ...asked, previous_response_id: id }), { status: 400 });
  });

  test("can be gone on from by another gateway of the same store, and by none with another key", async () => {
    const { id } = await gatewayOf().create();
    expect((await gatewayOf().send(`responses/${id}`)).status).toBe(200);
    const other = httpOf([], { store, sealKey: new Uint8Array(32).fill(1), accounts: gatewayOf().deps.accounts });
    const response = await other.ask(`responses/${id}`, { headers: { authorization: "Bearer ada" } });
    await expectError(response, { status: 404, code: "not_found" });
  });

  test("cannot be read in the database, nor moved to another account or id", async () => {
    const { create, as, send } = gatewayOf({}, () => completionOf("a word of the answer"));
    const { id } = await create({ ...asked, instructions: "a word of the prompt" });
    for (const { body } of await rowsOf()) {
      const text = Buffer.from(body).toString("latin1");
      for (const word of ["word", "Say hello", "chat-1", "output"]) expect(text).not.toContain(word);
    }
    const [row] = (await rowsOf()).filter((one) => one.id === id);
    const moved = { ...(row as NonNullable<typeof row>), account_id: "ben" };
    await store.db
      .insertInto("stored_responses")
      .values([moved, { ...moved, account_id: "ada", id: "resp_x" }])
      .execute();
    await expectError(await as("ben").send(`responses/${id}`), { status: 404 });
    await expectError(await send("responses/resp_x"), { status: 404 });
  });
});

describe("what is not stored", () => {
  test.each([
    ["store is false", {}, { ...asked, store: false }],
    ["it is off", { RESPONSES_TTL_MINUTES: "0" }, asked],
  ])("because %s leaves no row, and says so", async (_, env, body) => {
    const { create, send, post } = gatewayOf(env);
    const made = await create(body);
    expect(made.store).toBe(false);
    const { events } = parseEvents(await (await post({ ...body, stream: true })).text());
    for (const event of [events[0], events.at(-1)]) expect(event).toMatchObject({ response: { store: false } });
    expect(await rowsOf()).toEqual([]);
    await expectError(await send(`responses/${made.id}`), { status: 404 });
    const code = "previous_response_not_found";
    await expectError(await post({ ...asked, previous_response_id: made.id }), { status: 400, code });
    const input = [{ type: "item_reference", id: made.output[0]?.id }];
    await expectError(await post({ model: "chat-1", input }), { status: 400, code: "item_not_found" });
  });

  test("goes on from what is stored with store: false, which does not store it", async () => {
    const { create, lastAsk } = gatewayOf();
    const { id } = await create();
    await create({ ...asked, previous_response_id: id, store: false });
    // The first response, its input and its output.
    expect([lastAsk()?.length, (await rowsOf()).length]).toEqual([3, 3]);
  });

  test("because it is too long is answered with a warning", async () => {
    const { create, post, warnings } = gatewayOf({}, long(5_000_000));
    expect((await create()).store).toBe(false);
    expect((await post(asked)).headers.get("x-modelgate-ignored")).toBe("store");
    expect([warnings(), await rowsOf()]).toEqual([["response_not_stored", "response_not_stored"], []]);
  });

  test("because the store fails is answered, whole and streamed", async () => {
    const { create, post, warnings } = gatewayOf();
    await store.db.schema.dropTable("stored_responses").execute();
    expect((await create()).store).toBe(false);
    const { events } = parseEvents(await (await post({ ...asked, stream: true })).text());
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { store: false } });
    expect(warnings()).toEqual(["response_not_stored", "response_not_stored"]);
    const response = await post({ ...asked, previous_response_id: "resp_1" });
    await expectError(response, { status: 503, code: "server_is_overloaded" });
  });

  test("because it failed says so", async () => {
    const { post } = gatewayOf({}, () => {
      throw new GatewayError("invalid_request", "No");
    });
    expect((await post({ ...asked, stream: true })).status).toBe(400);
    expect(await rowsOf()).toEqual([]);
  });

  test("because the account has no room is the oldest", async () => {
    const { create, send, clock } = gatewayOf({ RESPONSES_MAX_MB: "1" }, long(300_000));
    const made: string[] = [];
    for (let number = 0; number < 3; number++) {
      made.push((await create()).id);
      clock.nowMs += 1;
    }
    const statuses = await Promise.all(made.map(async (id) => (await send(`responses/${id}`)).status));
    expect(statuses).toEqual([404, 200, 200]);
  });
});
