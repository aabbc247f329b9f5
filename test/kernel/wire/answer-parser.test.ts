import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UpstreamFault } from "../../../src/contract/index.ts";
import type { AnswerHead } from "../../../src/kernel/wire/answer-head.ts";
import { AnswerParser } from "../../../src/kernel/wire/answer-parser.ts";
import { answerOf, chunkedOf } from "./raw-server.ts";

interface Read {
  head?: AnswerHead;
  body: string;
  ended: boolean;
  hasExcess: boolean;
  fault?: string;
}

/** What a parser makes of bytes that arrive in these pieces, and whether the connection is closed after them. */
function read(pieces: readonly Uint8Array[], closes = false): Read {
  const parts: Uint8Array[] = [];
  const seen: Read = { body: "", ended: false, hasExcess: false };
  const parser = new AnswerParser({
    onHead(head) {
      seen.head = head;
    },
    onBody: (bytes) => parts.push(Uint8Array.from(bytes)),
    onEnd() {
      seen.ended = true;
    },
  });
  try {
    for (const piece of pieces) parser.push(Buffer.from(piece));
    if (closes) parser.end();
  } catch (error) {
    if (!(error instanceof UpstreamFault)) throw error;
    seen.fault = error.message;
  }
  return { ...seen, body: Buffer.concat(parts).toString(), hasExcess: parser.hasExcess };
}

const bytesOf = (text: string) => Buffer.from(text);
const readText = (text: string, closes = false) => read([bytesOf(text)], closes);

/** Bytes cut at the given places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [0, ...[...places].sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

describe("an answer", () => {
  const whole: [string, string, string, boolean][] = [
    ["of a said length", answerOf("héllo", ["content-type: text/plain"]), "héllo", false],
    ["without a body", answerOf(""), "", false],
    ["in chunks", chunkedOf(["hé", "l", "lo"]), "héllo", false],
    ["in chunks with trailers", chunkedOf(["hello"], ["x-sum: 1", "x-more: 2"]), "hello", false],
    [
      "in chunks with extensions",
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b;c="d"\r\nhello\r\n0;last\r\n\r\n',
      "hello",
      false,
    ],
    ["until the end of the connection", "HTTP/1.1 200 OK\r\ncontent-type: a\r\n\r\nhello", "hello", true],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nhello", "hello", true],
    [
      "behind informational ones",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${answerOf("hello")}`,
      "hello",
      false,
    ],
    ["without a reason", "HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi", "hi", false],
    ["that has no content", "HTTP/1.1 204 No Content\r\n\r\n", "", false],
    [
      "that was not modified, with the length it would have had",
      "HTTP/1.1 304 N\r\ncontent-length: 9\r\n\r\n",
      "",
      false,
    ],
  ];

  test.each(whole)("%s is read alike at every cut", (_, text, body, closes) => {
    const bytes = bytesOf(text);
    const expected = read([bytes], closes);
    expect(expected).toMatchObject({ body, ended: true, hasExcess: false });
    expect(expected.fault).toBeUndefined();
    for (let place = 1; place < bytes.length; place++) {
      expect(read(cut(bytes, [place]), closes)).toEqual(expected);
    }
    expect(
      read(
        [...bytes].map((byte) => Uint8Array.of(byte)),
        closes,
      ),
    ).toEqual(expected);
  });

  test.each(whole)("%s that breaks off is not complete", (_, text, __, closes) => {
    if (closes) return expect(readText(text.slice(0, text.indexOf("\r\n\r\n") + 3), true).ended).toBe(false);
    for (let length = 0; length < text.length; length++)
      expect(readText(text.slice(0, length), true).ended).toBe(false);
  });

  test("gives one piece for all chunks of one read", () => {
    const pieces: string[] = [];
    const parser = new AnswerParser({
      onHead: () => undefined,
      onBody: (bytes) => pieces.push(bytes.toString()),
      onEnd: () => undefined,
    });
    parser.push(bytesOf(chunkedOf(["one ", "two ", "three"])));
    expect(pieces.map((piece) => piece)).toHaveLength(1);
  });

  test("says what follows it", () => {
    expect(readText(`${answerOf("hello")}HTTP/1.1 200 OK\r\n`)).toMatchObject({
      body: "hello",
      ended: true,
      hasExcess: true,
    });
    expect(readText(`${chunkedOf(["hello"])}x`)).toMatchObject({ body: "hello", ended: true, hasExcess: true });
    expect(readText("HTTP/1.1 204 No Content\r\n\r\nx")).toMatchObject({ ended: true, hasExcess: true });
  });
});

describe("what a head says of its connection", () => {
  test.each([
    ["", true, undefined],
    ["connection: close\r\n", false, undefined],
    ["Connection: Keep-Alive, Close\r\n", false, undefined],
    ["connection: keep-alive\r\nkeep-alive: timeout=5, max=100\r\n", true, 5000],
    ["keep-alive: max=100, timeout=7\r\n", true, 7000],
  ])("%j", (lines, keepsAlive, keepAliveMs) => {
    const { head } = readText(`HTTP/1.1 200 OK\r\n${lines}content-length: 0\r\n\r\n`);
    expect(head?.keepsAlive).toBe(keepsAlive);
    expect(head?.keepAliveMs).toBe(keepAliveMs as number);
  });

  test("HTTP/1.0, and an answer without a length, end it", () => {
    expect(readText("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n").head?.keepsAlive).toBe(false);
    expect(readText("HTTP/1.1 200 OK\r\n\r\n").head?.keepsAlive).toBe(false);
  });
});

describe("refused is", () => {
  const head = (...lines: string[]) => `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\nhello`;
  const chunked = (body: string) => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}`;
  const malformed: [string, string][] = [
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["another version", "HTTP/2 200 OK\r\n\r\n"],
    ["HTTP/0.9", "<html>hello</html>"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["a status beyond 599", "HTTP/1.1 600 OK\r\n\r\n"],
    ["a NUL in the status line", "HTTP/1.1 200 O\0K\r\n\r\n"],
    ["an empty line first", `\r\n${answerOf("hello")}`],
    ["a change of protocol", "HTTP/1.1 101 Switching Protocols\r\nupgrade: a\r\n\r\n"],
    ["two lengths", head("content-length: 5", "content-length: 6")],
    ["the same length twice", head("content-length: 5", "content-length: 5")],
    ["two lengths in one line", head("content-length: 5, 5")],
    ["a negative length", head("content-length: -5")],
    ["a signed length", head("content-length: +5")],
    ["a hexadecimal length", head("content-length: 0x5")],
    ["a fractional length", head("content-length: 5.0")],
    ["an empty length", head("content-length:")],
    ["a length beyond all numbers", head("content-length: 99999999999999999999")],
    ["length and chunks", head("content-length: 5", "transfer-encoding: chunked")],
    ["chunks and length", head("transfer-encoding: chunked", "content-length: 5")],
    ["another transfer encoding", head("transfer-encoding: gzip, chunked")],
    ["chunked twice", head("transfer-encoding: chunked", "transfer-encoding: chunked")],
    ["chunked with a tail", head("transfer-encoding: chunked, identity")],
    ["xchunked", head("transfer-encoding: xchunked")],
    ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a folded header", head("x-a: b", " c")],
    ["a space before the colon", head("content-length : 5")],
    ["a header without a colon", head("hello")],
    ["a header without a name", head(": hello")],
    ["a NUL in a value", head("x-a: b\0c")],
    ["a lone carriage return in a value", head("x-a: b\rcontent-length: 5")],
    ["a lone line feed between headers", head("x-a: b\ncontent-length: 5")],
    ["201 headers", head(...Array.from({ length: 201 }, (_, index) => `x-${index}: a`))],
    ["a head of more than 64 kB", head(`x-a: ${"b".repeat(65_536)}`)],
    ["endless informational answers", "HTTP/1.1 100 Continue\r\n\r\n".repeat(4000)],
    ["a chunk without a size", chunked("\r\nhello")],
    ["a chunk of no hexadecimal size", chunked("xyz\r\nhello")],
    ["a chunk of negative size", chunked("-5\r\nhello")],
    ["a chunk of prefixed size", chunked("0x5\r\nhello")],
    ["a chunk size with a space before it", chunked(" 5\r\nhello\r\n0\r\n\r\n")],
    ["a chunk beyond all numbers", chunked("fffffffffffff\r\nhello")],
    ["a chunk size ended by a line feed", chunked("5\nhello\r\n0\r\n\r\n")],
    ["a chunk longer than it says", chunked("4\r\nhello\r\n0\r\n\r\n")],
    ["a chunk shorter than it says", chunked("6\r\nhello\r\n0\r\n\r\n")],
    ["a chunk ended by a line feed", chunked("5\r\nhello\n0\r\n\r\n")],
    ["a line feed in an extension's place", chunked("5;a\rb\r\nhello\r\n0\r\n\r\n")],
    ["an extension of 5 kB", chunked(`5;${"a".repeat(5000)}\r\nhello\r\n0\r\n\r\n`)],
    ["a trailer that is no header", chunked("0\r\nhello\r\n\r\n")],
    ["trailers of 20 kB", chunked(`0\r\n${`x-a: ${"b".repeat(1000)}\r\n`.repeat(20)}\r\n`)],
  ];

  test.each(malformed)("%s, at every cut", (_, text) => {
    const bytes = bytesOf(text);
    const { fault, ended } = read([bytes]);
    expect(fault).toStartWith("The provider's answer is not valid HTTP: ");
    expect(ended).toBe(false);
    const step = Math.max(1, bytes.length >> 8);
    for (let place = 1; place < bytes.length; place += step) expect(read(cut(bytes, [place])).fault).toBeDefined();
  });
});

describe("whatever comes", () => {
  const header = fc.tuple(fc.stringMatching(/^x-[a-z]{1,12}$/), fc.stringMatching(/^[!-~]{0,30}$/));
  const pieces = fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), { maxLength: 12 });

  test("valid answers are read as they were meant, however they are cut", () => {
    const answers = fc.record({
      status: fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
      headers: fc.array(header, { maxLength: 12 }),
      pieces,
      framing: fc.constantFrom("length", "chunked", "close"),
      places: fc.array(fc.nat(3000), { maxLength: 20 }),
    });
    fc.assert(
      fc.property(answers, ({ status, headers, pieces, framing, places }) => {
        const body = pieces.join("");
        const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
        const start = `HTTP/1.1 ${status} Fine\r\n${lines}`;
        const chunks = pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`).join("");
        const text = {
          length: `${start}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
          chunked: `${start}transfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
          close: `${start}\r\n${body}`,
        }[framing] as string;
        const bytes = bytesOf(text);
        const seen = read(
          cut(
            bytes,
            places.filter((place) => place <= bytes.length),
          ),
          framing === "close",
        );
        expect(seen.fault).toBeUndefined();
        expect(seen).toMatchObject({ body, ended: true, hasExcess: false });
        expect(seen.head?.status).toBe(status);
        expect(seen.head?.lines).toStartWith(lines);
      }),
      { numRuns: 500 },
    );
  });

  test("a parser ends well or with a fault, and alike at any cut", () => {
    const alphabet = fc.constantFrom(
      "HTTP/1.1 200 OK\r\n",
      "\r\n",
      "\n",
      "a: b\r\n",
      "content-length: 3\r\n",
      "transfer-encoding: chunked\r\n",
      "3\r\n",
      "abc",
      "0",
      ":",
      " ",
      "\0",
    );
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 14 }), fc.array(fc.nat(200), { maxLength: 6 }), (words, places) => {
        const bytes = bytesOf(`HTTP/1.1 200 OK\r\n${words.join("")}`);
        const [whole, split] = [
          read([bytes]),
          read(
            cut(
              bytes,
              places.filter((place) => place <= bytes.length),
            ),
          ),
        ];
        expect(split.fault === undefined).toBe(whole.fault === undefined);
        if (whole.fault === undefined) expect(split).toEqual(whole);
      }),
      { numRuns: 1000 },
    );
  });
});
