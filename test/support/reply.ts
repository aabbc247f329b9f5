import type { Recording } from "./recordings.ts";

/**
 * How an answer goes wrong on the wire:
 * - `hang`: nothing is ever sent; `hangAfter`: the head and `bytes` of the body, then silence
 * - `cutAfter`: the head and `bytes` of the body, then the connection is closed unfinished
 * - `reset`: the connection is reset before any byte
 * - `drip`: whole, in slices `gapMs` apart
 */
export type Fault =
  | { kind: "hang" }
  | { kind: "hangAfter"; bytes: number }
  | { kind: "cutAfter"; bytes: number }
  | { kind: "reset" }
  | { kind: "drip"; gapMs: number };

/** What the replay upstream answers to one request. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  /** Into how many slices the body is cut, at random bytes, or the bytes at which it is cut; 1 sends it whole. */
  slices: number | number[];
  fault?: Fault;
}

/** Headers that describe the recorder's transport and not this one's. */
const transportHeaders = new Set(["content-encoding", "content-length", "transfer-encoding", "connection"]);

const slicesOfStream = 24;

/** The recorded answer as it came, a stream in slices; `.chunks.txt` gets the SSE framing its source left out. */
export function replyOf(recording: Recording): Reply {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(recording.headers)) {
    if (!transportHeaders.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
  }
  if (recording.path.endsWith(".chunks.txt")) return streamReply(frame(recording.body), headers);
  if (recording.path.endsWith(".sse")) return streamReply(recording.body, headers);
  headers["content-type"] ??= "application/json";
  return { status: recording.status, headers, body: recording.body, slices: 1 };
}

/** A JSON answer. */
export function jsonReply(body: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  const type = { "content-type": "application/json" };
  return { status, headers: { ...type, ...headers }, body: bytesOf(JSON.stringify(body)), slices: 1 };
}

/** Any text as the body, such as garbage or nothing at all. */
export function textReply(body: string, contentType = "application/json", status = 200): Reply {
  return { status, headers: { "content-type": contentType }, body: bytesOf(body), slices: 1 };
}

/** An SSE answer of these `data:` payloads; a string is sent as it is, anything else as JSON. */
export function eventsReply(...payloads: unknown[]): Reply {
  const text = payloads.map((payload) => (typeof payload === "string" ? payload : JSON.stringify(payload)));
  return streamReply(bytesOf(text.map((data) => `data: ${data}\n\n`).join("")), {});
}

/** Binary of a media type, in slices. */
export function binaryReply(body: Uint8Array<ArrayBuffer>, mediaType: string): Reply {
  return { status: 200, headers: { "content-type": mediaType }, body, slices: 8 };
}

function streamReply(body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Reply {
  return {
    status: 200,
    headers: { ...headers, "content-type": headers["content-type"] ?? "text/event-stream" },
    body,
    slices: slicesOfStream,
  };
}

function frame(lines: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const payloads = new TextDecoder()
    .decode(lines)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return bytesOf([...payloads, "[DONE]"].map((payload) => `data: ${payload}\n\n`).join(""));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
