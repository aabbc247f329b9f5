import { describe, expect, test } from "bun:test";
import { readJson } from "../../../src/lib/json.ts";
import { withKnownFields } from "../../../src/protocols/known-fields.ts";
import type { Handlers } from "../../../src/provider/index.ts";
import { fakeCall, plainModel } from "../sdk/fake-call.ts";

/** The request that a handler is given, and the names that were left out. */
async function given(name: keyof Handlers, request: object, { isOwnServer = true, listed = [] as string[] } = {}) {
  let seen: unknown;
  const ignored: (string | readonly string[])[] = [];
  const handler = async (call: { request: unknown }) => {
    seen = call.request;
  };
  const handlers = withKnownFields({ [name]: handler } as unknown as Handlers, listed);
  const { call } = fakeCall(request, {}, plainModel);
  const warn = (_: string, fields: string | readonly string[] = []) => void ignored.push(fields);
  await (handlers[name] as (call: object) => Promise<unknown>)({ ...call, isOwnServer, warn });
  return { seen, ignored: ignored.flat() };
}

const messages = [{ role: "user", content: "Hello" }];

describe("a request to a server of the operator's own", () => {
  test("is the same object where all of its fields are known", async () => {
    const request = { model: "m", messages, top_k: 3, metadata: { any: { thing: 1 } }, temperature: null };
    expect((await given("chat", request)).seen).toBe(request);
  });

  test("keeps numbers that are longer than numbers are", async () => {
    const text =
      '{"model":"m","messages":[],"stop_token_ids":[12345678901234567890],"thinking":{"budget_tokens":1e999}}';
    const { seen, ignored } = await given("chat", readJson(text, "body") as object);
    expect([JSON.stringify(seen), ignored]).toEqual([text, []]);
  });

  test("loses unknown members at every depth, and names them by what leads there", async () => {
    const request = {
      model: "m",
      lora_path: "/x",
      messages: [{ role: "user", priority: 1, content: [{ type: "text", text: "Hello", path: "/etc" }] }],
      stream_options: { include_usage: true, kv_transfer_params: {} },
      top_k: { nested: 1 },
    };
    const { seen, ignored } = await given("chat", request);
    expect(seen).toEqual({
      model: "m",
      messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
      stream_options: { include_usage: true },
      top_k: {},
    });
    expect(ignored).toEqual([
      "lora_path",
      "messages.priority",
      "messages.content.path",
      "stream_options.kv_transfer_params",
      "top_k.nested",
    ]);
  });

  test("keeps schemas and arguments whole, whatever names they have", async () => {
    const schema = { type: "object", properties: { lora_path: { type: "string" }, priority: {} }, $defs: { a: {} } };
    const request = {
      model: "m",
      messages,
      tools: [{ type: "function", function: { name: "f", parameters: schema } }],
      response_format: { type: "json_schema", json_schema: { name: "a", schema } },
      guided_json: schema,
    };
    expect((await given("chat", request)).seen).toBe(request);
  });

  test("has the body of another protocol looked through, and its headers left alone", async () => {
    const headers = { "anthropic-beta": "x" };
    const body = { model: "m", max_tokens: 1, messages, vllm_xargs: { url: "http://10.0.0.5" } };
    const { seen, ignored } = await given("messages", { body, headers });
    expect(seen).toEqual({ body: { model: "m", max_tokens: 1, messages }, headers });
    expect(ignored).toEqual(["vllm_xargs"]);
  });

  test("keeps what the plugin lists, with all that is in it", async () => {
    const request = { model: "m", messages, chat_template_kwargs: { a: { b: 1 } }, chat_template: "x" };
    const { seen } = await given("chat", request, { listed: ["chat_template_kwargs"] });
    expect(seen).toEqual({ model: "m", messages, chat_template_kwargs: { a: { b: 1 } } });
  });

  test("is restricted once, however often its plugin is defined", async () => {
    const handlers = withKnownFields({ chat: async () => ({}) as never }, ["seed"]);
    expect(withKnownFields(handlers, ["seed"])).toBe(handlers);
    expect(withKnownFields(handlers, [])).not.toBe(handlers);
  });

  test("is not confused by names of the prototype", async () => {
    const request = JSON.parse('{"model":"m","messages":[],"__proto__":{"a":1},"constructor":1,"toString":2}');
    const { seen, ignored } = await given("chat", request);
    expect(JSON.stringify(seen)).toBe('{"model":"m","messages":[]}');
    expect(ignored).toEqual(["__proto__", "constructor", "toString"]);
  });

  test("names at most twenty of what is left out", async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}`, index]));
    expect((await given("chat", { model: "m", messages, ...many })).ignored).toHaveLength(20);
  });

  test("to a public provider is passed on as it is", async () => {
    const request = { model: "m", messages, lora_path: "/x" };
    expect((await given("chat", request, { isOwnServer: false })).seen).toBe(request);
  });
});
