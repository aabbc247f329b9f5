/**
 * The bench's own load generator: keep-alive connections, one call after the other on each, every answer checked.
 * It lets calls finish that are under way at the end, so that no stream is cut and charged as an abort.
 */
import { connect, type Socket } from "node:net";
import { mistakeIn, requestBody } from "./job.ts";
import type { LoadOrder, LoadReport } from "./load.ts";
import { endWithParent } from "./parent.ts";

const order: LoadOrder = JSON.parse(process.argv[2] as string);
const { hostname, port, pathname } = new URL(order.url);
const body = requestBody(order.kind);
const request = Buffer.from(
  `POST ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${order.key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);

const lastChunk = Buffer.from("0\r\n\r\n");
const lastEvent = Buffer.from("\n\n");
const stallMsMax = 20_000;
const wholeMs: number[] = [];
const firstByteMs: number[] = [];
const mistakes: string[] = [];
let callsLeft = order.calls ?? Number.POSITIVE_INFINITY;
let open = order.connections;
const startedAt = performance.now();
const endsAt = startedAt + (order.seconds ?? 600) * 1000;

endWithParent();
for (let i = 0; i < order.connections; i++) run(connect({ host: hostname, port: Number(port), noDelay: true }));

function run(socket: Socket): void {
  let received: Buffer[] = [];
  let sentAt = 0;
  const next = () => {
    if (callsLeft <= 0 || performance.now() >= endsAt || mistakes.length > 20) return void socket.end();
    callsLeft--;
    received = [];
    sentAt = performance.now();
    socket.write(request);
  };
  socket.setTimeout(stallMsMax, () => socket.destroy(new Error(`Nothing moved for ${stallMsMax} ms`)));
  socket.on("connect", next);
  socket.on("data", (bytes: Buffer) => {
    if (received.length === 0) firstByteMs.push(performance.now() - sentAt);
    received.push(bytes);
    if (!mayBeWhole(bytes)) return;
    const answer = readAnswer(Buffer.concat(received));
    if (answer === undefined) return;
    wholeMs.push(performance.now() - sentAt);
    const mistake = mistakeIn(order.kind, answer.status, answer.body);
    if (mistake !== undefined) mistakes.push(mistake);
    sentAt = 0;
    next();
  });
  socket.on("error", (error) => mistakes.push(String(error)));
  socket.on("close", () => {
    if (sentAt !== 0 && mistakes.length === 0) mistakes.push("A connection was closed before its answer was whole");
    if (--open === 0) report();
  });
}

/**
 * A stream is looked at when its end may have come: an empty chunk, or the last event where the server knew the length
 * (Bun sends one when all of the upstream's stream was there before the head). Any other answer, at every read.
 */
function mayBeWhole(bytes: Buffer): boolean {
  if (order.kind === "json" || bytes.length < lastChunk.length) return true;
  return bytes.subarray(-lastChunk.length).equals(lastChunk) || bytes.subarray(-2).equals(lastEvent);
}

function readAnswer(bytes: Buffer): { status: number; body: string } | undefined {
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

function report(): void {
  const result: LoadReport = {
    calls: wholeMs.length,
    seconds: (performance.now() - startedAt) / 1000,
    p50Ms: percentile(wholeMs, 0.5),
    p99Ms: percentile(wholeMs, 0.99),
    firstByteP50Ms: percentile(firstByteMs, 0.5),
    firstByteP99Ms: percentile(firstByteMs, 0.99),
    mistakes,
  };
  process.stdout.write(JSON.stringify(result), () => process.exit(0));
}

function percentile(values: number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
