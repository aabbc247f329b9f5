import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../../src/contract/index.ts";
import type { ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { parseEvents } from "../../../support/sse.ts";
import { settled } from "../../kernel/fake-fetch.ts";
import { completionOf, FakeStream, finishChunk, textChunk, usageChunk } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { httpOf, messages } from "../support.ts";

const asked = { model: "chat-1", input: "Say hello" };
const streamed = { ...asked, stream: true };
const tools = [{ type: "function", name: "add", parameters: { type: "object" } }];

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

describe("POST /responses", () => {
  test("answers whole, with the cost and the headers of the call", async () => {
    const { post, ledger, log } = httpOf();
    const response = await post("responses", asked);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: "response",
      status: "completed",
      model: "chat-1",
      store: true,
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }],
      usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
    });
    const { callId } = ledger.settlement;
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-request-id": callId,
      "x-modelgate-cost-usd": "0.00014",
      "x-ratelimit-remaining-requests": "59",
    });
    const line = log.lines.find(({ event }) => event === "call");
    expect(line?.fields).toMatchObject({ call: callId, capability: "chat", protocol: "responses", status: 200 });
  });

  test("sends the provider no temperature that nobody asked for", async () => {
    const seen: ChatRequest[] = [];
    const plugin = createPlugin({
      async chat({ request }) {
        seen.push(request);
        return completionOf("Hi");
      },
    });
    await httpOf([plugin]).post("responses", asked);
    await httpOf([plugin]).post("responses", { ...asked, temperature: 0.2 });
    expect(seen.map(({ temperature }) => temperature)).toEqual([undefined, 0.2]);
  });

  test("gives a tool call as an item", async () => {
    const { post } = httpOf([createPlugin({ chat: async () => toolCall() })]);
    expect(await (await post("responses", { ...asked, tools })).json()).toMatchObject({
      output: [{ type: "function_call", call_id: "call_Qm4vT9xZ", name: "add", arguments: '{"a":1}' }],
    });
  });

  test("notes what was left out, which the log counts", async () => {
    const { post, log, ledger } = httpOf();
    expect((await post("responses", { ...asked, tools: [...tools, { type: "web_search" }] })).status).toBe(200);
    const line = log.lines.find(({ event }) => event === "call");
    expect(line?.fields?.warnings).toBe(1);
    expect(ledger.settlement.detail).toContain("web_search");
  });
});

describe("a streamed response", () => {
  test("comes as numbered events whose names are their types", async () => {
    const { post, ledger } = streaming(textChunk("Hel"), textChunk("lo"), finishChunk(), usageChunk());
    const response = await post("responses", streamed);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const text = await response.text();
    const { events } = parseEvents(text);
    const types = events.map(({ type }) => type);
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name as unknown)).toEqual(types);
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
    expect(events.at(-1)).toMatchObject({ response: { status: "completed", usage: { total_tokens: 120 } } });
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("gives a tool call of a provider that does not stream", async () => {
    const { post } = httpOf([createPlugin({ chat: async () => toolCall() })]);
    const { events } = parseEvents(await (await post("responses", { ...streamed, tools })).text());
    const call = { type: "function_call", call_id: "call_Qm4vT9xZ", name: "add", arguments: '{"a":1}' };
    expect(events.at(-2)).toMatchObject({ type: "response.output_item.done", item: call });
  });

  test("is charged before response.completed is sent", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), finishChunk(), usageChunk());
    const written = Promise.withResolvers<void>();
    const settle = ledger.settle.bind(ledger);
    ledger.settle = async (settlement) => {
      await written.promise;
      await settle(settlement);
    };
    const reader = ((await post("responses", streamed)).body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const reading = (async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += Buffer.from(read.value);
    })();
    await settled();
    expect(text).toContain("Hello");
    expect(text).not.toContain("response.completed");
    written.resolve();
    await reading;
    expect(text).toContain("event: response.completed\n");
  });

  test("that fails ends in response.failed", async () => {
    const { post } = streaming(textChunk("Hello"), new UpstreamError("bad_response", "The line is dead"));
    const response = await post("responses", streamed);
    const { events } = parseEvents(await response.text());
    expect(response.status).toBe(200);
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      response: { status: "failed", error: { code: "server_error", message: "acme failed: The line is dead" } },
    });
  });

  test("that cannot be charged ends in response.failed", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), finishChunk(), usageChunk());
    ledger.settleFailure = new Error("disk full");
    const { events } = parseEvents(await (await post("responses", streamed)).text());
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { error: { code: "server_error" } } });
  });

  test("is charged for what was said when the client leaves", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), "hang");
    const reader = ((await post("responses", streamed)).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    while (ledger.settlements.length === 0) await settled();
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 499, meters: { outputToken: 1 } });
  });
});

test.each(["insufficient_balance", "budget_exceeded", "quota_exceeded"] as const)(
  "a streamed response whose %s shows on the way fails by the code whose words Codex shows",
  async (code) => {
    const { post, ledger } = streaming(textChunk("Hello"), new GatewayError(code, "Nothing is left"));
    const { events } = parseEvents(await (await post("responses", streamed)).text());
    const error = { code: "invalid_prompt", type: "insufficient_quota", message: "Nothing is left" };
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed", error } });
    expect(ledger.settlement).toMatchObject({ outcome: "settled", errorCode: code, status: 403 });
  },
);

describe("a response that is refused", () => {
  const refusals = [
    ["insufficient_balance", 400, "insufficient_quota", null],
    ["budget_exceeded", 400, "insufficient_quota", null],
    ["quota_exceeded", 400, "insufficient_quota", null],
    ["rate_limit_exceeded", 429, "rate_limit_error", null],
    ["model_not_allowed", 400, "permission_error", null],
    ["unavailable", 503, "server_error", null],
  ] as const;
  test.each(refusals)("for %s is %d %s, x-should-retry %p", async (code, status, type, shouldRetry) => {
    for (const body of [asked, streamed]) {
      const { post, ledger } = httpOf();
      ledger.refusal = new GatewayError(code, "It is refused");
      const response = await post("responses", body);
      expect(response.headers.get("x-should-retry")).toBe(shouldRetry);
      const shown = code === "unavailable" ? "server_is_overloaded" : code;
      const error = await expectError(response, { status, code: shown, says: "It is refused" });
      expect(error.type).toBe(type);
    }
  });

  test("by the provider before its first event is an ordinary error answer", async () => {
    const { post, ledger } = streaming(new UpstreamError("rate_limited", "Slow", { retryAfterMs: 5000 }));
    const response = await post("responses", streamed);
    await expectError(response, { status: 429, code: "rate_limit_exceeded" });
    expect(response.headers.get("retry-after")).toBe("5");
    expect(ledger.settlement.outcome).toBe("released");
  });

  test.each([
    ["authorization", "Bearer sk-mg-wrong"],
    ["x-api-key", "sk-mg-wrong"],
  ])("for a wrong key in %s is 401", async (name, value) => {
    for (const path of ["responses", "responses/input_tokens"]) {
      const response = await httpOf().post(path, asked, { authorization: "", [name]: value });
      await expectError(response, { status: 401, code: "invalid_api_key" });
    }
  });

  test.each([
    [{ ...asked, model: "nobody" }, "model_not_found"],
    [{ ...asked, previous_response_id: "resp_1" }, "previous_response_not_found"],
    [{ ...asked, background: true }, "invalid_request"],
    [{ model: "chat-1", messages }, "invalid_request"],
    ["{", "invalid_request"],
  ])("for a wrong body %# is 400", async (body, code) => {
    await expectError(await httpOf().post("responses", body), { status: 400, code });
  });
});

describe("POST /responses/input_tokens", () => {
  test("counts without a charge and without a provider", async () => {
    const { post, ledger } = httpOf([createPlugin({ chat: () => Promise.reject(new Error("It was asked")) })]);
    const count = async (input: string) => {
      const counted = await (await post("responses/input_tokens", { model: "chat-1", input })).json();
      expect(counted.object).toBe("response.input_tokens");
      return counted.input_tokens as number;
    };
    const [short, long] = [await count("one"), await count("one two three four")];
    expect(short).toBeGreaterThan(0);
    expect(long - short).toBe(3);
    expect([ledger.claims, ledger.settlements]).toEqual([[], []]);
  });
});
