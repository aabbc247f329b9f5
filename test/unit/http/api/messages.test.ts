import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../../src/contract/index.ts";
import type { ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { parseEvents } from "../../../support/sse.ts";
import { settled } from "../../kernel/fake-fetch.ts";
import { completionOf, FakeStream, finishChunk, textChunk, usageChunk } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { goodKey, httpOf, messages } from "../support.ts";

const asked = { model: "chat-1", max_tokens: 50, messages };
const streamed = { ...asked, stream: true };
const tools = [{ name: "add", input_schema: { type: "object" } }];

/** A gateway whose provider does these steps in a stream. */
function streaming(...steps: (ChatChunk | Error | "hang")[]) {
  return httpOf([createPlugin({ chat: async () => new FakeStream<ChatChunk>(...steps) })]);
}

/** A completion that calls the tool `add`. */
function toolCall() {
  const answer = completionOf(null);
  const call = { id: "call_Qm4vT9xZ", type: "function" as const, function: { name: "add", arguments: '{"a":1}' } };
  const message = { role: "assistant" as const, content: null, tool_calls: [call] };
  return { ...answer, choices: [{ index: 0, message, finish_reason: "tool_calls" as const }] };
}

describe("POST /messages", () => {
  test("answers whole, with the cost and the headers of the call", async () => {
    const { post, ledger, log } = httpOf();
    const response = await post("messages?beta=true", asked);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      type: "message",
      role: "assistant",
      model: "chat-1",
      content: [{ type: "text", text: "Hello" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 100, output_tokens: 20 },
    });
    const { callId } = ledger.settlement;
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-request-id": callId,
      "request-id": callId,
      "x-modelgate-cost-usd": "0.00014",
      "x-ratelimit-remaining-requests": "59",
    });
    const line = log.lines.find(({ event }) => event === "call");
    expect(line?.fields).toMatchObject({ call: callId, capability: "chat", protocol: "messages", status: 200 });
  });

  test("sends the provider no temperature that nobody asked for", async () => {
    const seen: ChatRequest[] = [];
    const plugin = createPlugin({
      async chat({ request }) {
        seen.push(request);
        return completionOf("Hi");
      },
    });
    await httpOf([plugin]).post("messages", asked);
    await httpOf([plugin]).post("messages", { ...asked, temperature: 0.2 });
    expect(seen.map(({ temperature }) => temperature)).toEqual([undefined, 0.2]);
  });

  test("gives a tool call as a block", async () => {
    const { post } = httpOf([createPlugin({ chat: async () => toolCall() })]);
    expect(await (await post("messages", { ...asked, tools })).json()).toMatchObject({
      content: [{ type: "tool_use", id: "call_Qm4vT9xZ", name: "add", input: { a: 1 } }],
      stop_reason: "tool_use",
    });
  });

  test("takes the key from x-api-key, as every other endpoint does", async () => {
    const { post, tokens } = httpOf();
    const headers = { authorization: "", "x-api-key": goodKey };
    expect((await post("messages", asked, headers)).status).toBe(200);
    expect((await post("chat/completions", { model: "chat-1", messages }, headers)).status).toBe(200);
    expect(tokens).toEqual([goodKey, goodKey]);
  });
});

describe("a streamed message", () => {
  test("comes as events whose names are their types", async () => {
    const { post, ledger } = streaming(textChunk("Hel"), textChunk("lo"), finishChunk(), usageChunk());
    const response = await post("messages", streamed);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const text = await response.text();
    const { events, done } = parseEvents(text);
    const types = events.map(({ type }) => type);
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name as unknown)).toEqual(types);
    expect([types, done]).toEqual([
      [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
      ],
      false,
    ]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 20 } });
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("gives a tool call of a provider that does not stream", async () => {
    const { post } = httpOf([createPlugin({ chat: async () => toolCall() })]);
    const { events } = parseEvents(await (await post("messages", { ...streamed, tools })).text());
    expect(events[1]).toMatchObject({
      content_block: { type: "tool_use", id: "call_Qm4vT9xZ", name: "add", input: {} },
    });
    expect(events[2]).toMatchObject({ delta: { type: "input_json_delta", partial_json: '{"a":1}' } });
  });

  test("is charged before message_stop is sent", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), finishChunk(), usageChunk());
    const written = Promise.withResolvers<void>();
    const settle = ledger.settle.bind(ledger);
    ledger.settle = async (settlement) => {
      await written.promise;
      await settle(settlement);
    };
    const reader = ((await post("messages", streamed)).body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const reading = (async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += Buffer.from(read.value);
    })();
    await settled();
    expect(text).toContain("Hello");
    expect(text).not.toContain("message_stop");
    written.resolve();
    await reading;
    expect(text).toEndWith('data: {"type":"message_stop"}\n\n');
  });

  test("that fails ends in an error event of the protocol", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), new UpstreamError("bad_response", "The line is dead"));
    const response = await post("messages", streamed);
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain("event: error\n");
    expect(text).not.toContain("message_stop");
    expect(parseEvents(text).events.at(-1)).toEqual({
      type: "error",
      error: { type: "api_error", message: "acme failed: The line is dead", code: "upstream_error" },
      request_id: ledger.settlement.callId,
    });
  });

  test("that cannot be charged ends in an error event", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), finishChunk(), usageChunk());
    ledger.settleFailure = new Error("disk full");
    const { events } = parseEvents(await (await post("messages", streamed)).text());
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "internal_error" } });
  });

  test("is charged for what was said when the client leaves", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), "hang");
    const reader = ((await post("messages", streamed)).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    while (ledger.settlements.length === 0) await settled();
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 499, meters: { outputToken: 1 } });
  });
});

test.each(["insufficient_balance", "budget_exceeded", "quota_exceeded"] as const)(
  "a streamed message whose %s shows on the way ends in a billing_error",
  async (code) => {
    const { post, ledger } = streaming(textChunk("Hello"), new GatewayError(code, "Nothing is left"));
    const { events } = parseEvents(await (await post("messages", streamed)).text());
    expect(events.at(-1)).toMatchObject({ type: "error", error: { type: "billing_error", code } });
    expect(ledger.settlement).toMatchObject({ outcome: "settled", errorCode: code, status: 403 });
  },
);

describe("a message that is refused", () => {
  const refusals = [
    ["insufficient_balance", 402, "billing_error"],
    ["budget_exceeded", 402, "billing_error"],
    ["quota_exceeded", 402, "billing_error"],
    ["model_not_allowed", 403, "permission_error"],
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["unavailable", 529, "overloaded_error"],
  ] as const;
  test.each(refusals)("for %s is %d %s", async (code, status, type) => {
    for (const body of [asked, streamed]) {
      const { post, ledger } = httpOf();
      ledger.refusal = new GatewayError(code, "It is refused");
      const response = await post("messages", body);
      expect([response.status, await response.json()]).toEqual([
        status,
        { type: "error", error: { type, message: "It is refused", code }, request_id: expect.any(String) },
      ]);
    }
  });

  test("by the provider before its first event is an ordinary error answer", async () => {
    const { post, ledger } = streaming(new UpstreamError("rate_limited", "Slow", { retryAfterMs: 5000 }));
    const response = await post("messages", streamed);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "5"]);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
    expect(ledger.settlement.outcome).toBe("released");
  });

  test.each([
    ["authorization", "Bearer sk-mg-wrong"],
    ["x-api-key", "sk-mg-wrong"],
  ])("for a wrong key in %s is 401", async (name, value) => {
    const { post } = httpOf();
    for (const path of ["messages", "messages/count_tokens"]) {
      const response = await post(path, asked, { authorization: "", [name]: value });
      const body = await response.json();
      expect([response.status, body.error.type]).toEqual([401, "authentication_error"]);
      expect(body.request_id).toBe(response.headers.get("request-id"));
    }
  });

  test.each([
    [{ ...asked, max_tokens: undefined }, 400, "invalid_request_error"],
    [{ ...asked, model: "nobody" }, 404, "not_found_error"],
    [{ model: "chat-1", input: "Hi" }, 400, "invalid_request_error"],
    ["{", 400, "invalid_request_error"],
  ])("for a wrong body %# has the protocol's envelope", async (body, status, type) => {
    const response = await httpOf().post("messages", body);
    expect([response.status, await response.json()]).toMatchObject([status, { type: "error", error: { type } }]);
  });
});

describe("POST /messages/count_tokens", () => {
  test("counts without a charge and without a provider", async () => {
    const { post, ledger } = httpOf([createPlugin({ chat: () => Promise.reject(new Error("It was asked")) })]);
    const count = async (content: string) => {
      const response = await post("messages/count_tokens", { model: "chat-1", messages: [{ role: "user", content }] });
      return (await response.json()) as { input_tokens: number };
    };
    const [short, long] = [await count("one"), await count("one two three four")];
    expect(short.input_tokens).toBeGreaterThan(0);
    expect(long.input_tokens - short.input_tokens).toBe(3);
    expect([ledger.claims, ledger.settlements]).toEqual([[], []]);
  });

  test("shares its limit with counts of other protocols, on all paths", async () => {
    const { post } = httpOf();
    const counts = [
      ["/v1/messages/count_tokens", { model: "chat-1", messages }],
      ["/api/v1/messages/count_tokens", { model: "chat-1", messages }],
      ["/v1/responses/input_tokens", { model: "chat-1", input: "Say hello" }],
      ["/api/v1/responses/input_tokens", { model: "chat-1", input: "Say hello" }],
    ] as const;
    const countAll = () => Promise.all(counts.map(async ([path, body]) => (await post(path, body)).status));
    // The caller may make 60 requests a minute.
    for (let round = 0; round < 15; round++) expect(await countAll()).toEqual([200, 200, 200, 200]);
    expect(await countAll()).toEqual([429, 429, 429, 429]);
  });
});
