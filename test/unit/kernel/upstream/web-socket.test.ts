import { afterEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createServer as createProxy } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import type { UpstreamError } from "../../../../src/contract/index.ts";
import type { Route } from "../../../../src/kernel/routing/registry.ts";
import { ConnectionError, createHeaders } from "../../../../src/kernel/upstream/http-client.ts";
import type { UpstreamBounds } from "../../../../src/kernel/upstream/network.ts";
import { SsrfGuard } from "../../../../src/kernel/upstream/ssrf-guard.ts";
import { BoundUpstream } from "../../../../src/kernel/upstream/upstream.ts";
import { createOpenWebSocket, type WebSocketRequest } from "../../../../src/kernel/upstream/web-socket.ts";
import { opcodes, writeClose, writeFrame, writeMessage } from "../../../../src/lib/web-socket.ts";
import type { WebSocketMessage, WebSocketOptions } from "../../../../src/provider/index.ts";
import { makeCertificates } from "../../../support/certificates.ts";
import { errorOf } from "../../../support/error-of.ts";
import { until } from "../../../support/until.ts";
import { attemptOf, createBench, createPlugin, upstreamErrorOf } from "../support.ts";

const plugin = createPlugin(
  { chat: () => Promise.reject(new Error("not asked")) },
  { hosts: ["speech.acme.example"], authorize: (_, { key }) => ({ authorization: `Bearer ${key}` }) },
);
const secret = "acme-0123456789-abcdef";
const route = createBench([plugin], { credentials: { acme: { keys: [secret] } } }).kernel.registry.byName("chat-1")
  ?.routes[0] as Route;
const certificates = makeCertificates();
if (certificates === undefined) console.log("WebSockets over TLS are not tested: there is no openssl command");

const toStop: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of toStop.splice(0)) await stop();
});

/** A handshake as a server got it, and its connection. */
interface Opened {
  head: string;
  socket: Socket;
  /** The bytes that the client has sent since. */
  received: Buffer[];
}

/** A server that answers a handshake with what it is told: by default it accepts, and sends these frames. */
async function startServer(...frames: Uint8Array[]) {
  const opened: Opened[] = [];
  const answer = { head: undefined as string | undefined, frames };
  const server = createServer((socket) => {
    let text = "";
    let connection: Opened | undefined;
    socket.on("error", () => socket.destroy());
    socket.on("data", (bytes) => {
      if (connection !== undefined) return void connection.received.push(bytes as Buffer);
      text += bytes.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      connection = { head: text, socket, received: [] };
      opened.push(connection);
      if (answer.head === "") return;
      socket.write(answer.head ?? acceptOf(text));
      if (answer.head === undefined) for (const frame of answer.frames) socket.write(frame);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  toStop.push(() => {
    for (const { socket } of opened) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { port, opened, answer, baseUrl: `http://127.0.0.1:${port}/v1` };
}

function acceptOf(head: string, more = ""): string {
  const key = /sec-websocket-key: (\S+)/i.exec(head)?.[1];
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
  const first = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade";
  return `${first}\r\nsec-websocket-accept: ${accept}\r\n${more}\r\n`;
}

function upstreamOf(baseUrl: string, bounds: Partial<UpstreamBounds> = {}) {
  const { network, clock } = createBench([plugin], { bounds });
  const attempt = attemptOf({ ...route, baseUrl });
  return { upstream: new BoundUpstream(network, attempt), clock, attempt, run: attempt.run };
}

async function readAll(messages: AsyncIterable<WebSocketMessage>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const message of messages) all.push(typeof message === "string" ? message : [...message]);
  return all;
}

/** Opens a WebSocket to a server that sends these frames and reads it to its end. */
async function readFrames(frames: Uint8Array[], options?: WebSocketOptions, bounds?: Partial<UpstreamBounds>) {
  const { baseUrl } = await startServer(...frames);
  const { upstream, run } = upstreamOf(baseUrl, bounds);
  const socket = await upstream.webSocket("/speak", options);
  const messages: WebSocketMessage[] = [];
  const reading = (async () => {
    for await (const message of socket) messages.push(message);
  })();
  const error = await reading.then(
    () => undefined,
    (thrown: UpstreamError) => thrown,
  );
  return { messages, error, run };
}

const text = (message: string) => writeMessage(message, false);
const closeOf = (code: number, reason = "") =>
  writeFrame(opcodes.close, new Uint8Array([code >> 8, code & 255, ...new TextEncoder().encode(reason)]), false);

describe("a WebSocket to a provider", () => {
  test("carries text and bytes both ways, with the key and the headers of the plugin", async () => {
    const seen: { path: string; headers: Record<string, string> }[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request, self) {
        seen.push({
          path: request.url.slice(request.url.indexOf("/v1")),
          headers: Object.fromEntries(request.headers),
        });
        return self.upgrade(request, { headers: { "sec-websocket-protocol": "speech" } })
          ? undefined
          : new Response("", { status: 400 });
      },
      websocket: {
        perMessageDeflate: true,
        message(socket, message) {
          if (message === "end") socket.close(1000);
          else socket.send(message);
        },
      },
    });
    toStop.push(() => server.stop(true));
    const { upstream } = upstreamOf(`http://127.0.0.1:${server.port}/v1`);
    const socket = await upstream.webSocket("/speak?a=b", {
      headers: { "x-version": "2" },
      protocols: ["speech", "other"],
    });
    expect(socket.protocol).toBe("speech");
    const long = new Uint8Array(70_000).fill(3);
    for (const message of ["héé€😀", new Uint8Array([1, 2, 3]), "", long, "end"]) await socket.send(message);
    expect(await readAll(socket)).toEqual(["héé€😀", [1, 2, 3], "", [...long]]);
    const [{ path, headers } = { path: "", headers: {} as Record<string, string> }] = seen;
    expect(path).toBe("/v1/speak?a=b");
    expect(headers).toMatchObject({ authorization: "Bearer key-a", "x-version": "2", "user-agent": "modelgate" });
    // Compression is not offered, so that a small frame is never a large message.
    expect(headers).not.toHaveProperty("sec-websocket-extensions");
  });

  test("gives thousands of tiny messages in their order", async () => {
    const frames = new Uint8Array(Buffer.concat(Array.from({ length: 20_000 }, (_, at) => text(String(at)))));
    const { messages, error } = await readFrames([frames, closeOf(1000)]);
    expect([messages.length, messages.at(-1), error]).toEqual([20_000, "19999", undefined]);
  });

  test("answers pings, and a close with a close", async () => {
    const { baseUrl, opened } = await startServer(writeFrame(opcodes.ping, new Uint8Array([7]), false), text("a"));
    const reading = readAll(await upstreamOf(baseUrl).upstream.webSocket("/speak"));
    await until(() => opened[0]?.received.length === 1);
    opened[0]?.socket.write(closeOf(1000));
    expect(await reading).toEqual(["a"]);
    await until(() => opened[0]?.socket.destroyed === true);
    const bytes = Buffer.concat(opened[0]?.received ?? []);
    expect([bytes[0], bytes[1]]).toEqual([0x80 | opcodes.pong, 0x80 | 1]);
    expect([bytes[7], bytes[8]]).toEqual([0x80 | opcodes.close, 0x80 | 2]);
  });

  test("that its plugin leaves early, or closes, is closed at the provider", async () => {
    const { baseUrl, opened } = await startServer(text("a"), text("b"));
    const { upstream, clock, run } = upstreamOf(baseUrl);
    for await (const message of await upstream.webSocket("/speak")) {
      expect(message).toBe("a");
      break;
    }
    const socket = await upstream.webSocket("/speak");
    socket.close();
    socket.close();
    await until(() => opened.length === 2 && opened.every((one) => one.socket.destroyed));
    expect((await errorOf(socket.send("late"))).message).toContain("the WebSocket is closed");
    clock.pass(10 ** 9);
    expect(run.call.cancelReason).toBeUndefined();
  });

  test("ends with its attempt: what a plugin left open is cut", async () => {
    const { baseUrl, opened } = await startServer(text("a"));
    const { upstream, attempt } = upstreamOf(baseUrl);
    expect(attempt.hasSocket).toBe(false);
    await upstream.webSocket("/speak");
    expect(attempt.hasSocket).toBe(true);
    attempt.abort();
    await until(() => opened[0]?.socket.destroyed === true);
  });
});

describe("the handshake of a WebSocket", () => {
  test.each([
    [400, "bad_request"],
    [401, "auth"],
    [403, "auth"],
    [404, "model_not_found"],
    [429, "rate_limited"],
    [500, "server_error"],
    [503, "overloaded"],
  ])("that is refused with %d is a refusal like that of a request, and costs nothing", async (status, kind) => {
    const { baseUrl, answer } = await startServer();
    const body = JSON.stringify({ error: { message: `${secret} is not wanted`, type: null, param: null, code: null } });
    answer.head = `HTTP/1.1 ${status} No\r\ncontent-type: application/json\r\nretry-after: 3\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const { upstream, run } = upstreamOf(baseUrl);
    const error = await upstreamErrorOf(upstream.webSocket("/speak"));
    expect([error.kind, error.status]).toEqual([kind as never, status]);
    if (status === 429) expect(error.retryAfterMs).toBe(3000);
    expect(error.providerMessage).not.toContain(secret);
    expect(run.sent.size).toBe(0);
  });

  test("is not followed where it redirects", async () => {
    const { baseUrl, answer, opened } = await startServer();
    answer.head = `HTTP/1.1 302 Found\r\nlocation: ${baseUrl}/elsewhere\r\ncontent-length: 0\r\n\r\n`;
    const error = await upstreamErrorOf(upstreamOf(baseUrl).upstream.webSocket("/speak"));
    expect([error.kind, error.status, opened.length]).toEqual(["bad_response", 302, 1]);
  });

  test("that is answered like a request is broken", async () => {
    const { baseUrl, answer } = await startServer();
    answer.head = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    const error = await upstreamErrorOf(upstreamOf(baseUrl).upstream.webSocket("/speak"));
    expect(error.message).toBe("The provider answered with status 200, expected a WebSocket");
  });

  test.each<[string, (head: string) => string, readonly string[]]>([
    ["a wrong proof", () => acceptOf("sec-websocket-key: other"), []],
    [
      "compression, which was not offered",
      (head) => acceptOf(head, "sec-websocket-extensions: permessage-deflate\r\n"),
      [],
    ],
    ["a subprotocol that was not offered", (head) => acceptOf(head, "sec-websocket-protocol: b\r\n"), ["a"]],
    ["none of the subprotocols", (head) => acceptOf(head), ["a"]],
  ])("that has %s is broken, and its connection closed", async (_, accept, protocols) => {
    const { baseUrl, answer, opened } = await startServer();
    answer.head = "";
    const opening = upstreamErrorOf(upstreamOf(baseUrl).upstream.webSocket("/speak", { protocols }));
    await until(() => opened.length === 1);
    opened[0]?.socket.write(accept(opened[0].head));
    expect((await opening).message).toContain("The provider's WebSocket handshake ");
    await until(() => opened[0]?.socket.destroyed === true);
  });

  test("that nobody takes was not sent", async () => {
    const { baseUrl } = await startServer();
    await toStop.pop()?.();
    const { upstream, run } = upstreamOf(baseUrl);
    const error = await upstreamErrorOf(upstream.webSocket("/speak"));
    expect(error).toBeInstanceOf(ConnectionError);
    expect([error.message, upstream.wasSent, run.sent.size]).toEqual([
      "Cannot connect to the provider: connection refused",
      false,
      0,
    ]);
  });

  test.each(["https://other.example/a", "wss://other.example/a", "ws://acme.example/a", "relative"])(
    "goes to no host that the plugin does not declare: %s",
    async (url) => {
      const { network } = createBench([plugin]);
      const upstream = new BoundUpstream(
        { ...network, openWebSocket: () => Promise.reject(new Error("asked")) },
        attemptOf(route),
      );
      expect((await errorOf(upstream.webSocket(url))).message).toStartWith("Cannot ask ");
    },
  );

  test("goes to a declared host by a whole URL, with the same key", async () => {
    const asked: WebSocketRequest[] = [];
    const { network } = createBench([plugin]);
    const openWebSocket = async (request: WebSocketRequest) => {
      asked.push(request);
      return new Response("", { status: 500 });
    };
    const upstream = new BoundUpstream({ ...network, openWebSocket }, attemptOf(route));
    await errorOf(upstream.webSocket("wss://speech.acme.example/speak"));
    expect(asked.map(({ url, headers }) => [url.href, headers.authorization])).toEqual([
      ["https://speech.acme.example/speak", "Bearer key-a"],
    ]);
  });

  test.each([
    ["when it is checked", [["10.0.0.1"]]],
    ["when it is connected, although it was public before", [["93.184.216.34"], ["10.0.0.1"]]],
    ["in one of its addresses", [["93.184.216.34"], ["93.184.216.34", "10.0.0.1"]]],
  ])("of a host that is private %s is not sent", async (_, lookups) => {
    const { network, clock } = createBench([plugin]);
    let count = 0;
    const guard = new SsrfGuard(async () => lookups[Math.min(count++, lookups.length - 1)] as string[], clock.now);
    const attempt = attemptOf(route);
    const error = await upstreamErrorOf(new BoundUpstream({ ...network, guard }, attempt).webSocket("/speak"));
    expect(error.code).toBe("private_address");
    expect([count, attempt.run.sent.size]).toEqual([lookups.length, 0]);
  });

  test.each(["Sec-WebSocket-Key", "sec-websocket-extensions", "Sec-WebSocket-Protocol", "Upgrade", "Host"])(
    "has the header %s from the gateway alone",
    async (name) => {
      const { baseUrl, opened } = await startServer();
      const opening = upstreamOf(baseUrl).upstream.webSocket("/speak", { headers: { [name]: "x" } });
      expect((await errorOf(opening)).message).toContain("only the gateway sets it");
      expect(opened).toEqual([]);
    },
  );
});

describe.skipIf(certificates === undefined)("a WebSocket over TLS", () => {
  const { ca, key, foreignCert } = certificates ?? { ca: "", key: "", foreignCert: "" };
  const host = "elsewhere.example";

  function startTls() {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { key, cert: foreignCert },
      fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("", { status: 400 })),
      websocket: { message: () => undefined, open: (socket) => void socket.send("hello") },
    });
    toStop.push(() => server.stop(true));
    return server.port as number;
  }

  const requestTo = (port: number, addresses: string[] | undefined): WebSocketRequest => ({
    url: new URL(`https://${host}:${port}/`),
    headers: createHeaders(),
    protocols: [],
    signal: new AbortController().signal,
    findAddresses: async () => addresses,
  });

  test("goes to the addresses that were checked, and is verified for the name", async () => {
    const connection = await createOpenWebSocket({ ca })(requestTo(startTls(), ["127.0.0.1"]));
    if (connection instanceof Response) throw new Error("It was refused");
    const { value } = await connection.frames.getReader().read();
    expect(new TextDecoder().decode(value?.subarray(2))).toBe("hello");
    connection.end(writeClose(1000));
  });

  test("is not opened where the certificate is of no known authority", async () => {
    const error = await errorOf(createOpenWebSocket()(requestTo(startTls(), ["127.0.0.1"])));
    expect(error.message).toStartWith("Cannot connect to the provider: certificate not accepted");
  });

  test("goes through a proxy, which gets the name, and directly where NO_PROXY has it", async () => {
    const port = startTls();
    const tunnels: string[] = [];
    const proxy = createProxy((_, response) => response.writeHead(500).end());
    proxy.on("connect", ({ url = "" }, socket) => {
      tunnels.push(url);
      const upstream = connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [upstream, socket]) end.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    toStop.push(() => proxy.close());
    const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`;
    for (const [proxyEnv, through] of [
      [{ HTTPS_PROXY }, [`${host}:${port}`]],
      [{ HTTPS_PROXY, NO_PROXY: host }, []],
    ] as const) {
      tunnels.length = 0;
      const connection = await createOpenWebSocket({ ca, proxyEnv })(requestTo(port, ["127.0.0.1"]));
      if (connection instanceof Response) throw new Error("It was refused");
      connection.end(writeClose(1000));
      expect(tunnels).toEqual([...through]);
    }
  });
});

describe("a WebSocket that fails", () => {
  const close: [number, string, boolean][] = [
    [1001, "overloaded", true],
    [1002, "bad_response", false],
    [1003, "bad_request", false],
    [1007, "bad_request", false],
    [1008, "bad_response", false],
    [1009, "bad_request", false],
    [1011, "server_error", true],
    [1012, "overloaded", true],
    [1013, "overloaded", true],
    [3000, "auth", true],
    [3003, "auth", true],
    [3008, "timeout", false],
    [4999, "bad_response", false],
  ];

  test.each(close)("with the code %d before an answer is %s, and costs nothing", async (code, kind) => {
    const { error, run } = await readFrames([closeOf(code, `no, ${secret}`)]);
    expect([error?.kind, error?.code]).toEqual([kind as never, `websocket_${code}`]);
    expect([error?.providerMessage, error?.message].join()).not.toContain(secret);
    expect(run.sent.size).toBe(0);
  });

  test("in the middle of its answer is owed", async () => {
    const { error, messages, run } = await readFrames([writeMessage(new Uint8Array(9), false), closeOf(1011)]);
    expect([error?.kind, messages.length]).toEqual(["server_error", 1]);
    expect([...run.sent].map(({ isAnswered, isWhole }) => [isAnswered, isWhole])).toEqual([[true, false]]);
  });

  test("after messages that the plugin takes for no answer is not owed", async () => {
    const isAnswer = (message: WebSocketMessage) => typeof message !== "string";
    expect((await readFrames([text("started"), closeOf(1011)], { isAnswer })).run.sent.size).toBe(0);
    expect((await readFrames([text("started"), closeOf(1011)])).run.sent.size).toBe(1);
  });

  test("after its provider said an error is not owed", async () => {
    const { run } = await readFrames([text('{"type":"error","error":{"code":"busy"}}'), closeOf(1011)]);
    expect(run.sent.size).toBe(0);
  });

  test.each(["end", "resetAndDestroy"] as const)("because the connection breaks off says so: %s", async (how) => {
    const { baseUrl, opened } = await startServer(text("a"));
    const { upstream, run } = upstreamOf(baseUrl);
    const reading = readAll(await upstream.webSocket("/speak"));
    await until(() => run.sent.size === 1 && [...run.sent][0]?.isAnswered === true);
    opened[0]?.socket[how]();
    const error = await upstreamErrorOf(reading);
    expect(error.message).toBe("The connection to the provider was closed in the middle of its answer");
    expect([...run.sent].map(({ isWhole }) => isWhole)).toEqual([false]);
  });

  test("by a message that is too long is ended before it has come", async () => {
    const head = new Uint8Array([0x82, 127, 0, 0, 0, 0, 2, 0, 0, 0]);
    const { error } = await readFrames([head]);
    expect(error?.message).toContain("a message of more than 16777216 bytes");
  });

  test("by an answer that is too long in all is ended at its bound", async () => {
    const frames = Array.from({ length: 10 }, () => writeMessage(new Uint8Array(100), false));
    const { error } = await readFrames(frames, {}, { streamBytesMax: 500 });
    expect(error?.message).toContain("longer than 500 bytes");
  });

  test("by a compressed message is ended, so that none unfolds in memory", async () => {
    const frame = text("a");
    frame[0] = 0xc1;
    const { error } = await readFrames([frame]);
    expect(error?.message).toContain("an extension that was not agreed on");
  });

  test("by what comes of a long message counts in the memory of the call until it is free again", async () => {
    const frame = writeMessage(new Uint8Array(200_000), false);
    const { baseUrl, opened } = await startServer(frame.subarray(0, 150_000));
    const { upstream, attempt } = upstreamOf(baseUrl);
    let [reserved, most] = [0, 0];
    attempt.reserveAnswer = (bytes) => {
      reserved += bytes;
      most = Math.max(most, reserved);
    };
    const reading = readAll(await upstream.webSocket("/speak"));
    await until(() => most >= 140_000);
    opened[0]?.socket.write(frame.subarray(150_000));
    opened[0]?.socket.write(closeOf(1000));
    expect((await reading).length).toBe(1);
    expect([reserved, most < 500_000]).toEqual([0, true]);
  });

  const bounds = { firstByteMsMax: 1000, idleMsMax: 500 };

  test("because its provider is silent before the handshake ends after the first deadline", async () => {
    const { baseUrl, answer, opened } = await startServer();
    answer.head = "";
    const { upstream, clock, attempt } = upstreamOf(baseUrl, bounds);
    const opening = upstreamErrorOf(upstream.webSocket("/speak"));
    await until(() => opened.length === 1);
    clock.pass(999);
    expect(attempt.signal.aborted).toBe(false);
    clock.pass(1);
    expect((await opening).kind).toBe("timeout");
    await until(() => opened[0]?.socket.destroyed === true);
  });

  test("because its provider is silent in the middle ends after the deadline for a piece", async () => {
    const { baseUrl, opened } = await startServer(text("a"));
    const { upstream, clock, run } = upstreamOf(baseUrl, bounds);
    const reading = upstreamErrorOf(readAll(await upstream.webSocket("/speak")));
    await until(() => [...run.sent][0]?.isAnswered === true);
    clock.pass(499);
    expect(opened[0]?.socket.destroyed).toBe(false);
    clock.pass(1);
    expect((await reading).kind).toBe("timeout");
    await until(() => opened[0]?.socket.destroyed === true);
  });

  test("because its provider takes nothing waits to send, and ends after the same deadline", async () => {
    const { baseUrl, opened } = await startServer();
    const { upstream, clock } = upstreamOf(baseUrl, bounds);
    const socket = await upstream.webSocket("/speak");
    await until(() => opened.length === 1);
    opened[0]?.socket.pause();
    const piece = new Uint8Array(4_000_000);
    const sending = (async () => {
      for (let count = 0; count < 20; count++) await socket.send(piece);
    })();
    const failure = upstreamErrorOf(sending);
    let isOver = false;
    failure.finally(() => {
      isOver = true;
    });
    await until(() => {
      clock.pass(100);
      return isOver;
    });
    expect((await failure).kind).toBe("timeout");
  });

  test("because its caller leaves is closed at the provider at once", async () => {
    const { baseUrl, opened } = await startServer(text("a"));
    const { upstream, attempt } = upstreamOf(baseUrl);
    const reading = errorOf(readAll(await upstream.webSocket("/speak")));
    await until(() => opened.length === 1);
    attempt.abort();
    await reading;
    await until(() => opened[0]?.socket.destroyed === true);
  });
});
