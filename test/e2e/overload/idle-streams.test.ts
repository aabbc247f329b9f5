import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { completionOf, textChunk } from "../../support/chunks.ts";
import { startGateway } from "../../support/gateway.ts";
import { openCliStore } from "../../support/ledger-view.ts";
import { answerOf, startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

const isLong = process.env.LONG === "1";
/** Both ends of a stream are in this process, which may have 20 000 files open on most machines. */
const streamsCount = isLong ? 9900 : 400;
const openedAtOnce = 100;
/** Ten thousand have 600 MB; with few, what the process takes for itself weighs as much. */
const bytesAStreamMax = isLong ? 60_000 : 150_000;
const settleMsMax = 120_000;

const rssOf = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

/** A provider that says one word of each stream and then thinks; what is not streamed is answered. */
function startThinker() {
  const event = `data: ${JSON.stringify(textChunk("Well"))}\n\n`;
  const whole = answerOf(JSON.stringify(completionOf("Fine", usage)), ["content-type: application/json"]);
  return startRaw((socket, { body }) => {
    const isStream = body.includes('"stream":true');
    socket.write(isStream ? `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${event}` : whole);
  });
}

/** Opens a stream and resolves with its socket once its first word is there. */
function openStream(origin: string, key: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const body = JSON.stringify({ model: "famA-4.1-nano", stream: true, messages: [{ role: "user", content: "Think" }] });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
    });
    let text = "";
    socket.on("error", reject).on("data", (bytes) => {
      text = text.length > 4000 ? text : text + bytes;
      if (text.includes("Well")) resolve(socket);
      else if (text.includes('"error"')) reject(new Error(text));
    });
  });
}

test.skipIf(process.platform !== "linux")(
  `${streamsCount} streams that think cost little memory, and others are served meanwhile`,
  async () => {
    const provider = await startThinker();
    const env = {
      OPENAI_API_KEY: "sk-upstream",
      OPENAI_BASE_URL: provider.baseUrl,
      LOG_LEVEL: "warn",
      OVERLOAD_LAG_MS: "0",
    };
    const gateway = await startGateway({ env, isFunded: true });
    const ledger = openCliStore(gateway.home);
    const sockets: Socket[] = [];
    try {
      const body = { model: "famA-4.1-nano", messages: [{ role: "user", content: "Hello" }] };
      for (let count = 0; count < 50; count++) await (await gateway.post("/chat/completions", body)).text();
      const before = rssOf(gateway.pid);
      while (sockets.length < streamsCount) {
        const opening = Array.from({ length: openedAtOnce }, () => openStream(gateway.origin, gateway.key));
        sockets.push(...(await Promise.all(opening)));
      }
      const bytes = (rssOf(gateway.pid) - before) / streamsCount;
      const mebibytes = Math.round(rssOf(gateway.pid) / 2 ** 20);
      console.log(`${streamsCount} idle streams: ${mebibytes} MB in all, ${Math.round(bytes / 1024)} kB each`);
      expect(bytes).toBeLessThan(bytesAStreamMax);
      const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.post("/chat/completions", body)));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      for (const socket of sockets) socket.destroy();
      await until(() => provider.open.size <= 100, settleMsMax);
      await ledger.untilSettled(settleMsMax);
      expect(ledger.counts()).toEqual({ calls: streamsCount + 70, open: 0 });
    } finally {
      for (const socket of sockets) socket.destroy();
      ledger.close();
      await gateway.stop();
      await provider.stop();
    }
  },
);
