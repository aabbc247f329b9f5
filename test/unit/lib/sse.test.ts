import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SseParser } from "../../../src/lib/sse.ts";
import type { ServerEvent } from "../../../src/provider/index.ts";
import { readEvents } from "../../support/chat-streams.ts";
import { recordingsMissing, recordingsOf } from "../../support/recordings.ts";
import { drain, piecesOf } from "../sdk/fake-call.ts";

function parse(...pieces: string[]): ServerEvent[] {
  const parser = new SseParser();
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()];
}

const message = (data: string): ServerEvent => ({ event: "message", data });

describe("SseParser", () => {
  test.each<[string, string, ServerEvent[]]>([
    ["line feeds", "data: a\n\ndata: b\n\n", [message("a"), message("b")]],
    ["carriage returns and line feeds", "data: a\r\n\r\ndata: b\r\n\r\n", [message("a"), message("b")]],
    ["carriage returns alone", "data: a\r\rdata: b\r\r", [message("a"), message("b")]],
    ["a mix of line ends", "data: a\r\n\ndata: b\n\r\n", [message("a"), message("b")]],
    ["no space after the colon", "data:a\n\n", [message("a")]],
    ["only one space taken off", "data:  a \n\n", [message(" a ")]],
    ["several data lines", "data: a\ndata: b\ndata:\n\n", [message("a\nb\n")]],
    ["a data line without a colon", "data\n\n", [message("")]],
    ["an event's name", "event: error\ndata: x\n\ndata: y\n\n", [{ event: "error", data: "x" }, message("y")]],
    ["a name without data is no event", "event: ping\n\ndata: y\n\n", [message("y")]],
    ["comments, ids and unknown fields", ": ping\nid: 7\nretry: 10\nfoo: bar\ndata: a\n\n", [message("a")]],
    ["fields that only begin alike", "database: 1\nevents: 2\ndata: a\n\n", [message("a")]],
    ["a byte order mark", "\uFEFFdata: a\n\n", [message("a")]],
    ["a last event without its blank line", "data: a\n\ndata: b\n", [message("a"), message("b")]],
    ["a last line without its end", "data: [DONE]", [message("[DONE]")]],
    ["no events at all", "\n\n\r\n", []],
    [
      "JSON that stands in no field",
      'data: a\n\n{\n  "error": {\n\n    "code": 503\n  }\n}\n',
      [message("a"), { event: "raw", data: '{\n  "error": {\n    "code": 503\n  }\n}' }],
    ],
    ["JSON between events", '{"error":1}\ndata: a\n\n', [{ event: "raw", data: '{"error":1}' }, message("a")]],
    ["HTML", "<html>\n</html>", [{ event: "raw", data: "<html>\n</html>" }]],
  ])("reads %s", (_, text, events) => {
    expect(parse(text)).toEqual(events);
    expect(parse(...text)).toEqual(events);
  });

  test("gives each event as soon as its blank line is there", () => {
    const parser = new SseParser();
    expect(parser.push("data: a\r")).toEqual([]);
    expect(parser.push("\n\r")).toEqual([message("a")]);
    expect(parser.push("\ndata: b\n\nda")).toEqual([message("b")]);
    expect(parser.push("ta: c\n\n")).toEqual([message("c")]);
    expect(parser.end()).toEqual([]);
  });

  test.each([
    ["in one line", "data: 123456789\n\n"],
    ["in a line that never ends", "data: 123456"],
    ["over many lines", "data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 567\ndata: 890\n\n"],
    ["as text in no field", "{12345\n6789}\n"],
  ])("refuses an event beyond its bound %s", (_, text) => {
    const parser = new SseParser(8);
    expect(() => parser.push(text)).toThrow("more than 8 characters");
  });

  test("forgets the size of an event when it is over", () => {
    const parser = new SseParser(8);
    for (let i = 0; i < 10; i++) expect(parser.push("data: 1234567\n\n")).toHaveLength(1);
  });

  const line = fc.string({ unit: fc.constantFrom("a", "é", "𝄞", " ", ":", "{", '"') });
  const lineEnd = fc.constantFrom("\n", "\r\n", "\r");

  test("reads what was written, with any line ends, cut at any bytes", async () => {
    const events = fc.array(
      fc.record({ event: fc.constantFrom("message", "error", "ping"), data: fc.array(line, { minLength: 1 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        events,
        lineEnd,
        fc.infiniteStream(fc.integer({ min: 1, max: 9 })),
        async (written, end, sizes) => {
          const text = written
            .map(
              ({ event, data }) => `event: ${event}${end}${data.map((part) => `data: ${part}${end}`).join("")}${end}`,
            )
            .join("");
          const bytes = new TextEncoder().encode(text);
          const pieces: Uint8Array[] = [];
          for (let at = 0; at < bytes.length; ) {
            const size = sizes.next().value as number;
            pieces.push(bytes.subarray(at, at + size));
            at += size;
          }
          const { items } = await drain(readEvents(piecesOf(...pieces)));
          expect(items).toEqual(written.map(({ event, data }) => ({ event, data: data.join("\n") })));
        },
      ),
    );
  });

  test("gives the same events however the text is cut", () => {
    const piece = fc.constantFrom("data: x", "data:", "event: e", "\n", "\r", "\r\n", ": c", "{", "\uFEFF", "é");
    fc.assert(
      fc.property(fc.array(fc.array(piece).map((parts) => parts.join(""))), (pieces) => {
        expect(parse(...pieces)).toEqual(parse(pieces.join("")));
      }),
    );
  });
});

describe("server-sent events of providers", () => {
  const streams = recordingsOf("openai", "groq", "anthropic", "gemini").filter(({ path }) => path.endsWith(".sse"));
  if (recordingsMissing !== undefined) test.skip(recordingsMissing, () => undefined);
  test.each(streams.map((recording) => [recording.path, recording] as const))(
    "reads %s the same when it is split at every byte",
    async (_, { body }) => {
      const whole = (await drain(readEvents(piecesOf(body)))).items;
      expect(whole.length).toBeGreaterThan(0);
      const bytes = body.length > 20_000 ? body.subarray(0, 20_000) : body;
      const expected = body.length > 20_000 ? (await drain(readEvents(piecesOf(bytes)))).items : whole;
      const single = await drain(readEvents(piecesOf(...Array.from(bytes, (byte) => Uint8Array.of(byte)))));
      expect(single.items).toEqual(expected);
      for (let at = 1; at < Math.min(bytes.length, 1500); at++) {
        const head = bytes.subarray(0, 1500);
        const cut = new SseParser();
        const decoder = new TextDecoder();
        const left = cut.push(decoder.decode(head.subarray(0, at), { stream: true }));
        const events = [...left, ...cut.push(decoder.decode(head.subarray(at), { stream: true }))];
        expect(events).toEqual(expected.slice(0, events.length));
      }
    },
  );
});

test("the memory of a long event that has come in part is counted, and freed when it is whole", () => {
  let [counted, most] = [0, 0];
  const parser = new SseParser(1_000_000, (bytes) => {
    counted += bytes;
    most = Math.max(most, counted);
  });
  const piece = "x".repeat(50_000);
  parser.push("data: {}\n\n");
  expect(most).toBe(0);
  parser.push("data: ");
  for (let at = 0; at < 10; at++) parser.push(piece);
  expect(most).toBeGreaterThanOrEqual(2 * 500_000);
  expect(parser.push("\n\n")).toHaveLength(1);
  parser.push("data: {}\n\n");
  expect(counted).toBe(0);
  const full = new SseParser(1_000_000, () => {
    throw new Error("no room");
  });
  expect(() => [full.push("data: "), full.push(piece.repeat(2))]).toThrow("no room");
});
