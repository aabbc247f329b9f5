import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { completionOf } from "../../support/chunks.ts";
import { expectError } from "../../support/expect-error.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { answerOf, startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

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
        const sender = open(gateway, `${head(key, 8 * mebibyte)}{`);
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
      says: "no room in memory for so long an answer",
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
