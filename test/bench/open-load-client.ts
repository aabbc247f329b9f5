/**
 * A load generator with an open arrival rate: calls are due at instants fixed beforehand, as those of many callers who
 * know nothing of each other. A slow answer so delays no later call.
 */
import { connect, type Socket } from "node:net";
import { randomBelow } from "../support/random.ts";
import { mayBeWhole, readAnswer, requestsOf } from "./exchange.ts";
import { isStreamed, mistakeIn } from "./job.ts";
import type { OpenLoadOrder, OpenLoadReport } from "./open-load.ts";
import { endWithParent } from "./parent.ts";

interface Call {
  sentAt: number;
  received: Buffer[];
  hasFirst: boolean;
  /** Whether it was sent a second time: a server may close an idle connection in the instant in which it is used. */
  isSecond: boolean;
}

const order: OpenLoadOrder = JSON.parse(process.argv[2] as string);
const { hostname, port } = new URL(order.url);
const nextRequest = requestsOf(order);
const isStream = isStreamed(order.kind);
const report: OpenLoadReport = { wholeMs: [], firstMs: [], mistakes: [] };
const idle: Socket[] = [];
const busy = new Map<Socket, Call>();
const drainMsMax = 30_000;

/** Gaps between calls of independent callers are exponentially distributed. */
function dueTimes(): number[] {
  const below = randomBelow(order.seed);
  const gapMs = 1000 / order.callsPerSecond;
  const times: number[] = [];
  for (let at = 0; ; ) {
    at += -Math.log((below(1_000_000) + 1) / 1_000_000) * gapMs;
    if (at > order.seconds * 1000) return times;
    times.push(at);
  }
}

function send(call: Call): void {
  const socket = idle.pop();
  if (socket === undefined) return void open(call);
  busy.set(socket, call);
  socket.write(nextRequest());
}

function open(call: Call): void {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () => socket.write(nextRequest()));
  busy.set(socket, call);
  socket.on("data", (bytes: Buffer) => take(socket, bytes));
  socket.on("error", () => undefined);
  socket.on("close", () => lose(socket));
}

function take(socket: Socket, bytes: Buffer): void {
  const call = busy.get(socket);
  if (call === undefined) return;
  call.received.push(bytes);
  if (!call.hasFirst && (!isStream || Buffer.concat(call.received).includes("data:"))) {
    call.hasFirst = true;
    report.firstMs.push(performance.now() - call.sentAt);
  }
  if (!mayBeWhole(order.kind, bytes)) return;
  const answer = readAnswer(Buffer.concat(call.received));
  if (answer === undefined) return;
  report.wholeMs.push(performance.now() - call.sentAt);
  busy.delete(socket);
  idle.push(socket);
  const mistake = mistakeIn(order.kind, answer.status, answer.body);
  if (mistake !== undefined) report.mistakes.push(mistake);
}

function lose(socket: Socket): void {
  const index = idle.indexOf(socket);
  if (index >= 0) idle.splice(index, 1);
  const call = busy.get(socket);
  if (call === undefined) return;
  busy.delete(socket);
  if (call.received.length === 0 && !call.isSecond) return void open({ ...call, isSecond: true });
  report.mistakes.push("A connection was closed before its answer was whole");
}

async function main(): Promise<void> {
  const times = dueTimes();
  const startedAt = performance.now() + 50;
  for (const time of times) {
    const waitMs = startedAt + time - performance.now();
    // The provider needs this core too, so nothing watches the clock. A call that is sent late is timed from then.
    if (waitMs > 0) await Bun.sleep(waitMs);
    send({ sentAt: performance.now(), received: [], hasFirst: false, isSecond: false });
    if (report.mistakes.length > 20) break;
  }
  const deadline = performance.now() + drainMsMax;
  while (busy.size > 0 && performance.now() < deadline) await Bun.sleep(5);
  if (busy.size > 0) report.mistakes.push(`${busy.size} calls were not answered in ${drainMsMax} ms`);
  process.stdout.write(JSON.stringify(report), () => process.exit(0));
}

endWithParent();
await main();
