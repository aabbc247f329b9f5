import { describe, expect, test } from "bun:test";
import { EventStreamParser, EventStreamReader } from "../../../src/lib/aws-event-stream.ts";
import file from "../../fixtures/aws/event-streams.json";
import { readEvents } from "../../support/chat-streams.ts";
import { drain, piecesOf } from "./fake-call.ts";

const streams = Object.entries(file.streams);
const bytesOf = ({ base64 }: { base64: string }) => Uint8Array.fromBase64(base64);
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe("an AWS event stream", () => {
  test.each(streams)("'%s' has the messages that botocore reads in it", (_, stream) => {
    const messages = new EventStreamReader().push(bytesOf(stream));
    const read = messages.map(({ headers, payload }) => ({ headers, payload: textOf(payload) }));
    expect(read).toEqual(stream.messages as typeof read);
  });

  test.each(streams)("'%s' says the same however it is cut", (_, stream) => {
    const bytes = bytesOf(stream);
    for (const size of [1, 7, 64, 1000]) {
      const reader = new EventStreamReader();
      const payloads: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        for (const { payload } of reader.push(bytes.subarray(at, at + size))) payloads.push(textOf(payload));
      }
      expect([payloads, reader.isEmpty]).toEqual([stream.messages.map(({ payload }) => payload), true]);
    }
  });

  test("that was changed in one byte is refused, wherever the byte stands", () => {
    const bytes = bytesOf(file.streams.text).slice(0, 200);
    const whole = new EventStreamReader().push(bytes).length;
    expect(whole).toBeGreaterThan(0);
    const first = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
    for (let at = 0; at < first; at++) {
      const changed = bytes.slice();
      changed[at] = (changed[at] as number) ^ 1;
      expect(() => new EventStreamReader().push(changed)).toThrow("event stream has");
    }
  });

  test("that ends within a message is not taken for whole", async () => {
    const bytes = bytesOf(file.streams.text);
    const { items, error } = await drain(readEvents(piecesOf(bytes.slice(0, -3)), new EventStreamParser()));
    expect(items).toHaveLength(file.streams.text.messages.length - 1);
    expect(error).toMatchObject({
      kind: "bad_response",
      message: expect.stringContaining("a last message that is cut"),
    });
  });

  test("gives its events by their type, and an exception as an error", async () => {
    const { items } = await drain(readEvents(piecesOf(bytesOf(file.streams.throttled)), new EventStreamParser()));
    expect(items.map(({ event }) => event)).toEqual(["messageStart", "contentBlockDelta", "error"]);
    expect(JSON.parse(items.at(-1)?.data ?? "")).toEqual({
      error: { type: "throttlingException", message: "Too many tokens, please wait before trying again." },
    });
  });

  test("may not claim a length that no message has", () => {
    const prelude = Uint8Array.from([0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    new DataView(prelude.buffer).setUint32(8, 0x4f5a0b5c);
    expect(() => new EventStreamReader().push(prelude)).toThrow("event stream has");
  });
});
