import { afterEach, describe, expect, test } from "bun:test";
import { claude, eventsOf, type NativeBench, type Seen, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

/** Rates by which a charge tells the tier. */
const priority = { inputToken: { usd: "1000", per: 1_000_000 }, outputToken: { usd: "2000", per: 1_000_000 } };
const flex = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } };
const price = {
  inputToken: { usd: "3", per: 1_000_000 },
  outputToken: { usd: "15", per: 1_000_000 },
  serviceTiers: { priority, flex },
};
const rows = { models: [{ id: claude, price }] };
const withTiers = { "catalogue/anthropic.json": rows };
const withTiersBoth = { ...withTiers, "catalogue/backup.json": rows };

async function start(answer: (seen: Seen) => Response, files = {}, backup?: "first"): Promise<NativeBench> {
  const bench = await startNative(answer, { files, ...(backup && { backup }) });
  toStop.push(bench);
  return bench;
}

const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-6",
  content: [{ type: "text", text: "Hello" }],
  stop_reason: "end_turn",
  stop_sequence: null,
};
const counts = { input_tokens: 100, output_tokens: 10 };

function claudeReply(tier: string | undefined) {
  const usage = { ...counts, ...(tier && { service_tier: tier }) };
  return ({ body }: Seen) => {
    if (body.stream !== true) return Response.json({ ...message, usage });
    const events = [
      { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 10 } },
      { type: "message_stop" },
    ];
    return streamOf(eventsOf(events));
  };
}

const ask = { model: claude, max_tokens: 100, messages: [{ role: "user", content: "Hi" }] };
const [own, dear] = [100 * 3000 + 10 * 15_000, 100 * 1_000_000 + 10 * 2_000_000];

describe("service_tier of POST /messages, natively", () => {
  test.each([
    ["auto", "priority", dear],
    ["auto", "standard", own],
    ["auto", undefined, dear],
    ["standard_only", "standard", own],
  ])("%p that is served as %p is charged by that", async (asked, served, cost) => {
    const { ask: send, seen, gateway } = await start(claudeReply(served), withTiers);
    for (const stream of [false, true]) {
      const response = await send("/messages", { ...ask, stream, service_tier: asked });
      const text = await response.text();
      if (served !== undefined) expect(text).toContain(`"service_tier":"${served}"`);
      expect(seen.at(-1)?.body.service_tier).toBe(asked);
      expect(response.headers.get("x-modelgate-ignored")).toBeNull();
      expect(gateway.ledger.callOf(response).cost_nanodollars).toBe(cost);
    }
  });

  test.each([
    ["auto", null],
    ["priority", "service_tier"],
  ])("%s without a price is left out", async (asked, ignored) => {
    const { ask: send, seen, gateway } = await start(claudeReply("priority"));
    const response = await send("/messages", { ...ask, service_tier: asked });
    expect(seen[0]?.body.service_tier).toBeUndefined();
    expect(response.headers.get("x-modelgate-ignored")).toBe(ignored);
    expect(gateway.ledger.callOf(response).cost_nanodollars).toBe(own);
  });
});

/** A provider of chat, which the other protocols are translated into, that says by which tier it served. */
function chatOf(tier: string | undefined) {
  const served = tier === undefined ? {} : { service_tier: tier };
  const head = { id: "chatcmpl-9", created: 1, model: "backup-model", ...served };
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  return ({ body }: Seen) => {
    const content = { role: "assistant", content: "Hello" };
    if (body.stream !== true) {
      return Response.json({ ...head, choices: [{ index: 0, message: content, finish_reason: "stop" }], usage });
    }
    const chunks = [
      { ...head, choices: [{ index: 0, delta: content, finish_reason: null }] },
      { ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { ...head, choices: [], usage },
    ];
    return streamOf(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`);
  };
}

const cheap = 100 * 1000 + 10 * 2000;

describe("service_tier of a call that is translated into chat", () => {
  test.each([
    ["/messages", "flex", "flex", "flex", '"service_tier":"flex"', cheap],
    ["/messages", "flex", "flex", "default", '"service_tier":"standard"', own],
    ["/messages", "standard_only", "default", "default", '"service_tier":"standard"', own],
    ["/messages", "auto", undefined, "default", '"service_tier":"standard"', own],
    ["/responses", "flex", "flex", "flex", '"service_tier":"flex"', cheap],
    ["/responses", "priority", "priority", "default", '"service_tier":"default"', own],
    ["/responses", "auto", undefined, undefined, '"service_tier":"default"', own],
  ])("%p: %p is sent as %p and served as %p", async (...row) => {
    const [path, asked, sent, served, said, cost] = row;
    const { ask: send, seen, gateway } = await start(chatOf(served), withTiersBoth, "first");
    for (const stream of [false, true]) {
      const body = path === "/messages" ? ask : { model: claude, input: "Hi", store: false };
      const response = await send(path, { ...body, stream, service_tier: asked });
      const text = await response.text();
      expect(text).toContain(said);
      expect(seen.at(-1)).toMatchObject({ path: "/backup/chat/completions" });
      expect(seen.at(-1)?.body.service_tier).toBe(sent as string);
      expect(response.headers.get("x-modelgate-ignored")).toBeNull();
      expect(gateway.ledger.callOf(response).cost_nanodollars).toBe(cost);
    }
  });

  test.each(["/messages", "/responses"])(
    "%s: one without a price is left out, and the header says so",
    async (path) => {
      const { ask: send, seen } = await start(chatOf("default"), {}, "first");
      const body = path === "/messages" ? ask : { model: claude, input: "Hi", store: false };
      const response = await send(path, { ...body, service_tier: "flex" });
      expect([response.status, seen[0]?.body.service_tier]).toEqual([200, undefined]);
      expect(response.headers.get("x-modelgate-ignored")).toBe("service_tier");
    },
  );
});
