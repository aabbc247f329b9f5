import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { type Gateway, startGateway } from "../../support/gateway.ts";

const sendersCount = 200;
const isLong = process.env.LONG === "1";
if (!isLong)
  console.log("Slow senders are waited for in the long form alone (LONG=1): their deadlines are whole seconds");

/** Sends a start and then a byte at a time, until the other side has enough; resolves with what it said. */
function sendSlowly(origin: string, start: string, byte: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(start));
    const timer = setInterval(() => socket.write(byte), 500);
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearInterval(timer);
      resolve(text);
    });
  });
}

describe.skipIf(!isLong)("senders of a byte at a time", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({ env: { REQUEST_TIMEOUT_SECONDS: "5", LOG_LEVEL: "warn" } });
  });
  afterAll(() => gateway.stop());

  const head = () => `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n`;
  const slow: [string, () => string, string][] = [
    ["of a head", () => "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ", "x"],
    ["of a body", () => `${head()}content-length: 100000\r\n\r\n{`, " "],
    ["of nothing", () => "", ""],
  ];

  test.each(slow)("%s are closed after a while, and others are served meanwhile", async (_, start, byte) => {
    const senders = Array.from({ length: sendersCount }, () => sendSlowly(gateway.origin, start(), byte));
    const answer = await gateway.post("/chat/completions", {
      model: "famA-4.1-nano",
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(answer.status).toBe(200);
    for (const text of await Promise.all(senders)) expect(text).not.toContain(" 200 ");
    // Who sends badly is not a fault of the gateway's: the log says nothing.
    expect(gateway.stderr()).toBe("");
  });
});
