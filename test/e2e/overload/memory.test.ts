import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { completionOf } from "../../support/chunks.ts";
import { expectError } from "../../support/expect-error.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { randomBelow } from "../../support/random.ts";
import { answerOf, startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";
import { completionOf as ownCompletion } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin } from "../../unit/kernel/support.ts";

const model = "famA-4.1";
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const mebibyte = 2 ** 20;
const toStop: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

/** A gateway whose provider answers every chat with so many characters. */
async function start(env: Record<string, string>, characters = 4) {
  const answer = answerOf(JSON.stringify(completionOf("x".repeat(characters), usage)), [
    "content-type: application/json",
  ]);
  const provider = await startRaw((socket) => void socket.write(answer));
  toStop.push(() => provider.stop());
  const gateway = await startInProcess({
    env: { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl, ...env },
  });
  toStop.push(() => gateway.stop());
  return gateway;
}

/** A raw connection that sends a text, and reads what comes back only when it is told to. */
function open({ baseUrl }: InProcessGateway, text: string) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname, () => socket.write(text));
  const read: Buffer[] = [];
  socket.on("error", () => undefined);
  toStop.push(() => socket.destroy());
  const listen = () => socket.on("data", (bytes) => void read.push(Buffer.from(bytes)));
  return { socket, listen, text: () => Buffer.concat(read).toString() };
}

const head = (key: string, length: number) =>
  `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-length: ${length}\r\n\r\n`;

describe("large bodies that arrive a byte at a time", () => {
  test("take no room from the bodies of others, and end with 408", async () => {
    const gateway = await start({ MAX_BUFFERED_BODY_MB: "32" });
    const slow = await Promise.all(
      [1, 2].map(async (index) => {
        const { id } = await gateway.app.accounts.create({ email: `poor-${index}@example.org` });
        const { key } = await gateway.app.accounts.createKey({ accountId: id, name: "test" });
        const sender = open(gateway, `${head(key, 10 * mebibyte)}{`);
        sender.listen();
        const timer = setInterval(() => sender.socket.write(" "), 500);
        toStop.push(() => clearInterval(timer));
        return sender;
      }),
    );
    await until(() => gateway.app.loadShedder.openRequests === 2);
    const content = "x".repeat(mebibyte);
    expect((await gateway.post("/chat/completions", { model, messages: [{ role: "user", content }] })).status).toBe(
      200,
    );
    await until(() => slow.every(({ text }) => text().includes("\r\n\r\n")));
    for (const { text } of slow) {
      expect(text()).toStartWith("HTTP/1.1 408 ");
      expect(text()).toContain("The body arrives too slowly");
    }
    expect(gateway.app.memory.bytes).toBe(0);
  });
});

test("a body of many short values counts as what they take, until its response begins, and a third has no room", async () => {
  const answer = Promise.withResolvers<void>();
  let running = 0;
  const chat = async () => {
    running++;
    await answer.promise;
    return ownCompletion("Fine");
  };
  const plugin = createPlugin({ chat }, { name: "openai" });
  const env = { OPENAI_API_KEY: "sk-upstream", MAX_BUFFERED_BODY_MB: "8" };
  const gateway = await startInProcess({ plugins: [plugin], env });
  toStop.push(() => gateway.stop());
  const values = 20_000;
  const extra = Array.from({ length: values }, () => ({}));
  const ask = () =>
    gateway.post("/chat/completions", {
      model: chatModel.id,
      extra,
      messages: [{ role: "user", content: "Hi" }],
    });
  const asked = [ask()];
  await until(() => running === 1);
  expect(gateway.app.memory.bytes).toBeWithin(64 * values, 100 * values);
  asked.push(ask());
  await until(() => running === 2);
  await expectError(await ask(), { status: 429, code: "rate_limit_exceeded", says: "which leaves no room for" });
  answer.resolve();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200]);
  await until(() => gateway.app.memory.bytes === 0);
});

describe("a whole answer of a provider", () => {
  test("counts as it grows, and until its client has taken it", async () => {
    const gateway = await start({ MAX_BUFFERED_BODY_MB: "96" }, 12 * mebibyte);
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] });
    const readers = [];
    for (const count of [1, 2]) {
      readers.push(open(gateway, head(gateway.key, body.length) + body));
      await until(() => gateway.app.memory.bytes > count * 12 * mebibyte && gateway.app.loadShedder.openRequests === 0);
    }
    const response = await gateway.post("/chat/completions", JSON.parse(body));
    await expectError(response, {
      status: 500,
      code: "upstream_error",
      says: "not have enough free memory for a response of this size",
    });
    for (const { socket } of readers) socket.destroy();
    await until(() => gateway.app.memory.bytes === 0);
    const whole = await gateway.post("/chat/completions", JSON.parse(body));
    expect((await whole.text()).length).toBeGreaterThan(12 * mebibyte);
    await until(() => gateway.app.memory.bytes === 0);
  });

  test("that would be too long by its probabilities is refused before its provider is asked", async () => {
    const gateway = await start({});
    const asked = { model, messages: [{ role: "user", content: "Hello" }], logprobs: true, top_logprobs: 20, n: 128 };
    await expectError(await gateway.post("/chat/completions", { ...asked, max_tokens: 2000 }), {
      status: 400,
      says: "With logprobs 256000 tokens may take 376320000 bytes",
    });
    expect(gateway.ledger.counts()).toEqual({ calls: 0, open: 0 });
    expect((await gateway.post("/chat/completions", { ...asked, max_tokens: 500 })).status).toBe(200);
  });
});

describe("the stored answer of an Idempotency-Key", () => {
  test("is sent to so many at once, counted until each has taken it, and then to the next", async () => {
    const gateway = await start({ MAX_BUFFERED_BODY_MB: "1024" }, 6 * mebibyte);
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] });
    const keyed = head(gateway.key, body.length).replace("\r\n\r\n", "\r\nidempotency-key: one\r\n\r\n") + body;
    const ask = () =>
      fetch(`${gateway.baseUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.key}`, "idempotency-key": "one" },
        body,
      });
    const first = await (await ask()).text();
    await until(() => gateway.app.memory.bytes === 0);
    const readers = Array.from({ length: 40 }, () => open(gateway, keyed));
    await until(() => gateway.app.memory.bytes === 16 * first.length && gateway.app.loadShedder.openRequests === 0);
    await expectError(await ask(), { status: 429, code: "rate_limit_exceeded", says: "to 16 other requests" });
    for (const { socket } of readers) socket.destroy();
    await until(() => gateway.app.memory.bytes === 0);
    expect(await (await ask()).text()).toBe(first);
    await until(() => gateway.app.memory.bytes === 0);
    expect(gateway.ledger.counts()).toEqual({ calls: 1, open: 0 });
  });
});

/** A gateway that draws pictures of so many bytes, which are answered as URLs. */
async function startDrawing(env: Record<string, string>, bytes: number) {
  const { contextTokens: _, outputTokensMax: __, ...plain } = chatModel;
  const row = { ...plain, id: "image-1", capability: "images" as const, price: { image: { usd: "0.04", per: 1 } } };
  const images = async () => ({ images: [{ data: new Uint8Array(bytes), mediaType: "image/png" }] });
  const plugin = createPlugin({ images }, { models: [row], name: "openai" });
  const gateway = await startInProcess({ plugins: [plugin], env: { OPENAI_API_KEY: "sk-upstream", ...env } });
  toStop.push(() => gateway.stop());
  const draw = () => gateway.post("/images/generations", { model: "image-1", prompt: "A kite" });
  return { gateway, draw };
}

describe("a file that is read without a key", () => {
  test("is in memory once for all who are sent it, and for each as much as a socket takes", async () => {
    const { gateway, draw } = await startDrawing({}, 9 * mebibyte);
    const { data } = await (await draw()).json();
    const { pathname, search } = new URL(data[0].url);
    let reads = 0;
    const { blobs } = gateway.store;
    const { get } = blobs;
    blobs.get = (id) => {
      reads++;
      return get(id);
    };
    const request = `GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`;
    const readers = Array.from({ length: 100 }, () => open(gateway, request));
    await until(() => gateway.app.memory.bytes === 9 * mebibyte + 100 * 128 * 1024);
    expect(reads).toBe(1);
    for (const { socket } of readers) socket.destroy();
    await until(() => gateway.app.memory.bytes === 0);
    expect(await (await fetch(data[0].url)).bytes()).toHaveLength(9 * mebibyte);
    await until(() => gateway.app.memory.bytes === 0);
    expect(reads).toBe(2);
  });

  test("is sent to no more connections of a network than there is room for", async () => {
    const { gateway, draw } = await startDrawing({ MAX_BUFFERED_BODY_MB: "32" }, 6 * mebibyte);
    const { data } = await (await draw()).json();
    const { pathname, search } = new URL(data[0].url);
    const request = `GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`;
    const readers = Array.from({ length: 40 }, () => open(gateway, request));
    // A quarter of all: the file, and 16 connections.
    await until(() => gateway.app.memory.bytes === 8 * mebibyte);
    const refused = await fetch(data[0].url);
    await expectError(refused, { status: 429, code: "rate_limit_exceeded", says: "The network's other requests hold" });
    for (const { socket } of readers) socket.destroy();
    await until(() => gateway.app.memory.bytes === 0);
  });

  test("is bounded for each account on the disk, before the next one is paid for", async () => {
    const { gateway, draw } = await startDrawing({ FILES_MAX_MB: "1" }, 700_000);
    expect(Object.keys((await (await draw()).json()).data[0])).toEqual(["url"]);
    // There is room for a picture, and not for this one: it is paid for, so it is in the answer.
    expect(Object.keys((await (await draw()).json()).data[0])).toEqual(["b64_json"]);
    await gateway.store.blobs.put((await gateway.app.accounts.list())[0]?.id as string, {
      mediaType: "image/png",
      bytes: new Uint8Array(400_000),
      expiresAt: Date.now() + 60_000,
    });
    await expectError(await draw(), { status: 429, param: "response_format", says: "it may store 1048576" });
    expect(gateway.ledger.counts()).toEqual({ calls: 2, open: 0 });
    const asked = { model: "image-1", prompt: "A kite", response_format: "b64_json" };
    expect((await gateway.post("/images/generations", asked)).status).toBe(200);
  });
});

/** A gateway that makes responses of its own, which it stores. */
async function startStoring(env: Record<string, string>) {
  const plugin = createPlugin({ chat: async () => ownCompletion("Fine") }, { name: "openai" });
  const gateway = await startInProcess({ plugins: [plugin], env: { OPENAI_API_KEY: "sk-upstream", ...env } });
  toStop.push(() => gateway.stop());
  const create = async (input: unknown) =>
    (await (await gateway.post("/responses", { model: "chat-1", input })).json()).id as string;
  return { gateway, create };
}

describe("a stored response", () => {
  const asks = ["GET", "DELETE"].flatMap((method) => [[method, ""]]).concat([["GET", "/input_items?limit=1"]]);

  test.each(asks)("is a request for each %s of it%s, found or not", async (method, rest) => {
    const { gateway, create } = await startStoring({ REQUESTS_PER_MINUTE: "20" });
    const id = await create("Hello");
    const headers = { authorization: `Bearer ${gateway.key}` };
    const statuses: number[] = [];
    for (let count = 0; count < 60; count++) {
      statuses.push((await fetch(`${gateway.baseUrl}/responses/${id}${rest}`, { method, headers })).status);
    }
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(20);
    expect(statuses[0]).toBe(200);
  });

  test("is counted while it is read and sent, and its input is read only for those who ask for that", async () => {
    const { gateway, create } = await startStoring({ MAX_BUFFERED_BODY_MB: "64" });
    const id = await create([{ role: "user", content: "x".repeat(3 * mebibyte) }]);
    await until(() => gateway.app.memory.bytes === 0);
    const headers = { authorization: `Bearer ${gateway.key}` };
    const ask = (rest: string) => fetch(`${gateway.baseUrl}/responses/${id}${rest}`, { headers });
    // While it is read it takes three times its length, of a quarter of all for an account that has no call that runs.
    const asked = Array.from({ length: 30 }, () => ask("/input_items?limit=1"));
    asked.push(ask(""));
    const answers = await Promise.all(asked);
    const refused = answers.filter(({ status }) => status === 429);
    expect([refused.length > 0, refused.length < 30, answers.at(-1)?.status]).toEqual([true, true, 200]);
    await expectError(refused[0] as Response, { status: 429, says: "The account's other requests hold" });
    for (const { body } of answers.slice(0, -1)) await body?.cancel().catch(() => undefined);
    await until(() => gateway.app.memory.bytes === 0);
    expect((await (await ask("/input_items")).json()).data[0].content[0].text).toHaveLength(3 * mebibyte);
    await until(() => gateway.app.memory.bytes === 0);
  });
});

test("whatever requests end in whatever way, nothing is counted at the end", async () => {
  const below = randomBelow(11);
  const gateway = await start({ MAX_BUFFERED_BODY_MB: "16" }, mebibyte);
  const content = "x".repeat(mebibyte);
  const asked = { model, messages: [{ role: "user", content }] };
  const bodies = [
    asked,
    { ...asked, stream: true },
    { ...asked, model: "nobody" },
    { ...asked, messages: [] },
    { model, messages: [{ role: "user", content: "Hello" }] },
  ].map((body) => JSON.stringify(body));
  const post = (body: string, headers = "") =>
    head(gateway.key, Buffer.byteLength(body)).replace("\r\n\r\n", `\r\n${headers}\r\n`) + body;
  const requests = [
    ...bodies.map((body) => post(body)),
    ...bodies.map((body, index) => post(body, `idempotency-key: ${index}\r\n`)),
    `GET /api/v1/responses/none HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`,
    `${post(bodies[0] as string).slice(0, 400_000)}`,
    "GET /api/v1/files/none?expires=1&signature=x HTTP/1.1\r\nhost: x\r\n\r\n",
  ];
  const ends = Array.from({ length: 120 }, async () => {
    await Bun.sleep(below(1500));
    const reader = open(gateway, requests[below(requests.length)] as string);
    if (below(2) === 0) reader.listen();
    await Bun.sleep(below(600));
    reader.socket.destroy();
  });
  await Promise.all(ends);
  await until(() => gateway.app.memory.bytes === 0 && gateway.app.loadShedder.openRequests === 0);
  expect((await gateway.post("/chat/completions", asked)).status).toBe(200);
  await until(() => gateway.app.memory.bytes === 0);
});
