import { describe, expect, test } from "bun:test";
import { fitCallId } from "../../../../src/lib/call-ids.ts";
import { messagesFormat, messagesHandlers } from "../../../../src/protocols/messages/passthrough.ts";
import type { Call, Model, NativeRequest } from "../../../../src/provider/index.ts";
import { errorOf } from "../../../support/error-of.ts";

const row: Model = {
  id: "public",
  upstreamId: "upstream",
  capability: "chat",
  premium: false,
  ownedBy: "x",
  created: 0,
  contextTokens: 200_000,
};
const { messages } = messagesHandlers({
  headers: { "anthropic-version": "2023-06-01" },
  toUsage: (usage) => ({ prompt_tokens: Number(usage.input_tokens), completion_tokens: Number(usage.output_tokens) }),
});

/** What the provider gets of a body, and what the client is told. */
async function send(body: Record<string, unknown>, model: Partial<Model> = {}, headers: Record<string, string> = {}) {
  const sent: { body?: Record<string, unknown>; headers?: Record<string, string> } = {};
  const ignored: unknown[] = [];
  const upstream = {
    json: async (_: string, given: Record<string, unknown>, init: { headers: Record<string, string> }) => {
      Object.assign(sent, { body: given, headers: init.headers });
      return { content: [] };
    },
  };
  const call = {
    id: "req_1",
    request: { body, headers },
    model: { ...row, ...model },
    upstream,
    warn: (_: string, fields: unknown) => void ignored.push(fields),
  } as unknown as Call<NativeRequest>;
  const answer = await messages?.(call);
  return { ...sent, ignored, readUsage: answer?.readUsage };
}

describe("a body of the Messages protocol", () => {
  test("leaves room for an answer behind the thoughts when its limit was lowered", async () => {
    const thinking = { type: "enabled", budget_tokens: 9000 };
    expect((await send({ max_tokens: 2000, thinking })).body?.thinking).toEqual({ ...thinking, budget_tokens: 1024 });
    const { body, ignored } = await send({ max_tokens: 800, thinking });
    expect([body?.thinking, ignored]).toEqual([undefined, ["thinking"]]);
    expect((await send({ max_tokens: 9001, thinking })).body?.thinking).toBe(thinking);
  });

  test("has ids of calls that the provider takes, in calls and results alike, and is not copied where it has them", async () => {
    const turns = (id: string) => [
      { role: "assistant", content: [{ type: "tool_use", id, name: "f", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] },
    ];
    const { body } = await send({ max_tokens: 9, messages: turns("Bash:0") });
    const fitted = fitCallId("Bash:0", "messages");
    expect(body?.messages).toEqual(turns(fitted));
    const same = turns("toolu_1");
    expect((await send({ max_tokens: 9, messages: same })).body?.messages).toBe(same);
  });

  test("keeps marks of an hour where they have a price, wherever they stand, and is not copied then", async () => {
    const mark = { type: "ephemeral", ttl: "1h" };
    const result = {
      type: "tool_result",
      tool_use_id: "t",
      content: [{ type: "text", text: "x", cache_control: mark }],
    };
    const body = {
      max_tokens: 9,
      cache_control: mark,
      tools: [{ name: "a", cache_control: mark }],
      messages: [{ role: "user", content: [result] }],
    };
    expect((await send(body, { price: { cacheWrite1hToken: { usd: "6", per: 1_000_000 } } })).body).toEqual({
      ...body,
      model: "upstream",
    });
    const short = JSON.stringify((await send(body)).body);
    expect([short.includes('"ttl"'), short.split('"cache_control"').length - 1]).toEqual([false, 3]);
  });

  test("has the betas that its price covers", async () => {
    const headers = {
      "anthropic-beta": "context-1m-2025-08-07, fast-mode-2026-02-01,other-1",
      "anthropic-version": "2030-01-01",
    };
    const body = { max_tokens: 9, speed: "fast" };
    expect((await send(body, {}, headers)).headers).toEqual({
      "anthropic-version": "2030-01-01",
      "anthropic-beta": "other-1",
    });
    const covered = await send(body, { contextTokens: 1_000_000, options: { pass: ["speed"] } }, headers);
    expect([covered.headers?.["anthropic-beta"], covered.body?.speed]).toEqual([
      headers["anthropic-beta"].replace(", ", ","),
      "fast",
    ]);
    expect((await send({ max_tokens: 9 })).headers).toEqual({ "anthropic-version": "2023-06-01" });
  });

  test("has the edits that clear something, and none that has a model read the conversation once more", async () => {
    const headers = { "anthropic-beta": "compact-2026-01-12,context-management-2025-06-27" };
    const clear = { type: "clear_tool_uses_20250919", keep: { type: "tool_uses", value: 3 } };
    const compact = { type: "compact_20260112", trigger: { type: "input_tokens", value: 50_000 } };
    const of = (...edits: object[]) => ({ max_tokens: 9, context_management: { edits } });
    const both = await send(of(clear, compact), {}, headers);
    expect(both.body?.context_management).toEqual({ edits: [clear] });
    expect(both.headers?.["anthropic-beta"]).toBe("context-management-2025-06-27");
    expect(both.ignored).toEqual(["context_management"]);
    expect((await send(of(compact))).body).not.toHaveProperty("context_management");
    expect((await send({ max_tokens: 9, context_management: { compact: true } })).body).not.toHaveProperty(
      "context_management",
    );
    expect((await send(of(clear), {}, headers)).body).toMatchObject(of(clear));
    expect((await send(of(compact), { options: { pass: ["context_management"] } })).body).toMatchObject(of(compact));
  });

  test("is refused for a place of processing without a price", async () => {
    expect(await errorOf(send({ max_tokens: 9, inference_geo: "eu" }))).toMatchObject({
      code: "invalid_request",
      param: "inference_geo",
    });
  });

  test("has its usage added up over the events of its answer", async () => {
    const { readUsage } = await send({ max_tokens: 9 });
    readUsage?.({ type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } });
    expect(readUsage?.({ type: "ping" })).toBeUndefined();
    expect(readUsage?.({ type: "message_delta", usage: { input_tokens: null, output_tokens: 8 } })).toEqual({
      prompt_tokens: 5,
      completion_tokens: 8,
    });
  });
});

test("a client of Messages gets input of calls that a server encodes twice as it was meant, whole and in pieces", () => {
  const input = { city: 'Oslo "N"' };
  const encoded = JSON.stringify(JSON.stringify(input));
  const block = (value: unknown) => ({ type: "tool_use", id: "t", name: "f", input: value });
  const repair = () => messagesFormat.createRepair?.();
  for (const text of [JSON.stringify(input), encoded]) {
    const whole = { type: "message", content: [{ type: "text", text: "a" }, block(text)] };
    expect(repair()?.repair(whole, 0)).toBe(true);
    expect(whole.content[1]).toEqual(block(input));
  }
  for (const none of [null, [], "", "null", "[]"]) {
    const whole = { type: "message", content: [block(none)] };
    expect([none, repair()?.repair(whole, 0), whole.content]).toEqual([none, true, [block({})]]);
  }
  const streamed = repair();
  streamed?.repair({ type: "content_block_start", index: 1, content_block: block({}) }, 0);
  const deltas = [...encoded].map((partial_json) => ({ type: "input_json_delta", partial_json }));
  for (const delta of deltas) streamed?.repair({ type: "content_block_delta", index: 1, delta }, 0);
  expect(deltas.map((delta) => delta.partial_json).join("")).toBe(JSON.stringify(input));
  for (const ordinary of [block(input), block("no JSON"), { type: "text", text: "a" }]) {
    expect(repair()?.repair({ type: "message", content: [ordinary] }, 0)).toBe(false);
  }
});
