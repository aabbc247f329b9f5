import { afterEach, describe, expect, test } from "bun:test";
import { parseEvents } from "../../support/sse.ts";
import { chatReply, claude, eventsOf, gpt, type NativeBench, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

async function start(...options: Parameters<typeof startNative>): Promise<NativeBench> {
  const bench = await startNative(...options);
  toStop.push(bench);
  return bench;
}

const signature = "EqQBCkYIBxgCKkD/+abc==";
const usage = {
  input_tokens: 7,
  cache_creation_input_tokens: 30,
  cache_read_input_tokens: 200,
  cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 0 },
  output_tokens: 12,
};
const content = [
  { type: "thinking", thinking: "Hm \u2028 <&>", signature },
  { type: "text", text: "Hello", citations: null, from_tomorrow: { kept: true } },
];
const message = {
  id: "msg_upstream",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-6",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage,
};
const events = [
  {
    type: "message_start",
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  },
  { type: "ping" },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm" } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature } },
  { type: "content_block_stop", index: 0 },
  { type: "event_from_tomorrow", anything: [1.0, "\u00e9"] },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello" } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: "message_stop" },
];
const asked = {
  model: claude,
  max_tokens: 500,
  system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral", ttl: "5m" } }],
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "thinking", thinking: "Before", signature }] },
    { role: "user", content: [{ type: "block_from_tomorrow", text: "x" }] },
  ],
  field_from_tomorrow: { a: 1 },
};
const betas = {
  "anthropic-version": "2023-06-01",
  "anthropic-beta": "context-management-2025-06-27,tools-of-tomorrow-2027-01-01",
};

describe("POST /messages with a Claude model", () => {
  test("hands the body on as it is, and gives the answer back with the public name alone changed", async () => {
    const { ask, seen, gateway } = await start(() => Response.json(message));
    const response = await ask("/messages?beta=true", asked, betas);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ...message, model: claude });
    expect(seen.map(({ path }) => path)).toEqual(["/anthropic/messages"]);
    expect(seen[0]?.body).toEqual({ ...asked, model: "claude-sonnet-4-6" });
    expect(seen[0]?.headers).toMatchObject({ ...betas, "x-api-key": "sk-upstream-anthropic" });
    expect(seen[0]?.headers.authorization).toBeUndefined();
    expect(gateway.ledger.callOf(response)).toMatchObject({
      state: "settled",
      plugin: "anthropic",
      usage_source: "reported",
      input_tokens: 7,
      cache_read_tokens: 200,
      cache_write_tokens: 30,
      output_tokens: 12,
      cost_nanodollars: 7 * 3000 + 200 * 300 + 30 * 3750 + 12 * 15_000,
    });
  });

  test("streams event by event, also those that nobody knows, and charges by the last figures", async () => {
    const { ask, gateway } = await start(() => streamOf(eventsOf(events)));
    const response = await ask("/messages", { ...asked, stream: true });
    const named = [{ ...events[0], message: { ...events[0]?.message, model: claude } }, ...events.slice(1)];
    expect(await response.text()).toBe(eventsOf(named));
    expect(gateway.ledger.callOf(response)).toMatchObject({
      state: "settled",
      usage_source: "reported",
      input_tokens: 7,
      cache_read_tokens: 200,
      output_tokens: 12,
    });
  });

  test("a stream without a reason to finish is a failure, and one that closes behind it is whole", async () => {
    const without = (type: string) => events.filter((event) => event.type !== type);
    const { ask, gateway } = await start((_, index) =>
      streamOf(eventsOf(without(index === 0 ? "message_delta" : "message_stop"))),
    );
    const cut = await (await ask("/messages", { ...asked, stream: true })).text();
    expect(cut).toContain("event: error");
    expect(cut).not.toContain("message_stop");
    const whole = await ask("/messages", { ...asked, stream: true });
    expect(parseEvents<{ type: string }>(await whole.text()).events.at(-1)).toEqual({ type: "message_stop" });
    expect(gateway.ledger.callOf(whole)).toMatchObject({
      state: "settled",
      usage_source: "reported",
      output_tokens: 12,
    });
  });

  test("gives a provider's 400 with its own words, in the protocol's envelope", async () => {
    const says = "messages.1.content.0: Invalid `signature` in `thinking` block";
    const error = { type: "error", error: { type: "invalid_request_error", message: says } };
    const { ask, gateway } = await start(() => Response.json(error, { status: 400 }));
    const response = await ask("/messages", asked);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: says },
    });
    expect(gateway.ledger.latest()).toMatchObject({ state: "released", charged_nanodollars: 0 });
  });

  test.each([
    [500, "api_error", 500],
    [529, "overloaded_error", 529],
  ])("tells a provider's %d as such", async (status, type, expected) => {
    const body = { type: "error", error: { type, message: "Oh" } };
    const { ask } = await start(() => Response.json(body, { status }));
    const response = await ask("/messages", asked);
    expect([response.status, await response.json()]).toMatchObject([expected, { error: { type } }]);
  });

  test("leaves out what has no price, and says so", async () => {
    const { ask, seen } = await start(() => Response.json(message));
    const execution = { type: "code_execution_20250825", name: "code_execution" };
    const own = { name: "look", input_schema: { type: "object" } };
    const bash = { type: "bash_20250124", name: "bash" };
    const body = {
      ...asked,
      tools: [execution, own, bash],
      tool_choice: { type: "tool", name: "code_execution" },
      service_tier: "auto",
      speed: "fast",
      mcp_servers: [{ type: "url", url: "https://mcp.example", name: "x" }],
      system: [{ type: "text", text: "Long", cache_control: { type: "ephemeral", ttl: "1h" } }],
    };
    const response = await ask("/messages", body, {
      "anthropic-beta": "fast-mode-2026-02-01,mcp-client-2025-11-20,effort-2025-11-24",
    });
    expect(response.headers.get("x-modelgate-ignored")).toBe("speed, mcp_servers, tools, tool_choice");
    const sent = seen[0]?.body as Record<string, unknown>;
    expect([sent.tools, sent.tool_choice, sent.speed, sent.service_tier, sent.mcp_servers]).toEqual([
      [own, bash],
      ...Array.from({ length: 4 }, () => undefined),
    ]);
    expect(sent.system).toEqual(body.system);
    expect(seen[0]?.headers["anthropic-beta"]).toBe("effort-2025-11-24");
  });

  test("refuses a place of processing that costs more", async () => {
    const { ask, seen } = await start(() => Response.json(message));
    const response = await ask("/messages", { ...asked, inference_geo: "us" });
    expect([response.status, seen.length]).toEqual([400, 0]);
  });

  test("falls back to a translated route until the first content, and drops what came before", async () => {
    const broken = eventsOf([
      ...events.slice(0, 2),
      { type: "error", error: { type: "overloaded_error", message: "Busy" } },
    ]);
    const { ask, seen, gateway } = await start(
      (request) => (request.path.startsWith("/backup") ? chatReply(request) : streamOf(broken)),
      { backup: "last" },
    );
    const body = { ...asked, messages: [{ role: "user", content: "Hi" }], stream: true };
    const response = await ask("/messages", body);
    const got = parseEvents(await response.text()).events;
    expect(seen.map(({ path }) => path)).toEqual(["/anthropic/messages", "/backup/chat/completions"]);
    expect(got.filter(({ type }) => type === "message_start").length).toBe(1);
    expect(got.at(-1)).toEqual({ type: "message_stop" });
    expect(JSON.stringify(got)).toContain("From the backup");
    expect(gateway.ledger.callOf(response)).toMatchObject({ plugin: "backup", input_tokens: 11, output_tokens: 4 });
  });

  test("does not ask a route of chat for what chat cannot say", async () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "Busy" } };
    const { ask, seen } = await start(() => Response.json(error, { status: 529 }), { backup: "last" });
    expect((await ask("/messages", asked)).status).toBe(529);
    expect(seen.every(({ path }) => path === "/anthropic/messages")).toBe(true);
  });

  test("ends a cut stream with an error event, and charges for what came out", async () => {
    const { ask, gateway } = await start(() => streamOf(eventsOf(events.slice(0, 9))));
    const response = await ask("/messages", { ...asked, stream: true });
    const got = parseEvents(await response.text()).events;
    expect(got.at(-1)).toMatchObject({ type: "error", error: { type: "api_error" } });
    await gateway.ledger.untilSettled();
    expect(gateway.ledger.callOf(response)).toMatchObject({
      state: "settled",
      usage_source: "estimated",
      input_tokens: 7,
      cache_read_tokens: 200,
      status: 500,
    });
  });

  test("sends no thoughts of our own to the provider", async () => {
    const thinks = {
      message: { role: "assistant", content: "Yes", reasoning_content: "Because" },
      finish_reason: "stop",
    };
    const answer = { id: "c", object: "chat.completion", created: 1, model: "x", choices: [{ index: 0, ...thinks }] };
    const { ask, seen } = await start(({ path }) => {
      return Response.json(
        path.startsWith("/openai") ? { ...answer, usage: { prompt_tokens: 1, completion_tokens: 2 } } : message,
      );
    });
    const question = { role: "user", content: "Hi" };
    const body = { model: gpt, max_tokens: 900, messages: [question], thinking: { type: "adaptive" } };
    const first = (await (await ask("/messages", body)).json()) as typeof message;
    expect(first.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    const turns = [question, { role: "assistant", content: first.content }, question];
    expect((await ask("/messages", { ...body, model: claude, messages: turns })).status).toBe(200);
    expect(seen.at(-1)?.body.messages).toEqual([
      question,
      { role: "assistant", content: [{ type: "text", text: "Yes" }] },
      question,
    ]);
  });

  test("counts with the provider's own counter, free of charge, and by itself when that fails", async () => {
    let status = 200;
    const { ask, seen, gateway } = await start(() => Response.json({ input_tokens: 4321 }, { status }));
    const { max_tokens: _, ...counted } = asked;
    expect(await (await ask("/messages/count_tokens", counted, betas)).json()).toEqual({ input_tokens: 4321 });
    expect(seen[0]).toMatchObject({ path: "/anthropic/messages/count_tokens", headers: betas });
    expect(seen[0]?.body).toEqual({ ...counted, model: "claude-sonnet-4-6" });
    status = 500;
    const estimate = (await (await ask("/messages/count_tokens", counted)).json()) as { input_tokens: number };
    expect(estimate.input_tokens).toBeGreaterThan(0);
    expect(estimate.input_tokens).toBeLessThan(100);
    expect(gateway.ledger.counts()).toEqual({ calls: 0, open: 0 });
    expect((await ask("/messages", asked)).status).toBe(500);
  });

  test("refuses to count for a model that is not there, and more often than a minute allows", async () => {
    const { ask, gateway } = await start(() => Response.json({ input_tokens: 1 }), {
      env: { REQUESTS_PER_MINUTE: "3" },
    });
    const { max_tokens: _, ...counted } = asked;
    expect((await ask("/messages/count_tokens", { ...counted, model: "nothing" })).status).toBe(404);
    const statuses = [];
    for (let time = 0; time < 4; time++) statuses.push((await ask("/messages/count_tokens", counted)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(gateway.ledger.counts().calls).toBe(0);
  });
});
