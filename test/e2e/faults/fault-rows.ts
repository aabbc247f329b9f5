import { once } from "node:events";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { completionOf, textChunk } from "../../support/chunks.ts";

/** What a client sees of a fault, and what becomes of its call. */
export interface Promised {
  /** Of the answer: what failed before the first piece has a status of its own. */
  status: number;
  code: string;
  charged: "nothing" | "what was said";
}

/** One way for a provider to fail, made on a socket of its own. */
export interface FaultRow {
  name: string;
  /** Called with each request; absent where nobody is there to ask. */
  answer?: (socket: Socket, stream: boolean) => void | Promise<void>;
  /** The base URL where it is not that of the loopback provider. */
  baseUrl?: string;
  whole: Promised;
  streamed: Promised;
}

const failed: Promised = { status: 500, code: "upstream_error", charged: "nothing" };
/** It had begun to serve. */
const begun: Promised = { ...failed, charged: "what was said" };
/** It goes on after it was given up, and bills. */
const late: Promised = { status: 500, code: "upstream_timeout", charged: "what was said" };
const brokenOff: Promised = { status: 200, code: "upstream_error", charged: "what was said" };
const fellSilent: Promised = { status: 200, code: "upstream_timeout", charged: "what was said" };

/** What a provider says before it fails. */
export const words = "Kites fly well in a steady wind";
const mebibyte = Buffer.alloc(1 << 20, 32);
const [eventStream, json] = ["text/event-stream", "application/json"];

/** A thousandth of what it unpacks to. */
const bomb = gzipSync(Buffer.alloc(128 << 20, 32), { level: 1 });

const headOf = (mediaType: string, ...lines: string[]) =>
  ["HTTP/1.1 200 OK", `content-type: ${mediaType}`, ...lines, "", ""].join("\r\n");
const chunked = "transfer-encoding: chunked";
const chunkOf = (bytes: Uint8Array | string) =>
  Buffer.concat([Buffer.from(`${Buffer.byteLength(bytes).toString(16)}\r\n`), Buffer.from(bytes), Buffer.from("\r\n")]);
const eventOf = (payload: unknown) => `data: ${JSON.stringify(payload)}\n\n`;
const wholeAnswer = (mediaType: string, body: string | Uint8Array, ...lines: string[]) =>
  Buffer.concat([
    Buffer.from(headOf(mediaType, `content-length: ${Buffer.byteLength(body)}`, ...lines)),
    Buffer.from(body),
  ]);

/** Begins an answer: a stream says its first words, a whole answer opens its JSON. */
function beginAnswer(socket: Socket, stream: boolean): void {
  socket.write(headOf(stream ? eventStream : json, chunked));
  socket.write(chunkOf(stream ? eventOf(textChunk(words)) : '{"id":'));
}

/** Writes as fast as it is read, until the other side leaves; tells how much that was. */
async function pour(socket: Socket, bytesMax: number, piece: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytesMax && !socket.destroyed; sent += piece.byteLength) {
    if (!socket.write(piece)) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => undefined);
  }
}

/** A byte at a time, for ever. */
async function drip(socket: Socket, gapMs: number): Promise<void> {
  for (let at = 0; !socket.destroyed; at++) {
    socket.write(chunkOf(at % 2 === 0 ? " " : "\n"));
    await Bun.sleep(gapMs);
  }
}

/** Every fault of the table in docs/api.md, in its order. */
export const faultRows: FaultRow[] = [
  { name: "refuses the connection", baseUrl: "http://127.0.0.1:1/v1", whole: failed, streamed: failed },
  {
    name: "resets the connection",
    answer: (socket) => void socket.resetAndDestroy(),
    whole: failed,
    streamed: failed,
  },
  {
    name: "resets it in the middle of its answer",
    async answer(socket, stream) {
      beginAnswer(socket, stream);
      await Bun.sleep(50);
      socket.resetAndDestroy();
    },
    whole: begun,
    streamed: brokenOff,
  },
  {
    // Longer than a label may be, so that no name service has to be asked about it.
    name: "has a host name that nobody knows",
    baseUrl: `http://${"x".repeat(64)}.invalid/v1`,
    whole: failed,
    streamed: failed,
  },
  { name: "hangs before its head", answer: () => undefined, whole: late, streamed: late },
  { name: "hangs in the middle of its answer", answer: beginAnswer, whole: late, streamed: fellSilent },
  {
    name: "drips a byte at a time",
    async answer(socket, stream) {
      beginAnswer(socket, stream);
      await drip(socket, 20);
    },
    whole: late,
    streamed: fellSilent,
  },
  {
    name: "streams without an end",
    async answer(socket, stream) {
      beginAnswer(socket, stream);
      const piece = stream ? eventOf(textChunk(`${words} `.repeat(500))).repeat(8) : '"more",'.repeat(20_000);
      await pour(socket, 1 << 30, chunkOf(piece));
    },
    whole: begun,
    streamed: brokenOff,
  },
  {
    name: "says that its body has a gigabyte, and sends it",
    async answer(socket, stream) {
      socket.write(headOf(stream ? eventStream : json, `content-length: ${1 << 30}`));
      await pour(socket, 1 << 30, mebibyte);
    },
    whole: begun,
    streamed: failed,
  },
  {
    name: "packs a great deal into little",
    answer: (socket, stream) =>
      void socket.write(wholeAnswer(stream ? eventStream : json, bomb, "content-encoding: gzip")),
    whole: failed,
    streamed: failed,
  },
  {
    name: "answers with a page of HTML",
    answer: (socket) => void socket.write(wholeAnswer("text/html", "<html><body>Bad gateway</body></html>")),
    whole: failed,
    streamed: failed,
  },
  {
    name: "says an error in a 200",
    answer(socket, stream) {
      const error = { error: { message: "Overloaded", type: "server_error" } };
      const body = stream ? eventOf(error) : JSON.stringify(error);
      socket.write(wholeAnswer(stream ? eventStream : json, body));
    },
    whole: failed,
    streamed: failed,
  },
  {
    name: "says an error in the middle of its stream",
    answer(socket, stream) {
      const error = { error: { message: "Overloaded", type: "server_error" } };
      const body = stream ? eventOf(textChunk(words)) + eventOf(error) : JSON.stringify(completionOf(words)).slice(1);
      socket.write(wholeAnswer(stream ? eventStream : json, body));
    },
    whole: failed,
    streamed: brokenOff,
  },
  {
    name: "redirects to a private address",
    answer: (socket) =>
      void socket.write("HTTP/1.1 307 Elsewhere\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n"),
    whole: failed,
    streamed: failed,
  },
];
