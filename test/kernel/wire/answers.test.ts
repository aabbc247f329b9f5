import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { readPiece } from "../../../src/kernel/wire/read-piece.ts";
import { WireClient } from "../../../src/kernel/wire/wire-client.ts";
import { errorOf } from "../../support/error-of.ts";
import { askText, dials, faultOf, questionTo, textOf, until } from "./asking.ts";
import { answerOf, chunkedOf, type RawServer, startRaw } from "./raw-server.ts";

const toStop: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of toStop.splice(0)) await server.stop();
});

async function start(...answers: Parameters<typeof startRaw>): Promise<RawServer> {
  const server = await startRaw(...answers);
  toStop.push(server);
  return server;
}

describe.each(dials)("by %s", (_, dial) => {
  const { ask } = new WireClient({ dial });

  describe("a request", () => {
    test("is written as HTTP/1.1 says", async () => {
      const server = await start(answerOf("hello"));
      const headers = { Authorization: "Bearer a", "x-version": "1" };
      const body = '{"say":"héé€😀"}';
      await askText(ask, server.baseUrl, { path: "/chat?a=b", headers, more: { "x-version": "2" }, body });
      const { host } = new URL(server.baseUrl);
      expect(server.requests[0]?.head.split("\r\n")).toEqual([
        "POST /v1/chat?a=b HTTP/1.1",
        `host: ${host}`,
        "accept: */*",
        "accept-encoding: identity",
        "user-agent: modelgate",
        "authorization: Bearer a",
        "x-version: 2",
        "content-type: application/json",
        `content-length: ${Buffer.byteLength(body)}`,
      ]);
      expect(Buffer.from(server.requests[0]?.body ?? "", "latin1").toString()).toBe(body);
    });

    test.each([
      ["ASCII", "x"],
      ["other letters", "é€😀"],
    ])("of 3 MB of %s arrives whole", async (_, letters) => {
      const server = await start(answerOf("hello"));
      const body = JSON.stringify(letters.repeat(3_000_000 / Buffer.byteLength(letters)));
      await askText(ask, server.baseUrl, { body });
      expect(Buffer.from(server.requests[0]?.body ?? "", "latin1").toString()).toBe(body);
    });

    test("of a form arrives as a form", async () => {
      const server = Bun.serve({
        port: 0,
        async fetch(request) {
          const form = await request.formData();
          const file = form.get("file") as File;
          return Response.json([form.get("model"), file.name, await file.text()]);
        },
      });
      const form = new FormData();
      form.append("model", "whisper é");
      form.append("file", new File(["\0\r\nbytes"], "a b.wav", { type: "audio/wav" }));
      expect(JSON.parse(await askText(ask, `${server.url}`, { body: form }))).toEqual([
        "whisper é",
        "a b.wav",
        "\0\r\nbytes",
      ]);
      await server.stop(true);
    });

    test.each([
      ["a line break in a value", { "x-a": "b\r\nx-evil: 1" }],
      ["a lone line feed in a value", { "x-a": "b\nx-evil: 1" }],
      ["a NUL in a value", { "x-a": "b\0" }],
      ["a letter no header takes", { "x-a": "é" }],
      ["a line break in a name", { "x-a: b\r\nx-evil": "1" }],
      ["a space in a name", { "x a": "1" }],
      ["no name", { "": "1" }],
      ["a length of its own", { "Content-Length": "0" }],
      ["an encoding of its own", { "transfer-encoding": "chunked" }],
      ["a host of its own", { host: "evil.example" }],
      ["a connection of its own", { Connection: "close" }],
    ])("with %s is not sent", async (_, headers) => {
      const server = await start(answerOf("hello"));
      for (const place of [{ headers }, { more: headers }]) {
        expect(await errorOf(ask(questionTo(server.baseUrl, place)))).toBeInstanceOf(TypeError);
      }
      expect(server.requests).toHaveLength(0);
    });

    test.each([
      ["/a b", "/v1/a%20b"],
      ["/a\r\nx-evil: 1", "/v1/ax-evil:%201"],
      ["/é", "/v1/%C3%A9"],
      ["/a#b", "/v1/a"],
      ["/a/../b", "/v1/b"],
      ["//evil.example/a", "/v1//evil.example/a"],
      ["/models/a:generate?alt=sse", "/v1/models/a:generate?alt=sse"],
    ])("to the path %j is sent to %s", async (path, sent) => {
      const server = await start(answerOf("hello"));
      await askText(ask, server.baseUrl, { path });
      expect(server.requests[0]?.head.split("\r\n")[0]).toBe(`POST ${sent} HTTP/1.1`);
      expect(server.requests[0]?.head).not.toContain("\r\nx-evil");
    });
  });

  describe("an answer", () => {
    test("gives its status, its media type and all its headers", async () => {
      const lines = ["Content-Type: application/json; charset=utf-8", "Retry-After:  3 ", "x-a: 1", "X-A: 2"];
      const server = await start(answerOf("{}", lines, "429 Too Many Requests"));
      const answer = await ask(questionTo(server.baseUrl));
      expect([answer.status, answer.contentType]).toEqual([429, "application/json; charset=utf-8"]);
      expect(Object.fromEntries(answer.headers())).toEqual({
        "content-length": "2",
        "content-type": "application/json; charset=utf-8",
        "retry-after": "3",
        "x-a": "1, 2",
      });
      expect(await textOf(answer)).toBe("{}");
    });

    test("that came with its head is there whole", async () => {
      const server = await start(answerOf("hello"), answerOf(""), chunkedOf(["hel", "lo"]));
      const client = new WireClient({ dial });
      for (const expected of ["hello", "", "hello"]) {
        const answer = await client.ask(questionTo(server.baseUrl));
        await until(() => client.counts.idle === 1);
        expect(new TextDecoder().decode(answer.whole())).toBe(expected);
        expect(await readPiece(answer)).toBeUndefined();
      }
    });

    test("of 20 MB in pieces of any size comes as it was sent", async () => {
      const bytes = new Uint8Array(20_000_000);
      for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
      const server = Bun.serve({
        port: 0,
        fetch: ({ url }) => new Response(url.endsWith("length") ? bytes : new Blob([bytes]).stream()),
      });
      for (const path of ["/length", "/chunked"]) {
        const answer = await ask(questionTo(`http://127.0.0.1:${server.port}`, { path }));
        const hash = new Bun.CryptoHasher("sha256");
        for (let piece = await readPiece(answer); piece !== undefined; piece = await readPiece(answer))
          hash.update(piece);
        expect(hash.digest("hex")).toBe(Bun.SHA256.hash(bytes, "hex"));
      }
      await server.stop(true);
    });

    test("that comes slowly is read as it comes", async () => {
      let socket: Socket | undefined;
      const server = await start((given) => {
        socket = given;
        given.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      });
      const answer = await ask(questionTo(server.baseUrl));
      for (const word of ["one", "two", "three"]) {
        const next = readPiece(answer);
        socket?.write(`${word.length}\r\n${word}\r\n`);
        expect(new TextDecoder().decode(await next)).toBe(word);
      }
      socket?.write("0\r\n\r\n");
      expect(await readPiece(answer)).toBeUndefined();
    });

    test.each([
      ["closed inside a said length", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "end"],
      ["closed inside chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "end"],
      ["reset inside a said length", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "reset"],
      ["reset inside chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "reset"],
      ["reset where the end of the connection is its end", "HTTP/1.1 200 OK\r\n\r\nhello", "reset"],
    ])("that is %s is broken, after what came of it", async (_, text, how) => {
      let socket: Socket | undefined;
      const server = await start((given) => {
        socket = given;
        given.write(text);
      });
      const answer = await ask(questionTo(server.baseUrl));
      expect(new TextDecoder().decode(await readPiece(answer))).toBe("hello");
      if (how === "end") socket?.end();
      else socket?.resetAndDestroy();
      const fault = await faultOf(readPiece(answer));
      expect(fault.kind).toBe("broken");
      expect(fault.message).toMatch(/in the middle of its answer$|was reset$/);
    });

    test("that turns malformed is broken, and its connection is closed", async () => {
      const server = await start("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n");
      const asked = ask(questionTo(server.baseUrl)).then(textOf);
      expect((await faultOf(asked)).message).toContain("does not say its size");
      await until(() => server.open.size === 0);
    });

    test("before the request has left is taken, and its connection closed", async () => {
      const early = Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: {
          open(socket) {
            socket.write(answerOf("too large", [], "413 Payload Too Large"));
          },
          data: (socket) => socket.pause(),
        },
      });
      const client = new WireClient({ dial });
      const body = JSON.stringify("x".repeat(20_000_000));
      const answer = await client.ask(questionTo(`http://127.0.0.1:${early.port}`, { body }));
      expect([answer.status, await textOf(answer)]).toEqual([413, "too large"]);
      expect(client.counts.open).toBe(0);
      early.stop(true);
    });
  });

  test("a reader that waits makes the provider wait, and holds a bounded part", async () => {
    const total = 50_000_000;
    let written = 0;
    const server = await start((socket) => {
      const piece = Buffer.alloc(65_536, "x");
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
      const fill = () => {
        while (written < total && !socket.destroyed) {
          const next = piece.subarray(0, Math.min(piece.length, total - written));
          written += next.length;
          if (!socket.write(next)) return;
        }
      };
      socket.on("drain", fill);
      fill();
    });
    const answer = await ask(questionTo(server.baseUrl));
    let length = (await readPiece(answer))?.byteLength ?? 0;
    let before = -1;
    while (before !== written) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    // What lies between: the client's bound and the buffers of both sockets.
    expect(written).toBeLessThan(25_000_000);
    for (let piece = await readPiece(answer); piece !== undefined; piece = await readPiece(answer))
      length += piece.byteLength;
    expect(length).toBe(total);
  });
});
