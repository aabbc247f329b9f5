import { afterAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { textChunk } from "../../support/chunks.ts";
import { startInProcess } from "../../support/in-process.ts";
import { startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

const readersCount = 20;
/** The last word of a setting of the system: the most bytes of a buffer. */
const bytesMaxOf = (path: string, otherwise: number) =>
  existsSync(path) ? Number(readFileSync(path, "utf8").trim().split(/\s+/).at(-1)) : otherwise;
/**
 * Of one stream, on the way from a provider to a client who does not read: nearly all in four buffers of the system, two that
 * send and two that receive, which it makes as large as it sees fit and its settings allow (10 to 43 MB in all were seen).
 * Where nobody waited it would grow without end, and never stand still.
 */
const underWayBytesMax =
  2 * (bytesMaxOf("/proc/sys/net/ipv4/tcp_rmem", 8 << 20) + bytesMaxOf("/proc/sys/net/ipv4/tcp_wmem", 8 << 20)) +
  (8 << 20);
const toStop: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

/** A provider that says as much as is taken, and how much that was. */
async function startTalker() {
  const sent: number[] = [];
  const provider = await startRaw(async (socket: Socket) => {
    const index = sent.push(0) - 1;
    const event = `data: ${JSON.stringify(textChunk("word ".repeat(2000)))}\n\n`;
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
    while (!socket.destroyed) {
      sent[index] = (sent[index] as number) + event.length;
      if (!socket.write(event))
        await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => undefined);
    }
  });
  toStop.push(() => provider.stop());
  return { provider, sent };
}

/** Asks for a stream and reads nothing of it. */
function askAndSleep(baseUrl: string, key: string): Socket {
  const { hostname, port, pathname } = new URL(`${baseUrl}/chat/completions`);
  const body = JSON.stringify({ model: "famA-4.1", stream: true, messages: [{ role: "user", content: "Talk" }] });
  const head = `POST ${pathname} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
  const socket = connect(Number(port), hostname, () => {
    socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  });
  return socket.pause().on("error", () => undefined);
}

describe("clients who do not read", () => {
  test("make the provider wait, and hold a bounded part of its answer; when they leave, all of it is let go", async () => {
    const { provider, sent } = await startTalker();
    const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
    const gateway = await startInProcess({ env });
    toStop.push(() => gateway.stop());
    const sockets = Array.from({ length: readersCount }, () => askAndSleep(gateway.baseUrl, gateway.key));
    await until(() => sent.length === readersCount);
    // Nothing moves any more: the sum stands still.
    let before = -1;
    await until(async () => {
      const sum = sent.reduce((total, bytes) => total + bytes, 0);
      const stands = sum === before;
      before = sum;
      if (!stands) await Bun.sleep(300);
      return stands;
    });
    console.log(`${Math.round(before / readersCount / 1024)} kB are taken of a stream that nobody reads`);
    for (const bytes of sent) expect(bytes).toBeLessThan(underWayBytesMax);
    for (const socket of sockets) socket.destroy();
    await until(() => provider.open.size === 0 && gateway.app.loadShedder.size === 0);
    await gateway.ledger.untilSettled();
  });
});
