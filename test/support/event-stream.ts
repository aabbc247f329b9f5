import { crc32 } from "node:zlib";
import { binaryReply, type Reply } from "./reply.ts";

const encoder = new TextEncoder();

/** A message of an AWS event stream, as the provider writes it. */
function toEventMessage(headers: Readonly<Record<string, string>>, payload: unknown): Uint8Array<ArrayBuffer> {
  const head = Object.entries(headers).flatMap(([name, value]) => {
    const [nameBytes, valueBytes] = [encoder.encode(name), encoder.encode(value)];
    return [nameBytes.length, ...nameBytes, 7, valueBytes.length >> 8, valueBytes.length & 255, ...valueBytes];
  });
  const body = encoder.encode(JSON.stringify(payload));
  const bytes = new Uint8Array(16 + head.length + body.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length);
  view.setUint32(4, head.length);
  view.setUint32(8, crc32(bytes.subarray(0, 8)));
  bytes.set(head, 12);
  bytes.set(body, 12 + head.length);
  view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)));
  return bytes;
}

/** One event of such a stream. */
export function toEvent(type: string, payload: unknown): Uint8Array<ArrayBuffer> {
  return toEventMessage(
    { ":event-type": type, ":content-type": "application/json", ":message-type": "event" },
    payload,
  );
}

/** A whole stream of events, each a type and its payload. */
export function eventStreamReply(...events: readonly [type: string, payload: unknown][]): Reply {
  const body = new Uint8Array(Buffer.concat(events.map(([type, payload]) => toEvent(type, payload))));
  return binaryReply(body, "application/vnd.amazon.eventstream");
}
