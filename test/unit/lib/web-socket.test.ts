import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UpstreamError } from "../../../src/contract/index.ts";
import { opcodes, WebSocketParser, writeClose, writeFrame, writeMessage } from "../../../src/lib/web-socket.ts";
import type { WebSocketMessage } from "../../../src/provider/index.ts";
import { cutAtRandom } from "../../support/random.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const join = (...frames: Uint8Array[]) => new Uint8Array(Buffer.concat(frames));
/** A frame as a server sends it, with any first byte. */
function frameOf(first: number, payload: Uint8Array): Uint8Array {
  const frame = writeFrame(opcodes.text, payload, false);
  frame[0] = first;
  return frame;
}

/** A parser that keeps what it was told of memory and pings. */
function open(messageBytesMax?: number) {
  const state = { reserved: 0, most: 0, pings: [] as string[] };
  const parser = new WebSocketParser({
    ...(messageBytesMax !== undefined && { messageBytesMax }),
    reserve(bytes) {
      state.reserved += bytes;
      state.most = Math.max(state.most, state.reserved);
    },
    onPing: (payload) => state.pings.push(new TextDecoder().decode(payload)),
  });
  return Object.assign(state, { parser });
}

function errorOf(work: () => unknown): UpstreamError {
  try {
    work();
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
  throw new Error("Nothing was thrown");
}

describe("messages of a WebSocket", () => {
  const message = fc.oneof(fc.string({ unit: "grapheme" }), fc.uint8Array({ maxLength: 300 }));

  test("are the same however their frames, and the bytes of these, are cut", () => {
    const parts = fc.record({ message, parts: fc.integer({ min: 1, max: 5 }), ping: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(parts, { maxLength: 12 }),
        fc.integer(),
        fc.integer({ min: 1, max: 40 }),
        (all, seed, cuts) => {
          const frames = all.flatMap(({ message, parts, ping }, index) => {
            const payload = typeof message === "string" ? bytesOf(message) : new Uint8Array(message);
            return cutAtRandom(payload, parts, seed + index).flatMap((part, at) => {
              const opcode =
                at > 0 ? opcodes.continuation : typeof message === "string" ? opcodes.text : opcodes.binary;
              const frame = frameOf((at === parts - 1 ? 0x80 : 0) | opcode, part);
              return ping ? [writeFrame(opcodes.ping, bytesOf("p"), false), frame] : [frame];
            });
          });
          const state = open();
          const read = cutAtRandom(join(...frames), cuts, seed).flatMap((piece) => state.parser.push(piece));
          expect(read.map((one) => (typeof one === "string" ? one : [...one]))).toEqual(
            all.map(({ message }) => (typeof message === "string" ? message : [...message])),
          );
          expect(state.reserved).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("that a server gets are masked, and come out the same", () => {
    fc.assert(
      fc.property(message, (one) => {
        const frame = writeMessage(typeof one === "string" ? one : new Uint8Array(one));
        expect((frame[1] as number) & 0x80).toBe(0x80);
        const short = (frame[1] as number) & 0x7f;
        const maskAt = short === 126 ? 4 : 2;
        const mask = frame.slice(maskAt, maskAt + 4);
        const payload = frame.slice(maskAt + 4).map((byte, at) => byte ^ (mask[at % 4] as number));
        expect(payload).toEqual(typeof one === "string" ? bytesOf(one) : new Uint8Array(one));
      }),
      { numRuns: 100 },
    );
  });

  test.each([125, 126, 65_535, 65_536, 100_000])("of %d bytes have their length as the protocol says", (length) => {
    const payload = new Uint8Array(length).fill(7);
    expect(open().parser.push(writeFrame(opcodes.binary, payload, false))).toEqual([payload]);
  });

  test("of thousands of tiny frames are read in one go, and the last ping of a piece is answered", () => {
    const { parser, pings } = open();
    const frames: Uint8Array[] = [];
    for (let index = 0; index < 5000; index++) {
      frames.push(writeMessage(String(index % 10), false), writeFrame(opcodes.ping, bytesOf(String(index)), false));
    }
    expect(parser.push(join(...frames))).toHaveLength(5000);
    expect(pings).toEqual(["4999"]);
  });

  test("in parts of a byte or of nothing take no more memory than twice their length", () => {
    const state = open();
    state.parser.push(join(frameOf(opcodes.binary, new Uint8Array(1))));
    const parts = Array.from({ length: 20_000 }, (_, at) => frameOf(opcodes.continuation, new Uint8Array(at % 2)));
    expect(state.parser.push(join(...parts))).toEqual([]);
    expect(state.reserved).toBeLessThanOrEqual(2 * 10_001);
    const [whole] = state.parser.push(join(frameOf(0x80 | opcodes.continuation, new Uint8Array(0)))) as [Uint8Array];
    expect(whole).toHaveLength(10_001);
    expect(state.reserved).toBe(0);
  });

  test("that are only announced take no memory, and what has come of one is freed at the end", () => {
    const state = open();
    const frame = writeFrame(opcodes.binary, new Uint8Array(10_000_000), false);
    state.parser.push(frame.slice(0, 10));
    expect(state.most).toBe(0);
    state.parser.push(frame.slice(10, 1000));
    expect(state.reserved).toBeGreaterThanOrEqual(990);
    expect(state.most).toBeLessThan(10_000);
    state.parser.end();
    expect(state.reserved).toBe(0);
  });

  test.each([
    ["one frame", [frameOf(0x82, new Uint8Array(101)).slice(0, 2)]],
    ["two frames", [frameOf(0x02, new Uint8Array(60)), frameOf(0x80, new Uint8Array(41)).slice(0, 2)]],
    ["a frame of more than can be counted", [new Uint8Array([0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255])]],
  ])("that are too long are refused before they come: %s", (_, frames) => {
    const { kind, isOfRequest, message } = errorOf(() => open(100).parser.push(join(...frames)));
    expect([kind, isOfRequest]).toEqual(["bad_response", true]);
    expect(message).toContain("more than 100 bytes");
    expect(open(100).parser.push(new Uint8Array(frameOf(0x82, new Uint8Array(100))))).toHaveLength(1);
  });

  test.each<[string, Uint8Array[]]>([
    ["compressed, although that was not agreed on", [frameOf(0xc1, bytesOf("a"))]],
    ["of an unknown kind", [frameOf(0x83, bytesOf("a"))]],
    ["masked", [writeMessage("a")]],
    ["a ping in parts", [frameOf(opcodes.ping, bytesOf("a"))]],
    ["a ping that is too long", [writeFrame(opcodes.ping, new Uint8Array(126), false)]],
    ["the continuation of nothing", [frameOf(0x80, bytesOf("a"))]],
    ["of two messages mixed", [frameOf(0x01, bytesOf("a")), frameOf(0x81, bytesOf("b"))]],
    ["a text that is not UTF-8", [frameOf(0x81, new Uint8Array([0xff]))]],
    ["half of a close code", [writeFrame(opcodes.close, new Uint8Array(1), false)]],
  ])("that break the protocol end it: %s", (_, frames) => {
    const { kind, isOfRequest } = errorOf(() => open().parser.push(join(...frames)));
    expect([kind, isOfRequest]).toEqual(["bad_response", false]);
  });

  test("behind a close are not read", () => {
    const { parser } = open();
    const reason = join(new Uint8Array([0x03, 0xf3]), bytesOf("broken"));
    const piece = join(writeMessage("a", false), writeFrame(opcodes.close, reason, false), writeMessage("b", false));
    expect(parser.push(piece)).toEqual(["a"]);
    expect(parser.close).toEqual({ code: 1011, reason: "broken" });
    expect(parser.push(join(writeMessage("c", false)))).toEqual([]);
  });

  test("end without a code where the server gave none", () => {
    const { parser } = open();
    parser.push(new Uint8Array(writeFrame(opcodes.close, new Uint8Array(0), false)));
    expect(parser.close).toEqual({ code: undefined, reason: "" });
    const other = open().parser;
    other.push(writeClose(1000, false));
    expect(other.close?.code).toBe(1000);
  });

  test("of any bytes at all are messages or one error, never another", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const { parser } = open(1000);
        const read: WebSocketMessage[] = [];
        try {
          read.push(...parser.push(new Uint8Array(bytes)));
        } catch (error) {
          expect(error).toBeInstanceOf(UpstreamError);
        }
        expect(read.length).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 500 },
    );
  });
});
