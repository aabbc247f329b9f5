/** Output that a provider makes and bills although no part of it can be seen to come. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

const quotaTokens = 15_000;
const calls = 3;

let asked: { stream?: boolean; max_tokens: number }[] = [];
let refused = 0;
let everyCallIsDecided = Promise.withResolvers<void>();
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    asked.push((await request.json()) as { stream?: boolean; max_tokens: number });
    noteDecision();
    // An answer that came sooner would leave the rest of its hold to the calls after it.
    await everyCallIsDecided.promise;
    const message = { role: "assistant", content: "{}" };
    return Response.json({
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 9000 },
    });
  },
});

function noteDecision() {
  if (asked.length + refused === calls) everyCallIsDecided.resolve();
}

let gateway: InProcessGateway;
beforeAll(async () => {
  const env = {
    GROQ_API_KEY: "gsk",
    GROQ_BASE_URL: `http://127.0.0.1:${server.port}/v1`,
    FREE_TOKENS_PER_DAY: String(quotaTokens),
  };
  gateway = await startInProcess({ env });
});
afterAll(async () => {
  await gateway.stop();
  server.stop(true);
});
beforeEach(() => {
  asked = [];
  refused = 0;
  everyCallIsDecided = Promise.withResolvers();
});

test("a stream that its provider can only answer whole holds all of it before it is asked for", async () => {
  const { id: accountId } = await gateway.app.accounts.create({ email: "many@example.org" });
  const { key } = await gateway.app.accounts.createKey({ accountId, name: "test" });
  const body = JSON.stringify({
    model: "famD-3.3-70b-versatile",
    messages: [{ role: "user", content: "Go on" }],
    stream: true,
    max_tokens: 9000,
    response_format: { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } },
  });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const call = async () => {
    const answer = await fetch(`${gateway.baseUrl}/chat/completions`, { method: "POST", headers, body });
    const text = await answer.text();
    if (!text.includes("quota_exceeded")) return;
    refused++;
    noteDecision();
  };
  await Promise.all(Array.from({ length: calls }, call));
  // How many fit depends on who came first: a call that finds little left is lowered to it.
  expect(asked.length + refused).toBe(calls);
  expect(asked.every(({ stream }) => stream === undefined)).toBe(true);
  expect(asked.reduce((sum, { max_tokens }) => sum + max_tokens, 0)).toBeLessThanOrEqual(quotaTokens);
});
