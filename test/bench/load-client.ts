/**
 * The bench's own load generator: keep-alive connections, one call after the other on each, every answer checked.
 * It lets calls finish that are under way at the end, so that no stream is cut and charged as an abort.
 */
import { connect, type Socket } from "node:net";
import { mayBeWhole, percentile, readAnswer, requestsOf } from "./exchange.ts";
import { mistakeIn } from "./job.ts";
import type { LoadOrder, LoadReport } from "./load.ts";
import { endWithParent } from "./parent.ts";

const order: LoadOrder = JSON.parse(process.argv[2] as string);
const { hostname, port } = new URL(order.url);
const nextRequest = requestsOf(order);

/** The slowest of the peers takes seconds, on a machine that has other work many. Open streams wait for each other. */
const stallMsMax = order.kind === "open" ? 300_000 : 60_000;
const mistakesMax = 20;
/** So many open streams at once would make the event loop late, and be refused. */
const openingMax = order.kind === "open" ? 100 : order.connections;
const wholeMs: number[] = [];
const firstByteMs: number[] = [];
const mistakes: string[] = [];
let callsLeft = order.calls ?? Number.POSITIVE_INFINITY;
let unopened = order.connections;
let open = order.connections;
const startedAt = performance.now();
const endsAt = startedAt + (order.seconds ?? 600) * 1000;

endWithParent();
for (let i = 0; i < openingMax; i++) openNext();

function openNext(): void {
  if (unopened-- > 0) run(connect({ host: hostname, port: Number(port), noDelay: true }));
}

function run(socket: Socket): void {
  let received: Buffer[] = [];
  let isOpening = true;
  const endOpening = () => {
    if (isOpening) openNext();
    isOpening = false;
  };
  let sentAt = 0;
  const next = () => {
    if (mistakes.length > mistakesMax) return report();
    if (callsLeft <= 0 || performance.now() >= endsAt) return void socket.end();
    callsLeft--;
    received = [];
    sentAt = performance.now();
    socket.write(nextRequest());
  };
  socket.setTimeout(stallMsMax, () => socket.destroy(new Error(`Nothing moved for ${stallMsMax} ms`)));
  socket.on("connect", next);
  socket.once("data", endOpening);
  socket.on("data", (bytes: Buffer) => {
    if (received.length === 0) firstByteMs.push(performance.now() - sentAt);
    received.push(bytes);
    if (!mayBeWhole(order.kind, bytes)) return;
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
    endOpening();
    if (sentAt !== 0 && mistakes.length === 0) mistakes.push("A connection was closed before its answer was whole");
    if (--open === 0) report();
  });
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
