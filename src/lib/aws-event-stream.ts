import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { UpstreamError } from "../contract/index.ts";
import type { ServerEvent } from "../provider/index.ts";
import { isRecord, parseJson } from "./json.ts";

/** Two lengths and a checksum. */
const preludeBytes = 12;
const checksumBytes = 4;
const headersBytesMax = 128 * 1024;
/** AWS bounds a message by its payload; headers, lengths and checksums come on top. */
const messageBytesMax = 24 * 1024 * 1024 + headersBytesMax + preludeBytes + checksumBytes;

/** Length of header values by their type, in bytes. A value of type 6 or 7 follows its own length. */
const valueBytes: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];
const textType = 7;

/** One message of an AWS event stream, with its text headers only. */
interface EventMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Uint8Array;
}

/** Reads the messages of AWS event streams (`application/vnd.amazon.eventstream`) in pieces as they arrive. */
export class EventStreamReader {
  #bytes = new Uint8Array(0);

  /** Whether nothing of a further message has come. */
  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  /**
   * Takes a piece and gives the messages that are complete.
   *
   * @throws {UpstreamError} `bad_response` when a checksum or a length is wrong.
   */
  push(piece: Uint8Array): EventMessage[] {
    let bytes = piece;
    if (this.#bytes.length > 0) {
      bytes = new Uint8Array(this.#bytes.length + piece.length);
      bytes.set(this.#bytes);
      bytes.set(piece, this.#bytes.length);
    }
    const messages: EventMessage[] = [];
    let at = 0;
    while (bytes.length - at >= preludeBytes) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, bytes.length - at);
      const [total, headersLength] = [view.getUint32(0), view.getUint32(4)];
      if (crc32(bytes.subarray(at, at + 8)) !== view.getUint32(8)) throw broken("a wrong checksum");
      const isLong = total > messageBytesMax || headersLength > headersBytesMax;
      if (isLong || total < preludeBytes + headersLength + checksumBytes) throw broken("an impossible length");
      if (bytes.length - at < total) break;
      const end = at + total - checksumBytes;
      if (crc32(bytes.subarray(at, end)) !== view.getUint32(total - checksumBytes)) throw broken("a wrong checksum");
      const headersEnd = at + preludeBytes + headersLength;
      messages.push({
        headers: readHeaders(bytes.subarray(at + preludeBytes, headersEnd)),
        payload: bytes.subarray(headersEnd, end),
      });
      at += total;
    }
    this.#bytes = bytes.slice(at);
    return messages;
  }
}

function readHeaders(bytes: Uint8Array): Record<string, string> {
  const headers: Record<string, string> = {};
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const decoder = new TextDecoder();
  let at = 0;
  const take = (count: number) => {
    if (at + count > bytes.length) throw broken("headers that are cut");
    at += count;
    return at - count;
  };
  while (at < bytes.length) {
    const nameLength = view.getUint8(take(1));
    const nameAt = take(nameLength);
    const name = decoder.decode(bytes.subarray(nameAt, at));
    const type = view.getUint8(take(1));
    const fixed = valueBytes[type];
    if (fixed === undefined) throw broken("a header of an unknown type");
    const length = fixed < 0 ? view.getUint16(take(2)) : fixed;
    const valueAt = take(length);
    if (type === textType) headers[name] = decoder.decode(bytes.subarray(valueAt, at));
  }
  return headers;
}

/** Events in that encoding, each of a type and a payload, for simulated answers. */
export function writeEventStream(
  events: readonly (readonly [type: string, payload: unknown])[],
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(events.map(([type, payload]) => writeMessage(type, payload))));
}

function writeMessage(type: string, payload: unknown): Uint8Array {
  const encoder = new TextEncoder();
  const texts = { ":event-type": type, ":content-type": "application/json", ":message-type": "event" };
  const headers = Object.entries(texts).flatMap(([name, value]) => {
    const bytes = [name, value].map((text) => encoder.encode(text)) as [Uint8Array, Uint8Array];
    return [bytes[0].length, ...bytes[0], textType, bytes[1].length >> 8, bytes[1].length & 255, ...bytes[1]];
  });
  const body = encoder.encode(JSON.stringify(payload));
  const message = new Uint8Array(preludeBytes + headers.length + body.length + checksumBytes);
  const view = new DataView(message.buffer);
  view.setUint32(0, message.length);
  view.setUint32(4, headers.length);
  view.setUint32(8, crc32(message.subarray(0, 8)));
  message.set(headers, preludeBytes);
  message.set(body, preludeBytes + headers.length);
  view.setUint32(message.length - checksumBytes, crc32(message.subarray(0, -checksumBytes)));
  return message;
}

/**
 * Reads the messages of AWS event streams as events.
 *
 * @example
 * const parser = new EventStreamParser();
 * [parser.push(new Uint8Array(0)), parser.end()]; // => [[], []]
 */
export class EventStreamParser {
  readonly #reader = new EventStreamReader();
  readonly #decoder = new TextDecoder();

  /** @throws {UpstreamError} `bad_response` when a message is damaged. */
  push(piece: Uint8Array): ServerEvent[] {
    return this.#reader.push(piece).map(({ headers, payload }) => toEvent(headers, this.#decoder.decode(payload)));
  }

  /** @throws {UpstreamError} `bad_response` when the last message is cut. */
  end(): ServerEvent[] {
    if (this.#reader.isEmpty) return [];
    throw broken("a last message that is cut");
  }
}

function toEvent(headers: Readonly<Record<string, string>>, data: string): ServerEvent {
  const kind = headers[":message-type"];
  if (kind === "event" || kind === undefined) return { event: headers[":event-type"] ?? "message", data };
  const value = parseJson(data, "document");
  const message = headers[":error-message"] ?? (isRecord(value) ? (value.message ?? value.Message) : data);
  const type = headers[":exception-type"] ?? headers[":error-code"] ?? kind;
  return { event: "error", data: JSON.stringify({ error: { type, message } }) };
}

const broken = (what: string) => new UpstreamError("bad_response", `The provider's event stream has ${what}`);
