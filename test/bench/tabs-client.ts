/**
 * Tabs of the dashboard as a gateway sees them, at the least cost of their own: a browser has a core of its own, these
 * share theirs with the load. Requests are made beforehand, each on a connection that its tab keeps.
 */
import { connect, type Socket } from "node:net";
import { endWithParent } from "./parent.ts";
import type { TabsOrder, TabsReport } from "./tabs.ts";

const order: TabsOrder = JSON.parse(process.argv[2] as string);
const { host, hostname, port } = new URL(order.origin);
const report: TabsReport = { refreshes: 0, mistakes: [] };
const endsAt = performance.now() + order.seconds * 1000;
const headEnd = Buffer.from("\r\n\r\n");

/** A connection of a tab. */
class Line {
  /** Of the calls that were told last. */
  stamp = "";
  readonly #socket: Socket;
  /** What came of the head of the answer. */
  #head = Buffer.alloc(0);
  /** Bytes of the answer that are still to come; absent before the end of its head. */
  #left: number | undefined;
  #isBusy = false;

  constructor() {
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#socket.on("error", (error) => report.mistakes.push(String(error)));
    this.#socket.on("close", () => this.#isBusy && report.mistakes.push("closed before the answer was whole"));
  }

  ask(request: Buffer): void {
    if (this.#isBusy) return void report.mistakes.push(`no answer within ${order.refreshMs} ms`);
    this.#isBusy = true;
    this.#head = Buffer.alloc(0);
    this.#left = undefined;
    this.#socket.write(request);
  }

  #take(bytes: Buffer): void {
    let rest = bytes.length;
    if (this.#left === undefined) {
      const came = Buffer.concat([this.#head, bytes]);
      const headLength = came.indexOf(headEnd);
      this.#head = came;
      if (headLength < 0) return;
      const head = came.toString("latin1", 0, headLength);
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      if (!head.startsWith("HTTP/1.1 200 ") || length === undefined) return void report.mistakes.push(head);
      this.#left = Number(length);
      rest = came.length - headLength - headEnd.length;
    }
    this.#left -= rest;
    // It is the last that is told.
    const stamp = /"stamp":"([^"]+)"/.exec(bytes.toString("latin1", Math.max(0, bytes.length - 100)))?.[1];
    if (stamp !== undefined) this.stamp = stamp;
    if (this.#left <= 0) this.#isBusy = false;
  }
}

function requestFor(path: string, cookie: string): Buffer {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\nAccept: */*\r\n\r\n`);
}

async function tab(cookie: string, index: number): Promise<void> {
  const { path, usagePath, refreshMs } = order;
  const line = new Line();
  let [stamp, request] = ["", requestFor(path, cookie)];
  const usage = requestFor(usagePath, cookie);
  let dueAt = performance.now() + (index * refreshMs) / order.cookies.length;
  for (;;) {
    await Bun.sleep(Math.max(0, dueAt - performance.now()));
    if (performance.now() >= endsAt || report.mistakes.length > 20) return;
    if (stamp !== line.stamp) {
      if (stamp !== "") new Line().ask(usage);
      stamp = line.stamp;
      request = requestFor(path + stamp, cookie);
    }
    line.ask(request);
    report.refreshes += 1;
    dueAt += refreshMs;
  }
}

endWithParent();
await Promise.all(order.cookies.map(tab));
// What is under way may end.
await Bun.sleep(500);
process.stdout.write(JSON.stringify(report), () => process.exit(0));
