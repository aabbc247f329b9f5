import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { completionOf } from "../../support/chunks.ts";
import { expectError } from "../../support/expect-error.ts";
import { startInProcess } from "../../support/in-process.ts";
import { answerOf, startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

const model = "famA-4.1";
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const toStop: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

/** A gateway whose provider answers when it is told to. */
async function startHeld(env: Record<string, string>) {
  const waiting: (() => void)[] = [];
  const answer = answerOf(JSON.stringify(completionOf("Fine", usage)), ["content-type: application/json"]);
  const provider = await startRaw((socket) => void waiting.push(() => socket.write(answer)));
  toStop.push(() => provider.stop());
  const keys = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
  const gateway = await startInProcess({ env: { ...keys, ...env } });
  toStop.push(() => gateway.stop());
  const ask = (content = "Hello") =>
    gateway.post("/chat/completions", { model, messages: [{ role: "user", content }] });
  const release = () => {
    for (const answerOne of waiting.splice(0)) answerOne();
  };
  return { gateway, ask, waiting, release };
}

async function expectRefused(response: Response, says: string): Promise<void> {
  expect(response.headers.get("retry-after")).toBe("1");
  await expectError(response, { status: 503, code: "unavailable", says });
}

describe("a gateway", () => {
  test("with MAX_CONCURRENT_CALLS at work refuses the next at once; those at work are answered, and then there is room", async () => {
    const { gateway, ask, waiting, release } = await startHeld({ MAX_CONCURRENT_CALLS: "4" });
    const accepted = Array.from({ length: 4 }, () => ask());
    await until(() => waiting.length === 4);
    const refused = await Promise.all(Array.from({ length: 20 }, () => ask()));
    for (const response of refused) await expectRefused(response, "4 running calls");
    expect(waiting.length).toBe(4);
    release();
    for (const response of await Promise.all(accepted)) expect(response.status).toBe(200);
    const next = ask();
    await until(() => waiting.length === 1);
    release();
    expect((await next).status).toBe(200);
    expect(gateway.ledger.counts()).toEqual({ calls: 5, open: 0 });
  });

  test("with MAX_BUFFERED_BODY_MB of large bodies of an account at work refuses it another large one, and takes small ones", async () => {
    const { ask, waiting, release } = await startHeld({ MAX_BUFFERED_BODY_MB: "1" });
    const large = "x".repeat(700_000);
    const first = ask(large);
    await until(() => waiting.length === 1);
    const refused = await ask(large);
    expect(refused.headers.get("retry-after")).toBe("1");
    await expectError(refused, {
      status: 429,
      code: "rate_limit_exceeded",
      says: "hold 1400124 bytes, which leaves no room for",
    });
    const small = ask();
    await until(() => waiting.length === 2);
    release();
    expect([(await first).status, (await small).status]).toEqual([200, 200]);
    const again = ask("x".repeat(2_000_000));
    await until(() => waiting.length === 1);
    release();
    expect((await again).status).toBe(200);
  });

  test.each([
    ["two hundred headers and more", Array.from({ length: 300 }, (_, index) => `x-${index}: 1\r\n`).join("")],
    ["a header of 20 kB", `x-long: ${"x".repeat(20_000)}\r\n`],
  ])("refuses %s with 431, closes the connection, and serves on", async (_, headers) => {
    const { gateway, ask, waiting, release } = await startHeld({});
    const { hostname, port } = new URL(gateway.baseUrl);
    const floods = Array.from({ length: 50 }, () => sendRaw(hostname, Number(port), headers));
    const called = ask();
    for (const text of await Promise.all(floods)) expect(text).toStartWith("HTTP/1.1 431 ");
    await until(() => waiting.length === 1);
    release();
    expect((await called).status).toBe(200);
  });
});

/** What comes back until the connection is closed. */
function sendRaw(host: string, port: number, headers: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => socket.write(`GET /healthz HTTP/1.1\r\nhost: x\r\n${headers}\r\n`));
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes;
    });
    socket.on("error", () => undefined).on("close", () => resolve(text));
  });
}
