import { afterEach, describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

const model = "famA-4.1";
const chat = { model, messages: [{ role: "user", content: "Hello" }] };
const limit = 9;
const says = `Request limit reached: ${limit} requests a minute for this account`;
let gateway: InProcessGateway | undefined;
afterEach(() => gateway?.stop());

/** A gateway whose clock stands still, so that no request comes back while a test runs. */
async function start(env: Record<string, string> = {}) {
  const clock = { ms: Date.UTC(2026, 0, 1) };
  const started = await startInProcess({
    env: { SANDBOX: "on", REQUESTS_PER_MINUTE: String(limit), ...env },
    now: () => clock.ms,
  });
  gateway = started;
  const send = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
    fetch(started.baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${started.key}`, ...headers },
      body,
    });
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, JSON.stringify(body), { "content-type": "application/json", ...headers });
  return { ...started, clock, send, ask };
}

/** A call whose arguments are nested deeper than anything reads them. */
const deepCall = {
  role: "assistant",
  content: null,
  tool_calls: [
    { id: "call_1", type: "function", function: { name: "f", arguments: "[".repeat(60_000) + "]".repeat(60_000) } },
  ],
};
const toolResult = { role: "tool", tool_call_id: "call_1", content: "1" };

const left = (response: Response) => Number(response.headers.get("x-ratelimit-remaining-requests"));

describe("a request that is refused", () => {
  test("takes one of the requests per minute, whatever refuses it, until none is left for one that is in order", async () => {
    const { ask, send, clock } = await start();
    const form = new FormData();
    form.set("model", "famW-large-v3-turbo");
    const sent: [status: number, response: () => Promise<Response>][] = [
      [200, () => ask("/chat/completions", chat)],
      [400, () => send("/chat/completions", "{", { "content-type": "application/json" })],
      [400, () => ask("/chat/completions", { ...chat, temperature: 5 })],
      [400, () => ask("/chat/completions", { ...chat, model: "nobody" })],
      [400, () => ask("/embeddings", { model, input: "Hello" })],
      [400, () => ask("/messages", { ...chat, max_tokens: 0 })],
      [400, () => ask("/chat/completions", { model, messages: [...chat.messages, deepCall, toolResult] })],
      [400, () => send("/audio/transcriptions", form)],
      [413, () => send("/chat/completions", "x".repeat(33 * 2 ** 20))],
    ];
    for (const [index, [status, request]] of sent.entries()) {
      const response = await request();
      await response.text();
      expect([index, response.status, left(response)]).toEqual([index, status, limit - 1 - index]);
    }
    for (const body of [chat, { ...chat, temperature: 5 }, { model: "x".repeat(100_000) }]) {
      const refused = await ask("/chat/completions", body);
      expect(left(refused)).toBe(0);
      await expectError(refused, { status: 429, code: "rate_limit_exceeded", says });
    }
    clock.ms += 60_000 / limit;
    expect((await ask("/chat/completions", chat)).status).toBe(200);
    expect((await ask("/chat/completions", chat)).status).toBe(429);
  });

  test("for its funds takes one, and so does a call that was admitted and failed", async () => {
    const { ask } = await start({ FREE_TOKENS_PER_DAY: "0" });
    const free = await ask("/chat/completions", { ...chat, model: "famB-2.0-flash" });
    expect([free.status, left(free)]).toEqual([403, limit - 1]);
    const failed = await ask("/chat/completions", {
      ...chat,
      messages: [{ role: "user", content: "[[fault:status=500]]" }],
    });
    expect(left(failed)).toBe(limit - 2);
  });

  test("with an Idempotency-Key takes one, also as a repeated one that does not fit", async () => {
    const { ask } = await start();
    const key = { "idempotency-key": "one" };
    expect(left(await ask("/chat/completions", { ...chat, n: 500 }, key))).toBe(limit - 1);
    expect(left(await ask("/chat/completions", { ...chat, model: "nobody" }, key))).toBe(limit - 2);
    expect(left(await ask("/chat/completions", chat, key))).toBe(limit - 3);
    const other = await ask("/chat/completions", { ...chat, n: 2 }, key);
    expect([other.status, left(other)]).toEqual([409, limit - 4]);
  });

  test("by a limit takes none: waiting helps", async () => {
    const { ask } = await start({ TOKENS_PER_MINUTE: "1000" });
    const long = { ...chat, messages: [{ role: "user", content: "word ".repeat(900) }], max_tokens: 900 };
    expect(left(await ask("/chat/completions", long))).toBe(limit - 1);
    for (const _ of [1, 2, 3]) {
      const refused = await ask("/chat/completions", long);
      expect([refused.status, left(refused)]).toEqual([429, limit - 1]);
    }
  });

  test("counts against the limit of its key too, and is refused by that in the same words", async () => {
    const started = await start();
    const { accountId } = (await started.app.accounts.authenticate(started.key)) as { accountId: string };
    const { key } = await started.app.accounts.createKey({
      accountId,
      name: "narrow",
      bounds: { requestsPerMinute: 2 },
    });
    const ask = (temperature: number) =>
      started.ask("/chat/completions", { ...chat, temperature }, { authorization: `Bearer ${key}` });
    expect(left(await ask(5))).toBe(1);
    expect(left(await ask(5))).toBe(0);
    const refused = await ask(1);
    await expectError(refused, {
      status: 429,
      code: "rate_limit_exceeded",
      says: "Request limit reached: 2 requests a minute for this key; try again in 30 s",
    });
    expect((await started.ask("/chat/completions", chat)).status).toBe(200);
  });
});

interface Operation {
  security?: Record<string, unknown>[];
}

/** Counts of tokens have as many requests a minute again, because they are free. */
const countsApart = /\/(?:count_tokens|input_tokens|countTokens)$/;

describe("every endpoint for a key", () => {
  test("takes one of the requests per minute, whatever it answers, and then refuses", async () => {
    const described = await startInProcess({ env: { SANDBOX: "on" } });
    const { paths } = (await (await fetch(new URL("/openapi.json", described.baseUrl))).json()) as {
      paths: Record<string, Record<string, Operation>>;
    };
    await described.stop();
    const operations = Object.entries(paths)
      .filter(([path]) => path.startsWith("/v1/") && !countsApart.test(path))
      .flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))
      .filter(({ operation }) => operation.security === undefined || operation.security.some((one) => "key" in one))
      .map(({ path, method }) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, "nobody") }));
    expect(operations.length).toBeGreaterThan(15);
    const { baseUrl, key } = await start({ REQUESTS_PER_MINUTE: String(operations.length) });
    const send = async ({ method, path }: (typeof operations)[number]) => {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(method === "POST" && { "content-type": "application/json" }),
      };
      const body = method === "POST" ? "{" : undefined;
      const response = await fetch(new URL(path, baseUrl), { method, headers, ...(body !== undefined && { body }) });
      await response.text();
      return [method, path, response.status] as const;
    };
    const first: (readonly unknown[])[] = [];
    const second: (readonly unknown[])[] = [];
    for (const operation of operations) first.push(await send(operation));
    for (const operation of operations) second.push(await send(operation));
    expect(first.filter(([, , status]) => status === 429 || status === 401)).toEqual([]);
    expect(second.filter(([, , status]) => status !== 429)).toEqual([]);
  });

  test("has taken one when it answers with models, an unknown one, or the limits of the key", async () => {
    const { baseUrl, key } = await start();
    const used = async () => {
      const response = await fetch(`${baseUrl}/key`, { headers: { authorization: `Bearer ${key}` } });
      const { limits } = (await response.json()) as { limits: { requests_per_minute: { used: number } } };
      return [limits.requests_per_minute.used, left(response)];
    };
    expect(await used()).toEqual([1, limit - 1]);
    for (const [path, status] of [
      ["/models", 200],
      ["/models?limit=1", 200],
      [`/models/${model}`, 200],
      ["/models/nobody", 404],
      ["/key/usage", 400],
    ] as const) {
      const response = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${key}` } });
      await response.text();
      expect([path, response.status]).toEqual([path, status]);
    }
    expect(await used()).toEqual([7, limit - 7]);
  });
});
