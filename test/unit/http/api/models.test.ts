import { describe, expect, test } from "bun:test";
import type { Model } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { completionOf } from "../../kernel/streams.ts";
import { caller, chatModel, createPlugin } from "../../kernel/support.ts";
import { httpOf } from "../support.ts";

const rows: Model[] = [
  { ...chatModel, id: "famA/oss-20b", aliases: ["oss"], premium: false },
  { ...chatModel, id: "plain", retiredOn: "2026-01-01", successor: "famA/oss-20b", whenRetired: "serve" },
  { ...chatModel, id: "a b%c" },
  { ...chatModel, id: "accounts/acme/models/llama" },
];
/** Each under all of its names; those that have ended stand last. */
const listed = ["famA/oss-20b", "oss", "a b%c", "accounts/acme/models/llama", "plain"];
const { ask } = httpOf([createPlugin({ chat: () => Promise.reject(new Error("not asked")) }, { models: rows })]);

describe("GET /models", () => {
  test.each(["models", "v1/models", "/v1/models", "/v1/v1/models"])("at %s lists what can be served", async (path) => {
    const list = await (await ask(path)).json();
    expect(list).toMatchObject({ object: "list" });
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual(listed);
    expect(list.data[0]).toEqual({
      id: "famA/oss-20b",
      object: "model",
      type: "model",
      created: chatModel.created,
      created_at: new Date(chatModel.created * 1000).toISOString(),
      display_name: "famA/oss-20b",
      owned_by: "acme",
      capability: "chat",
      premium: false,
      context_tokens: 8000,
      output_tokens_max: 1000,
      aliases: ["oss"],
      price: chatModel.price,
      reasoning: false,
    });
  });

  test("is not sent again to a client that has the list, until the models change", async () => {
    const plugin = (models: Model[]) =>
      createPlugin({ chat: () => Promise.reject(new Error("not asked")) }, { models });
    const { ask: asked, deps } = httpOf([plugin(rows)]);
    const list = await asked("models");
    const etag = list.headers.get("etag") ?? "";
    expect(etag).not.toBe("");
    const known = await asked("models", { headers: { "if-none-match": etag } });
    expect([known.status, await known.text()]).toEqual([304, ""]);
    deps.kernel.registry = httpOf([plugin([...rows, { ...chatModel, id: "another" }])]).deps.kernel.registry;
    const changed = await asked("models", { headers: { "if-none-match": etag } });
    expect(changed.status).toBe(200);
    expect((await changed.json()).data.map(({ id }: { id: string }) => id)).toContain("another");
  });

  test("has the same models whole, as an array and in pages", async () => {
    const whole = (await (await ask("models")).json()).data;
    expect(await (await ask("models?format=array")).json()).toEqual(whole);
    expect((await (await ask("models?limit=1000")).json()).data).toEqual(whole);
  });

  test.each(["allowedModels", "accountModels"])("lists what %s has", async (list) => {
    const accounts = {
      ...httpOf().deps.accounts,
      authenticate: () => ({ ...caller, [list]: new Set(["plain"]) }),
    };
    const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) }, { models: rows });
    const { data } = await (await httpOf([plugin], { accounts }).ask("models")).json();
    expect(data.map(({ id }: { id: string }) => id)).toEqual(["plain"]);
  });

  test("lists the bare array where that is wanted", async () => {
    const list = await (await ask("models?format=array")).json();
    expect(list).toBeArrayOfSize(listed.length);
  });

  test.each([
    ["", [0, 5], false],
    ["?limit=4", [0, 4], true],
    ["?limit=5", [0, 5], false],
    ["?limit=2&after_id=oss", [2, 4], true],
    ["?limit=3&after_id=oss", [2, 5], false],
    ["?after_id=plain", [5, 5], false],
    ["?limit=2&before_id=plain", [2, 4], true],
    ["?before_id=a%20b%25c", [0, 2], false],
  ] as const)("pages by %p", async (query, [from, to], more) => {
    const ids = listed.slice(from, to);
    const { data, ...page } = await (await ask(`models${query}`)).json();
    expect(data.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(page).toEqual({ object: "list", has_more: more, first_id: ids[0] ?? null, last_id: ids.at(-1) ?? null });
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=1001", "limit"],
    ["limit=two", "limit"],
    ["after_id=nobody", "after_id"],
    ["before_id=nobody", "before_id"],
    ["after_id=plain&before_id=plain", "after_id"],
  ])("refuses %s, after which a client would page for ever or stop too early", async (query, param) => {
    await expectError(await ask(`models?${query}`), { status: 400, code: "invalid_request", param });
  });

  test("dates a model of any age", async () => {
    const plugin = createPlugin(
      { chat: () => Promise.reject(new Error("not asked")) },
      { models: [{ ...chatModel, created: Number.MAX_SAFE_INTEGER }] },
    );
    const { data } = await (await httpOf([plugin]).ask("models")).json();
    expect(data[0].created_at).toStartWith("9999-12-31T");
  });

  test("tells when a model is retired, and what comes after", async () => {
    const model = await (await ask("models/plain")).json();
    expect(model).toMatchObject({ retired_on: "2026-01-01", successor: "famA/oss-20b" });
  });

  test("announces an end 60 days before, and lists no model that is refused since", async () => {
    const models = [
      { ...chatModel, id: "soon", retiredOn: "2026-11-20", successor: "new" },
      { ...chatModel, id: "later", retiredOn: "2026-11-22" },
      { ...chatModel, id: "ended", retiredOn: "2026-09-01", successor: "new" },
      { ...chatModel, id: "followed", retiredOn: "2026-09-01", successor: "new", whenRetired: "successor" as const },
      { ...chatModel, id: "new", features: ["vision" as const], reasoning: true },
    ];
    const http = httpOf([createPlugin({ chat: () => Promise.resolve(completionOf("Hi")) }, { models })]);
    const { data } = await (await http.ask("models")).json();
    expect(data.map(({ id, retirement, successor }: Record<string, string>) => [id, retirement, successor])).toEqual([
      ["soon", "soon", "new"],
      ["later", undefined, undefined],
      ["new", undefined, undefined],
      ["followed", "past", "new"],
    ]);
    expect(data.at(-2)).toMatchObject({ features: ["vision"], reasoning: true });
    const chat = (model: string) =>
      http.post("chat/completions", { model, messages: [{ role: "user", content: "Hi" }] });
    await expectError(await chat("ended"), { status: 400, code: "model_not_found", param: "model" });
    const answered = await chat("followed");
    expect(answered.headers.get("x-modelgate-successor")).toBe("new");
    expect(await answered.json()).toMatchObject({ model: "new" });
    expect((await chat("soon")).headers.get("x-modelgate-successor")).toBeNull();
  });

  test("tells who serves one, and whether they are well", async () => {
    const model = await (await ask("models/plain")).json();
    expect(model.routes).toEqual([{ plugin: "acme", priority: 100, weight: 1, state: "closed" }]);
  });

  test.each([
    ["famA/oss-20b", "famA/oss-20b", ["oss"]],
    ["famA%2Foss-20b", "famA/oss-20b", ["oss"]],
    ["oss", "oss", ["famA/oss-20b"]],
  ])("finds one by the path %s, under the name that was asked for", async (path, id, aliases) => {
    expect(await (await ask(`models/${path}`)).json()).toMatchObject({ id, object: "model", aliases });
  });

  test("lists the names that clients write, and after them the ids in whose place they write these", async () => {
    const plugin = createPlugin(
      { chat: () => Promise.reject(new Error("not asked")) },
      {
        models: [
          { ...chatModel, id: "famC-4", upstreamId: "claude-4-2025", aliases: ["claude-4", "claude-4-2025"] },
          {
            ...chatModel,
            id: "famC-3",
            upstreamId: "claude-3",
            aliases: ["claude-3"],
            retiredOn: "2026-01-01",
            whenRetired: "serve",
          },
          { ...chatModel, id: "gpt-9", upstreamId: "gpt-9", aliases: ["gpt-9-2027"] },
        ],
      },
    );
    const http = httpOf([plugin]);
    const { data } = await (await http.ask("models", { headers: { "anthropic-version": "2023-06-01" } })).json();
    expect(data.map(({ id, display_name: name }: Record<string, string>) => [id, name])).toEqual([
      ["claude-4-2025", "claude-4-2025"],
      ["claude-4", "claude-4"],
      ["gpt-9", "gpt-9"],
      ["gpt-9-2027", "gpt-9-2027"],
      ["famC-4", "claude-4-2025"],
      ["claude-3", "claude-3"],
      ["famC-3", "claude-3"],
    ]);
    for (const { id } of data) expect(await (await http.ask(`models/${id}`)).json()).toMatchObject({ id });
  });

  test.each([encodeURIComponent, encodeURI])("finds each by its id, encoded by %p", async (encode) => {
    for (const { id } of rows) expect(await (await ask(`models/${encode(id)}`)).json()).toMatchObject({ id });
  });

  test("suggests the name that was meant, and is called by the name that people know", async () => {
    const models = [{ ...chatModel, id: "famA-4o-mini", upstreamId: "gpt-4o-mini", aliases: ["gpt-4o-mini"] }];
    const http = httpOf([createPlugin({ chat: () => Promise.reject(new Error("not asked")) }, { models })]);
    expect(await (await http.ask("models/gpt-4o-mni")).json()).toMatchObject({
      error: { message: "The model 'gpt-4o-mni' does not exist here; did you mean 'gpt-4o-mini'?" },
    });
    const { data } = await (await http.ask("models")).json();
    expect(data).toMatchObject([
      { id: "gpt-4o-mini", display_name: "gpt-4o-mini" },
      { id: "famA-4o-mini", display_name: "gpt-4o-mini" },
    ]);
  });

  test("is called in an answer as the client called it", async () => {
    const models = [{ ...chatModel, id: "famA-4o-mini", upstreamId: "gpt-4o-mini", aliases: ["gpt-4o-mini"] }];
    const http = httpOf([createPlugin({ chat: () => Promise.resolve(completionOf("Hi")) }, { models })]);
    for (const model of ["gpt-4o-mini", "famA-4o-mini"]) {
      const body = { model, messages: [{ role: "user", content: "Hi" }] };
      const response = await http.post("chat/completions", body);
      expect(await response.json()).toMatchObject({ model });
    }
  });

  test.each(["nobody", "a/b/c", "%zz", "constructor"])("answers 404 for %s", async (name) => {
    await expectError(await ask(`models/${name}`), { status: 404, code: "model_not_found", param: "model" });
  });

  test.each(["models", "v1/models", "models/plain", "models/famA/oss-20b", "models/nobody"])(
    "answers a stranger at %s with 401",
    async (path) => {
      await expectError(await ask(path, { headers: { authorization: "" } }), { status: 401, code: "invalid_api_key" });
    },
  );
});
