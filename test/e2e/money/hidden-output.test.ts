/** Output that a provider makes and bills although no part of it can be seen to come. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

let asked: { stream?: boolean; max_tokens?: number }[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    asked.push((await request.json()) as { stream?: boolean });
    const message = { role: "assistant", content: "{}" };
    return Response.json({
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 9000 },
    });
  },
});

let gateway: InProcessGateway;
beforeAll(async () => {
  const env = {
    GROQ_API_KEY: "gsk",
    GROQ_BASE_URL: `http://127.0.0.1:${server.port}/v1`,
    FREE_TOKENS_PER_DAY: "15000",
  };
  gateway = await startInProcess({ env });
});
afterAll(async () => {
  await gateway.stop();
  server.stop(true);
});
beforeEach(() => {
  asked = [];
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
  const answers = await Promise.all(
    Array.from({ length: 3 }, () => fetch(`${gateway.baseUrl}/chat/completions`, { method: "POST", headers, body })),
  );
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  // Only one of them fits into the quota, whichever it is.
  expect(asked.length).toBeLessThanOrEqual(1);
  expect(asked.every(({ stream }) => stream === undefined)).toBe(true);
  expect(texts.filter((text) => text.includes("quota_exceeded")).length).toBe(answers.length - asked.length);
});
