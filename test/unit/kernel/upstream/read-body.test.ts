import { afterEach, describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { TimeoutScheduler } from "../../../../src/kernel/index.ts";
import { BodyReader, readAnswerChunks, readAnswerText } from "../../../../src/kernel/upstream/http-client.ts";
import { readEvents } from "../../../support/chat-streams.ts";
import { errorOf } from "../../../support/error-of.ts";
import { answerOf, type RawServer, startRaw } from "../../../support/raw-server.ts";
import { until } from "../../../support/until.ts";
import { openClient, readLimitState, requestTo } from "./requests.ts";

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of toStop.splice(0)) await server.stop();
});

async function start(...answers: Parameters<typeof startRaw>): Promise<RawServer> {
  const server = await startRaw(...answers);
  toStop.push(server);
  return server;
}

const { client } = openClient();
const limits = readLimitState(new TimeoutScheduler());
const mebibyte = 1 << 20;

/** Answers with a compressed body, in pieces. */
const startCompressed = (encoding: string, body: Uint8Array, declared = body.length) =>
  start((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${declared}\r\n\r\n`);
    for (let at = 0; at < body.length; at += 10_000) socket.write(body.subarray(at, at + 10_000));
    if (declared > body.length) socket.end();
  });

/** A thousandth of what it decompresses to. */
const bomb = gzipSync(Buffer.alloc(200_000_000));
const text = "Kites fly well in a steady wind. ".repeat(20_000);

describe("an answer that a provider compressed although it was asked not to", () => {
  test.each([
    ["gzip", gzipSync(text)],
    ["GZIP", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["zstd", zstdCompressSync(text)],
    ["identity", Buffer.from(text)],
  ])("by %s is decompressed, and its connection kept", async (encoding, body) => {
    const server = await startCompressed(encoding, body);
    for (let call = 0; call < 2; call++) {
      expect(await readAnswerText(await client.request(requestTo(server.baseUrl)), limits)).toBe(text);
    }
    expect(server.accepted).toBe(1);
  });

  test("is bounded by what it decompresses to, be it a bomb of 200 MB", async () => {
    const server = await startCompressed("gzip", bomb);
    const response = await client.request(requestTo(server.baseUrl));
    const error = await errorOf(readAnswerText(response, readLimitState(limits.timeouts, mebibyte)));
    expect(error.message).toBe(`The provider's answer is longer than ${mebibyte} bytes`);
    await until(() => server.open.size === 0);
  });

  test("is decompressed no further than it is read", async () => {
    const server = await startCompressed("gzip", bomb);
    let length = 0;
    for await (const chunk of readAnswerChunks(await client.request(requestTo(server.baseUrl)), limits)) {
      expect(chunk.byteLength).toBeLessThan(2 * mebibyte);
      length += chunk.byteLength;
      if (length > mebibyte) break;
    }
    await until(() => server.open.size === 0);
  });

  test.each([
    ["is not what it says", Buffer.from("hello, this is not gzip"), undefined],
    ["breaks off", gzipSync(crypto.getRandomValues(new Uint8Array(50_000))).subarray(0, 20_000), 50_100],
  ])("and that %s is an error", async (_, body, declared) => {
    const server = await startCompressed("gzip", body, declared);
    const read = client.request(requestTo(server.baseUrl)).then((response) => readAnswerText(response, limits));
    expect(await errorOf(read)).toBeDefined();
  });
});

describe("a whole answer", () => {
  test.each([
    ["by its declared length, before it is read", answerOf("x".repeat(200))],
    ["by counting, where its length is not declared", `HTTP/1.1 200 OK\r\n\r\n${"x".repeat(200)}`],
    [
      "by counting, where the declared length is not the one that counts",
      `HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nc8\r\n${"x".repeat(200)}\r\n0\r\n\r\n`,
    ],
  ])("that is too long is refused %s, and its connection closed", async (_, answer) => {
    const server = await start((socket) => void socket.write(answer));
    const response = await client.request(requestTo(server.baseUrl));
    const error = await errorOf(readAnswerText(response, readLimitState(limits.timeouts, 100)));
    expect(error.message).toBe("The provider's answer is longer than 100 bytes");
  });

  test("of 20 MB comes as it was sent, with a declared length and without", async () => {
    const bytes = new Uint8Array(20_000_000).map((_, index) => 32 + ((index * 7919) % 90));
    const server = Bun.serve({
      port: 0,
      fetch: ({ url }) => new Response(url.endsWith("length") ? bytes : new Blob([bytes]).stream()),
    });
    for (const path of ["/length", "/chunked"]) {
      const response = await client.request(requestTo(`http://127.0.0.1:${server.port}`, { path }));
      expect(Bun.SHA256.hash(await readAnswerText(response, limits), "hex")).toBe(Bun.SHA256.hash(bytes, "hex"));
    }
    await server.stop(true);
  });

  test.each([
    ["closed inside a declared length", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "end"],
    ["closed inside chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "end"],
    ["reset inside a declared length", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "reset"],
    ["reset inside chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "reset"],
  ])("that is %s is an error, after what came of it", async (_, head, how) => {
    // A reset takes with it what has arrived and was not read.
    const { promise: isRead, resolve } = Promise.withResolvers<void>();
    const server = await start((socket) => {
      socket.write(head);
      isRead.then(() => (how === "end" ? socket.end() : socket.resetAndDestroy()));
    });
    const response = await client.request(requestTo(server.baseUrl));
    let seen = "";
    const reading = (async () => {
      for await (const chunk of readAnswerChunks(response, limits)) {
        seen += new TextDecoder().decode(chunk);
        if (seen === "hello") resolve();
      }
    })();
    expect(await errorOf(reading)).toBeInstanceOf(TypeError);
    expect(seen).toBe("hello");
  });
});

describe("a body of which all that is needed has come", () => {
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n";

  test("is read to its end, so that its connection serves the next request", async () => {
    const server = await start((socket) => {
      socket.write(head);
      setTimeout(() => socket.write("4\r\nmore\r\n0\r\n\r\n"), 20);
    });
    for (let request = 0; request < 3; request++) {
      const body = new BodyReader(await client.request(requestTo(server.baseUrl)), limits);
      expect(new TextDecoder().decode(await body.read())).toBe("hello");
      body.drain();
      await Bun.sleep(100);
    }
    expect(server.accepted).toBe(1);
  });

  test("closes its connection when no end comes", async () => {
    const server = await start((socket) => void socket.write(head));
    const body = new BodyReader(await client.request(requestTo(server.baseUrl)), limits);
    await body.read();
    body.drain();
    expect(server.open.size).toBe(1);
    await until(() => server.open.size === 0);
  });
});

describe("events", () => {
  test("are read as they come, cut anywhere", async () => {
    const pieces = ["data: héé", "\u20ac\n", "\ndata: two\r\n\r\nevent: end\nda", "ta: three"];
    const server = await start(async (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
      for (const byte of Buffer.from(pieces.join(""))) {
        socket.write(new Uint8Array([byte]));
        if (byte === 10) await Bun.sleep(2);
      }
      socket.end();
    });
    const seen: unknown[] = [];
    for await (const event of readEvents(readAnswerChunks(await client.request(requestTo(server.baseUrl)), limits)))
      seen.push(event);
    expect(seen).toEqual([
      { event: "message", data: "héé€" },
      { event: "message", data: "two" },
      { event: "end", data: "three" },
    ]);
  });

  test("that are left early close their connection", async () => {
    const server = await start("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: one\n\ndata: two\n\n");
    for await (const { data } of readEvents(
      readAnswerChunks(await client.request(requestTo(server.baseUrl)), limits),
    )) {
      expect(data).toBe("one");
      break;
    }
    await until(() => server.open.size === 0);
  });
});
