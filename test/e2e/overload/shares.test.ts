import { afterEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { until } from "../../support/until.ts";

const isLong = process.env.LONG === "1";
const chat = { model: "famA-4.1-nano", messages: [{ role: "user", content: "Hello" }] };

let gateway: InProcessGateway;
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await gateway.stop();
});

async function start(env: Record<string, string> = {}) {
  gateway = await startInProcess({
    env: {
      SANDBOX: "on",
      REQUESTS_PER_MINUTE: "100000",
      TOKENS_PER_MINUTE: "100000000",
      FREE_TOKENS_PER_DAY: "100000000",
      OVERLOAD_LAG_MS: "0",
      ...env,
    },
  });
  const { accounts } = gateway.app;
  const createKey = async () => {
    const { id: accountId } = await accounts.create({ email: `${crypto.randomUUID()}@example.org` });
    return (await accounts.createKey({ accountId, name: "a key" })).key;
  };
  /** Makes a call with a key; resolves with its status. */
  const call = async (key: string) => {
    const response = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(chat),
    });
    await response.text();
    return response.status;
  };
  return { createKey, call };
}

/** A request whose body begins and does not end. */
class SlowSender {
  text = "";
  isClosed = false;
  readonly socket: Socket;

  /** @param start The head of the request, and how its body begins. */
  constructor(start: string) {
    const { hostname, port } = new URL(gateway.baseUrl);
    this.socket = connect(Number(port), hostname, () => this.socket.write(start));
    sockets.add(this.socket);
    this.socket.on("data", (bytes) => {
      this.text += bytes;
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.isClosed = true;
    });
  }

  get status(): number | undefined {
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(this.text) ?? [];
    return status === undefined ? undefined : Number(status);
  }
}

/** The start of a call with a key. */
const callOf = (key: string, framing: string, first = "{") =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n${first}`;

const declared = (bytes: number) => `content-length: ${bytes}`;

describe("a network whose bodies do not come, to endpoints without a key", () => {
  test.each(["/api/auth/sign-in/email", "/dashboard/api/invitations/account"])(
    "%s, is counted for their memory before they come",
    async (path) => {
      const { createKey, call } = await start({ MAX_BUFFERED_BODY_MB: "8" });
      const bytes = 250_000;
      const room = Math.floor((2 * 2 ** 20) / bytes);
      const { host, origin } = new URL(gateway.baseUrl);
      const head = `POST ${path} HTTP/1.1\r\nhost: ${host}\r\norigin: ${origin}\r\ncontent-type: application/json\r\n`;
      const senders = Array.from({ length: 3 * room }, () => new SlowSender(`${head}${declared(bytes)}\r\n\r\n{`));
      await until(() => senders.filter(({ status }) => status === 429).length === 2 * room);
      expect(gateway.app.memory.bytes).toBe(room * bytes);
      expect(await call(await createKey())).toBe(200);
      for (const { socket } of senders) socket.destroy();
      await until(() => gateway.app.memory.bytes === 0);
    },
  );
});

describe("an account whose bodies do not come", () => {
  test("has a share of the slots, and others are served", async () => {
    const { createKey, call } = await start({ MAX_CONCURRENT_CALLS: "200" });
    const [noisy, ...quiet] = await Promise.all(Array.from({ length: 21 }, createKey));
    const senders = Array.from({ length: 210 }, () => new SlowSender(callOf(noisy as string, declared(200_000))));
    const refused = () => senders.filter(({ status }) => status === 429).length;
    await until(() => refused() + gateway.app.loadShedder.openRequests === senders.length);
    expect(gateway.app.loadShedder.openRequests).toBe(100);
    for (let round = 0; round < 3; round++) {
      expect(await Promise.all(quiet.map(call))).toEqual(quiet.map(() => 200));
    }
    expect(await call(noisy as string)).toBe(429);
    for (const { socket } of senders) socket.destroy();
    await until(() => gateway.app.loadShedder.openRequests === 0 && gateway.app.memory.bytes === 0);
    expect(await call(noisy as string)).toBe(200);
  });

  test.each([
    ["of a declared length", declared(250_000), "{", 250_000],
    ["in chunks", "transfer-encoding: chunked", "1\r\n{\r\n", 256 * 1024],
  ])("%s, is counted for their memory before they come", async (_, framing, first, bytes) => {
    const { createKey, call } = await start({ MAX_BUFFERED_BODY_MB: "8" });
    const [noisy, quiet] = [await createKey(), await createKey()];
    // A quarter of all, as nothing of the account is paid for.
    const room = Math.floor((2 * 2 ** 20) / bytes);
    const senders = Array.from({ length: 3 * room }, () => new SlowSender(callOf(noisy, framing, first)));
    await until(() => senders.filter(({ status }) => status === 429).length === 2 * room);
    expect(gateway.app.memory.bytes).toBe(room * bytes);
    expect(await call(quiet)).toBe(200);
    for (const { socket } of senders) socket.destroy();
    await until(() => gateway.app.memory.bytes === 0);
  });

  test("gets 408, its connections closed, and its slots and memory back", async () => {
    const { createKey } = await start();
    const key = await createKey();
    const kinds = [
      [declared(100), "{", " "],
      ["transfer-encoding: chunked", "1\r\n{\r\n", "1\r\n \r\n"],
      ...(isLong ? [[declared(200_000), "{", " "]] : []),
    ] as [string, string, string][];
    const senders = kinds.flatMap(([framing, first, next]) =>
      Array.from({ length: 10 }, () => ({ sender: new SlowSender(callOf(key, framing, first)), next })),
    );
    await until(() => gateway.app.loadShedder.openRequests === senders.length);
    const timer = setInterval(() => {
      for (const { sender, next } of senders) sender.socket.write(next);
    }, 500);
    await until(() => senders.every(({ sender }) => sender.isClosed));
    clearInterval(timer);
    expect(senders.map(({ sender }) => sender.status)).toEqual(senders.map(() => 408));
    await until(() => gateway.app.loadShedder.openRequests === 0 && gateway.app.memory.bytes === 0);
  });
});
