import { describe, expect, test } from "bun:test";
import { UpstreamError } from "../../../../src/contract/index.ts";
import type { Call, ChatChunk, ChatRequest } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { parseEvents } from "../../../support/sse.ts";
import { settled } from "../../kernel/fake-fetch.ts";
import { completionOf, FakeStream, finishChunk, textChunk, usageChunk } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { goodKey, httpOf, messages } from "../support.ts";

const chat = { model: "chat-1", messages };
const streamed = { ...chat, stream: true };

/** A gateway whose provider does these steps in a stream. */
function streaming(...steps: (ChatChunk | Error | "hang")[]) {
  const source = new FakeStream<ChatChunk>(...steps);
  return { ...httpOf([createPlugin({ chat: async () => source })]), source };
}

describe("POST /chat/completions", () => {
  test("answers whole, with what the call cost and who served it", async () => {
    const { post, ledger, log } = httpOf();
    const response = await post("chat/completions", chat);
    const answer = await response.json();
    expect(response.status).toBe(200);
    expect(answer).toMatchObject({ object: "chat.completion", model: "chat-1", usage: { total_tokens: 120 } });
    const id = response.headers.get("x-request-id") as string;
    expect([answer.id, ledger.settlement.callId]).toEqual([`chatcmpl-${id.slice(4)}`, id]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": expect.stringMatching(/^application\/json/),
      "x-modelgate-route": "acme",
      "x-modelgate-cost-usd": "0.00014",
      "x-ratelimit-limit-requests": "60",
      "x-ratelimit-remaining-requests": "59",
      "x-ratelimit-reset-requests": "1s",
      "x-ratelimit-limit-tokens": "100000",
      "x-ratelimit-remaining-tokens": "99000",
      "x-ratelimit-reset-tokens": "0.6s",
    });
    expect(response.headers.get("x-modelgate-sandbox")).toBeNull();
    expect(log.lines.filter(({ event }) => event === "call")).toEqual([
      {
        level: "info",
        event: "call",
        fields: expect.objectContaining({
          call: id,
          status: 200,
          usage_source: "reported",
          model: chat.model,
          model_name: chat.model,
        }),
      },
    ]);
  });

  test.each(["user", "system", "developer"])("refuses a message of the %s that says nothing", async (role) => {
    const { post, ledger } = httpOf();
    for (const message of [{ role }, { role, content: null }]) {
      const response = await post("chat/completions", { ...chat, messages: [...messages, message] });
      await expectError(response, { status: 400, param: "messages[1].content" });
    }
    expect(ledger.claims).toEqual([]);
  });

  test("hands on fields that it does not know", async () => {
    const seen: ChatRequest[] = [];
    const plugin = createPlugin({
      async chat({ request }) {
        seen.push(request);
        return completionOf("Hi");
      },
    });
    const { post } = httpOf([plugin]);
    await post("chat/completions", { ...chat, top_k: 5, messages: [{ ...messages[0], cache_control: { type: "x" } }] });
    expect(seen[0]).toMatchObject({ top_k: 5, messages: [{ cache_control: { type: "x" } }] });
  });

  test("writes neither prompt nor answer nor key into the log", async () => {
    const { post, log } = httpOf();
    await post("chat/completions", { ...chat, messages: [{ role: "user", content: "My secret" }] });
    expect(JSON.stringify(log.lines)).not.toMatch(new RegExp(`secret|Hello|${goodKey}`));
  });
});

describe("a streamed chat", () => {
  test("comes as events, ended by [DONE]", async () => {
    const { post, ledger } = streaming(textChunk("Hel"), textChunk("lo"), finishChunk(), usageChunk());
    const response = await post("chat/completions", { ...streamed, stream_options: { include_usage: true } });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-modelgate-route": "acme",
      "x-ratelimit-remaining-requests": "59",
    });
    const { events, done } = parseEvents<ChatChunk>(await response.text());
    expect(events.map(({ choices }) => choices[0]?.delta.content).join("")).toBe("Hello");
    expect([events.at(-1)?.usage?.total_tokens, done]).toEqual([120, true]);
    expect(new Set(events.map(({ id }) => id)).size).toBe(1);
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("is charged before [DONE] is sent", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), finishChunk(), usageChunk());
    const written = Promise.withResolvers<void>();
    const settle = ledger.settle.bind(ledger);
    ledger.settle = async (settlement) => {
      await written.promise;
      await settle(settlement);
    };
    const reader = ((await post("chat/completions", streamed)).body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    const reading = (async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += Buffer.from(read.value);
    })();
    await settled();
    expect(text).toContain("Hello");
    expect(text).not.toContain("[DONE]");
    written.resolve();
    await reading;
    expect(text).toEndWith("data: [DONE]\n\n");
  });

  test("that cannot be charged ends in an error, not in [DONE]", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), finishChunk(), usageChunk());
    ledger.settleFailure = new Error("disk full");
    const { events, done } = parseEvents<{ error?: { code: string } }>(
      await (await post("chat/completions", streamed)).text(),
    );
    expect([events.at(-1)?.error?.code, done]).toEqual(["internal_error", false]);
  });

  test("that fails before its first piece is an ordinary error answer", async () => {
    const { post, ledger } = streaming(new UpstreamError("rate_limited", "Slow", { retryAfterMs: 5000 }));
    const response = await post("chat/completions", streamed);
    await expectError(response, { status: 429, code: "rate_limit_exceeded" });
    expect(response.headers.get("retry-after")).toBe("5");
    expect(ledger.settlement).toMatchObject({ outcome: "released", status: 429 });
  });

  test("that is refused is an ordinary error answer", async () => {
    const { post } = httpOf();
    await expectError(await post("chat/completions", { ...streamed, model: "nobody" }), {
      status: 400,
      code: "model_not_found",
    });
  });

  test("that fails later ends in an error event, without [DONE]", async () => {
    const { post } = streaming(textChunk("Hello"), new UpstreamError("bad_response", "The line is dead"));
    const response = await post("chat/completions", streamed);
    const { events, done } = parseEvents(await response.text());
    expect([response.status, done]).toEqual([200, false]);
    expect(events.at(-1)).toEqual({
      error: { message: "acme failed: The line is dead", type: "upstream_error", param: null, code: "upstream_error" },
    });
  });

  test("is served from a provider that cannot stream", async () => {
    const { post } = httpOf();
    const { events, done } = parseEvents<ChatChunk>(await (await post("chat/completions", streamed)).text());
    expect(events.map(({ choices }) => choices[0]?.delta.content).join("")).toBe("Hello");
    expect([events.at(-1)?.choices[0]?.finish_reason, done]).toEqual(["stop", true]);
  });
});

describe("a client that leaves", () => {
  test("in the middle of a stream is charged for what was said", async () => {
    const { post, ledger } = streaming(textChunk("Hello"), "hang");
    const reader = ((await post("chat/completions", streamed)).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    while (ledger.settlements.length === 0) await settled();
    expect(ledger.settlement).toMatchObject({ outcome: "settled", status: 499, meters: { outputToken: 1 } });
  });

  test("before anything was sent to a provider pays nothing", async () => {
    let call: Call<ChatRequest> | undefined;
    const plugin = createPlugin({
      chat(given) {
        call = given;
        return new Promise(() => undefined);
      },
    });
    const { app, ledger, log } = httpOf([plugin]);
    const controller = new AbortController();
    const headers = { authorization: `Bearer ${goodKey}`, "content-type": "application/json" };
    const body = JSON.stringify(streamed);
    const url = "http://gateway.example/v1/chat/completions";
    const asked = app.handle(new Request(url, { method: "POST", headers, body, signal: controller.signal }));
    while (call === undefined) await settled();
    controller.abort();
    await asked;
    expect(call.signal.aborted).toBe(true);
    expect(ledger.settlement).toMatchObject({ outcome: "released", status: 499, errorCode: "client_disconnected" });
    expect(log.lines.find(({ event }) => event === "call")?.fields).toMatchObject({ status: 499 });
  });

  test("while it waits for a whole answer pays for that answer, which is made all the same", async () => {
    const made = Promise.withResolvers<ReturnType<typeof completionOf>>();
    const asked = Promise.withResolvers<void>();
    const plugin = createPlugin({
      chat() {
        asked.resolve();
        return made.promise;
      },
    });
    const { app, ledger } = httpOf([plugin]);
    const controller = new AbortController();
    const headers = { authorization: `Bearer ${goodKey}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(chat), signal: controller.signal };
    const answered = app.handle(new Request("http://gateway.example/v1/chat/completions", init));
    await asked.promise;
    controller.abort();
    made.resolve(completionOf("Hello"));
    await answered;
    expect(ledger.settlement).toMatchObject({ outcome: "settled", usageSource: "reported", status: 200 });
  });
});
