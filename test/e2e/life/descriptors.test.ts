import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { startGateway } from "../../support/gateway.ts";
import { openCliStore } from "../../support/ledger-view.ts";
import { until } from "../../support/until.ts";

const spare = 30;
const strangers = 60;
const callers = 5;
const prlimit = Bun.which("prlimit");
if (prlimit === null) console.log("Skipped, a gateway without descriptors: there is no prlimit command (util-linux)");

/** A connection that stays, and what it was answered. */
function stay(origin: string): { socket: Socket; said: () => string } {
  const { hostname, port } = new URL(origin);
  let text = "";
  const socket = connect(Number(port), hostname, () => socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"));
  socket
    .on("error", () => undefined)
    .on("data", (bytes) => {
      text += bytes;
    });
  return { socket, said: () => text };
}

test.skipIf(prlimit === null)(
  "strangers who stay connected and use up the descriptors of a gateway that has served nobody end no process, and afterwards it serves",
  async () => {
    const gateway = await startGateway({ isFunded: true, env: { SANDBOX: "on" } });
    const ledger = openCliStore(gateway.home);
    const open = () => readdirSync(`/proc/${gateway.pid}/fd`).map(Number);
    const limit = Math.max(...open()) + spare;
    Bun.spawnSync([prlimit as string, "--pid", String(gateway.pid), `--nofile=${limit}:${limit}`]);
    const stayed = Array.from({ length: strangers }, () => stay(gateway.origin));
    try {
      await until(() => Math.max(...open()) >= limit - 1);
      const body = JSON.stringify({ model: "famA-4.1-nano", messages: [{ role: "user", content: "Hello" }] });
      const asking = stayed.filter(({ said }) => said().includes("200 OK")).slice(0, callers);
      for (const { socket } of asking) {
        const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n`;
        socket.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      }
      const statuses = () => asking.map(({ said }) => said().match(/HTTP\/1\.1 \d+/g)?.[1]);
      await until(() => !statuses().includes(undefined));
      expect(new Set(["HTTP/1.1 200", "HTTP/1.1 503"]).union(new Set(statuses())).size).toBe(2);
      // It is written every few seconds, which needs a descriptor.
      await until(() => gateway.stderr().includes("state_file_not_written"));
      for (const { socket } of stayed) socket.destroy();
      await until(async () => (await gateway.post("/chat/completions", body)).status === 200);
      await ledger.untilSettled();
      const answered = statuses().filter((status) => status === "HTTP/1.1 200").length;
      expect(ledger.counts()).toEqual({ calls: answered + 1, open: 0 });
    } finally {
      for (const { socket } of stayed) socket.destroy();
      ledger.close();
      expect(await gateway.stop()).toBe(0);
    }
  },
);
