import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError, type Ledger, UpstreamError } from "../../../../src/contract/index.ts";
import { openStore } from "../../../../src/db/index.ts";
import { type ChatChunk, fromIterable } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { completionOf, FakeStream, finishChunk, textChunk, usageChunk } from "../../kernel/streams.ts";
import { createPlugin } from "../../kernel/support.ts";
import { helloPlugin, httpOf, messages } from "../support.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-http-"));
const store = await openStore({ file: join(folder, "modelgate.db") });
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const chat = { model: "chat-1", messages };
const streamed = { ...chat, stream: true };
let keys = 0;
/** A key that no other test uses: they share a store. */
const newKey = () => ({ "idempotency-key": `key-${++keys}` });
const idOf = (response: Response) => response.headers.get("x-request-id");
const isReplayed = (response: Response) => response.headers.get("idempotent-replayed") === "true";

test("a repeated request gets the stored answer, is not run again and not charged again", async () => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  const key = newKey();
  const first = await post("chat/completions", chat, key);
  const text = await first.text();
  const second = await post("chat/completions", chat, { ...key, "x-request-id": "mine" });
  expect([await second.text(), second.status, idOf(second)]).toEqual([text, 200, idOf(first)]);
  expect([isReplayed(first), isReplayed(second)]).toEqual([false, true]);
  expect(second.headers.get("content-type")).toBe(first.headers.get("content-type"));
  expect(second.headers.get("x-client-request-id")).toBe("mine");
  expect([first, second].map(({ headers }) => headers.get("x-modelgate-cost-usd"))).toEqual(["0.00014", null]);
  expect([ledger.claims.length, ledger.settlements.length]).toEqual([1, 1]);
});

test("requests without the header are all run", async () => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  for (const _ of [1, 2]) await (await post("chat/completions", chat)).text();
  expect(ledger.settlements.length).toBe(2);
});

test("another body with the same key is refused for good; another endpoint is another request", async () => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  const key = newKey();
  await (await post("chat/completions", chat, key)).text();
  const other = await post("chat/completions", { ...chat, max_tokens: 5 }, key);
  expect(other.headers.get("x-should-retry")).toBe("false");
  await expectError(other, { status: 409, code: "conflict", param: "Idempotency-Key" });
  const answer = await post("responses", { model: "chat-1", input: "Say hello" }, key);
  expect([answer.status, isReplayed(answer)]).toEqual([200, false]);
  await answer.text();
  expect(ledger.settlements.length).toBe(2);
});

test.each(["", "a".repeat(256), "\u00e9"])("the key '%s' is refused", async (key) => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  await expectError(await post("chat/completions", chat, { "idempotency-key": key }), { status: 400 });
  expect(ledger.claims).toEqual([]);
});

test("a stream is sent piece by piece and replayed as equal bytes", async () => {
  const source = new FakeStream<ChatChunk>(textChunk("Hel"), textChunk("lo"), finishChunk(), usageChunk());
  const { post, ledger } = httpOf([createPlugin({ chat: async () => source })], { store });
  const key = newKey();
  const text = await (await post("chat/completions", streamed, key)).text();
  expect(text).toEndWith("data: [DONE]\n\n");
  const second = await post("chat/completions", streamed, key);
  expect([await second.text(), isReplayed(second)]).toEqual([text, true]);
  expect(second.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(ledger.settlements.length).toBe(1);
});

test("a stream whose client leaves goes on, and a repeated request joins it", async () => {
  const goOn = Promise.withResolvers<void>();
  async function* chunks() {
    yield textChunk("Hel");
    await goOn.promise;
    yield* [textChunk("lo"), finishChunk(), usageChunk()];
  }
  const { post, ledger } = httpOf([createPlugin({ chat: async () => fromIterable(chunks()) })], { store });
  const key = newKey();
  const reader = ((await post("chat/completions", streamed, key)).body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  expect(Buffer.from(value as Uint8Array).toString()).toContain("Hel");
  await reader.cancel();
  const joining = post("chat/completions", streamed, key);
  goOn.resolve();
  const joined = await joining;
  const text = await joined.text();
  expect([isReplayed(joined), text.includes("lo"), text.endsWith("data: [DONE]\n\n")]).toEqual([true, true, true]);
  expect(ledger.settlements.map(({ status }) => status)).toEqual([200]);
});

test("16 equal requests at once are one call with 16 equal answers", async () => {
  let calls = 0;
  const plugin = createPlugin({
    async chat() {
      calls++;
      await Bun.sleep(20);
      return completionOf("Hello");
    },
  });
  const { post, ledger } = httpOf([plugin], { store });
  const key = newKey();
  const responses = await Promise.all(Array.from({ length: 16 }, () => post("chat/completions", chat, key)));
  const texts = await Promise.all(responses.map((response) => response.text()));
  expect(new Set(texts).size).toBe(1);
  expect([responses.filter(isReplayed).length, calls, ledger.settlements.length]).toEqual([15, 1, 1]);
});

test("a failure that costs nothing is not stored: the same request may be tried again", async () => {
  let calls = 0;
  const plugin = createPlugin({
    async chat() {
      if (calls++ === 0) throw new UpstreamError("rate_limited", "Slow down");
      return completionOf("Hello");
    },
  });
  const { post } = httpOf([plugin], { store });
  const key = newKey();
  await expectError(await post("chat/completions", chat, key), { status: 429 });
  const second = await post("chat/completions", chat, key);
  expect([second.status, isReplayed(second)]).toEqual([200, false]);
  await second.text();
});

test("a refused request may be corrected under the same key", async () => {
  const { post } = httpOf([helloPlugin], { store });
  const key = newKey();
  await expectError(await post("chat/completions", { ...chat, model: "nobody" }, key), { status: 400 });
  expect((await post("chat/completions", chat, key)).status).toBe(200);
});

test("a stream that fails after it was charged is replayed with its failure", async () => {
  const source = new FakeStream<ChatChunk>(textChunk("Hello"), new UpstreamError("bad_response", "The line is dead"));
  const { post, ledger } = httpOf([createPlugin({ chat: async () => source })], { store });
  const key = newKey();
  const text = await (await post("chat/completions", streamed, key)).text();
  expect(text).toContain("The line is dead");
  expect(await (await post("chat/completions", streamed, key)).text()).toBe(text);
  expect(ledger.settlements.map(({ outcome }) => outcome)).toEqual(["settled"]);
});

test("a failure that was charged is replayed with its status", async () => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  ledger.settleFailure = new Error("disk full");
  const key = newKey();
  const [first, second] = [await post("chat/completions", chat, key), await post("chat/completions", chat, key)];
  expect([second.status, idOf(second), isReplayed(second)]).toEqual([500, idOf(first), true]);
  expect(await second.json()).toEqual(await first.json());
  expect(ledger.settlements.length).toBe(1);
});

test.each([
  ["that asks not to be stored", { ...chat, store: false }, "Hello"],
  ["larger than 8 MB", chat, "a".repeat(9 * 2 ** 20)],
])("an answer %s is sent once; the repeated request is refused and not charged", async (_, body, text) => {
  const { post, ledger } = httpOf([createPlugin({ chat: async () => completionOf(text) })], { store });
  const key = newKey();
  const first = await post("chat/completions", body, key);
  expect((await first.json()).choices[0].message.content).toBe(text);
  const second = await post("chat/completions", body, key);
  expect(second.headers.get("x-should-retry")).toBe("false");
  expect((await second.clone().json()).error.message).toContain(idOf(first) as string);
  await expectError(second, { status: 409, code: "conflict" });
  expect(ledger.settlements.length).toBe(1);
});

test("repeated requests count against the limit of requests, and no first one does so twice", async () => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  const counted: string[] = [];
  const count = ledger.countRequest.bind(ledger);
  (ledger as Ledger).countRequest = (callId) => {
    counted.push(callId);
    return count();
  };
  const key = newKey();
  for (const _ of [1, 2, 3]) await (await post("chat/completions", chat, key)).text();
  expect([counted.length, new Set(counted).size]).toEqual([2, 2]);
});

test("a caller without money cannot have claims written beyond the limit of requests", async () => {
  const { post, ledger } = httpOf([helloPlugin], { store });
  ledger.refusal = new GatewayError("insufficient_balance", "The wallet is empty");
  let left = 2;
  const limits = await ledger.readLimitState();
  ledger.readLimitState = async () => ({ ...limits, remainingRequests: left });
  ledger.countRequest = async () => {
    if (left-- < 1) throw new GatewayError("rate_limit_exceeded", "Too many requests");
    return limits;
  };
  const statuses: number[] = [];
  for (const _ of [1, 2, 3, 4]) statuses.push((await post("chat/completions", chat, newKey())).status);
  expect(statuses).toEqual([403, 403, 429, 429]);
});

test("a request that runs for longer than the wait is answered with when to ask again", async () => {
  const { post, clock } = httpOf([createPlugin({ chat: async () => new Promise(() => undefined) })], { store });
  const key = newKey();
  void post("chat/completions", chat, key);
  const second = post("chat/completions", chat, key);
  await Bun.sleep(20);
  clock.nowMs += 30_000;
  const response = await second;
  expect([response.headers.get("retry-after"), response.headers.get("x-should-retry")]).toEqual(["2", null]);
  await expectError(response, { status: 409, code: "conflict" });
});

test("a claim that is written too late for its request is given up", async () => {
  const { post, deps } = httpOf([helloPlugin], { store });
  const { idempotencyKeys } = store;
  const [goOn, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const claim: typeof idempotencyKeys.claim = async (request) => {
    await goOn.promise;
    return idempotencyKeys.claim(request);
  };
  const release: typeof idempotencyKeys.release = async (request) => {
    await idempotencyKeys.release(request);
    released.resolve();
  };
  Object.defineProperty(deps.store, "idempotencyKeys", {
    value: { ...idempotencyKeys, claim, release },
    configurable: true,
  });
  const key = newKey();
  await expectError(await post("chat/completions", chat, key), { status: 503, code: "unavailable" });
  goOn.resolve();
  await released.promise;
  const second = await post("chat/completions", chat, key);
  expect([second.status, isReplayed(second)]).toEqual([200, false]);
  await second.text();
});
