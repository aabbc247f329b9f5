import { isStreamed, type JobKind, requestBody } from "./job.ts";

/** Who is asked what, by the bench's own clients. */
export interface Question {
  kind: JobKind;
  url: string;
  key: string;
  /** Beside those that every proxy gets. */
  headers?: Record<string, string>;
  /** Where it is not the usual one. */
  model?: string;
  /** Asks with so many keys by turns; `pattern` has `%07d` for their number. */
  keys?: { pattern: string; count: number } | undefined;
}

/** Gives the question as it goes over a connection, with the next key each time. */
export function requestsOf(question: Question): () => Buffer {
  const { keys } = question;
  if (keys === undefined) {
    const request = requestBytes(question);
    return () => request;
  }
  const requests = Array.from({ length: keys.count }, (_, at) =>
    requestBytes({ ...question, key: keys.pattern.replace("%07d", String(at + 1).padStart(7, "0")) }),
  );
  let at = 0;
  return () => {
    at = (at + keyStride) % requests.length;
    return requests[at] as Buffer;
  };
}

/** A prime, so that all keys come in an order that is no order. */
const keyStride = 7919;

/** A key is a bearer, unless it names another scheme itself. */
export function toAuthorization(key: string): string {
  return key.includes(" ") ? key : `Bearer ${key}`;
}

function requestBytes({ kind, url, key, headers = {}, model }: Question): Buffer {
  const { hostname, port, pathname } = new URL(url);
  const body = requestBody(kind, model);
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: ${toAuthorization(key)}\r\n${more.join("")}` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

const lastChunk = Buffer.from("0\r\n\r\n");
const lastEvent = Buffer.from("\n\n");

/**
 * A stream is looked at when its end may have come: an empty chunk, or the last event where the server knew the length
 * (Bun sends one when all of the upstream's stream was there before the head). Any other answer, at every read.
 */
export function mayBeWhole(kind: JobKind, bytes: Buffer): boolean {
  if (!isStreamed(kind) || bytes.length < lastChunk.length) return true;
  return bytes.subarray(-lastChunk.length).equals(lastChunk) || bytes.subarray(-2).equals(lastEvent);
}

/** Reads an answer; `undefined` while it is not whole. */
export function readAnswer(bytes: Buffer): { status: number; body: string } | undefined {
  const text = bytes.toString("utf8");
  const bodyAt = text.indexOf("\r\n\r\n") + 4;
  if (bodyAt < 4) return undefined;
  const head = text.slice(0, bodyAt).toLowerCase();
  const status = Number(head.slice(9, 12));
  if (head.includes("transfer-encoding: chunked")) {
    return text.endsWith("\r\n0\r\n\r\n") ? { status, body: unframe(text.slice(bodyAt)) } : undefined;
  }
  const length = Number(/content-length: (\d+)/.exec(head)?.[1]);
  const body = text.slice(bodyAt);
  return Buffer.byteLength(body) >= length ? { status, body } : undefined;
}

/** All that is asked and answered here is ASCII, so that lengths in bytes are lengths in characters. */
function unframe(framed: string): string {
  let body = "";
  let at = 0;
  while (true) {
    const lineEnd = framed.indexOf("\r\n", at);
    const length = Number.parseInt(framed.slice(at, lineEnd), 16);
    if (length === 0 || Number.isNaN(length)) return body;
    body += framed.slice(lineEnd + 2, lineEnd + 2 + length);
    at = lineEnd + 2 + length + 2;
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
