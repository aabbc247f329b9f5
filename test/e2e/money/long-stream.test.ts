import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../src/db/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { textChunk } from "../../support/chunks.ts";
import { fillWallet, type Gateway, ownerEmail, startGateway } from "../../support/gateway.ts";

const model = "famA-4.1";
/** 8 dollars a million. */
const nanodollarsPerToken = 8000;
/** What a stream holds of output at first. */
const firstPart = 4096;
const untilMsMax = 60_000;

/** How many chunks the provider sends before it waits for the test. */
const chunksBeforeWait = 3;

/** A provider that goes on until it is left, half a kilobyte at a time, and tells how many have left it. */
function startProvider() {
  let left = 0;
  let goOn = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    fetch(request) {
      request.signal.addEventListener("abort", () => left++);
      const delta = "long ".repeat(100);
      const isResponses = new URL(request.url).pathname.endsWith("/responses");
      const event = isResponses ? { type: "response.output_text.delta", delta } : textChunk(delta);
      const chunk = `data: ${JSON.stringify(event)}\n\n`;
      const { promise } = goOn;
      let sent = 0;
      const body = new ReadableStream<string>({
        async pull(sink) {
          if (sent++ >= chunksBeforeWait) await promise;
          await Bun.sleep(20);
          sink.enqueue(chunk);
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    baseUrl: `http://127.0.0.1:${server.port}/v1`,
    get left() {
      return left;
    },
    /** The stream that waits goes on; the next one waits again. */
    goOn() {
      goOn.resolve();
      goOn = Promise.withResolvers();
    },
    stop: () => server.stop(true),
  };
}

const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
const provider = startProvider();
const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ home, env });
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop();
  rmSync(home, { recursive: true, force: true });
});

const readWalletState = () => gateway.cli<{ balance_usd: string; held_usd: string }>("wallet", "show", ownerEmail);

async function callRows() {
  const store = await openStore({ file: join(home, "modelgate.db") });
  try {
    expect((await verifyLedger(store)).differences).toEqual([]);
    return await store.db.selectFrom("calls").selectAll().orderBy("opened_at").execute();
  } finally {
    await store.close();
  }
}

/** What a command changes is known to the gateway within a second. */
async function untilKnown(balanceUsd: string): Promise<void> {
  const deadline = Date.now() + untilMsMax;
  const known = async () => ((await (await gateway.ask("/key")).json()) as { wallet: { balance_usd: string } }).wallet;
  while ((await known()).balance_usd !== balanceUsd && Date.now() < deadline) await Bun.sleep(20);
}

const question = [{ role: "user", content: "Go on" }];

test.each([
  ["/chat/completions", { messages: question, max_tokens: 32_768 }, "insufficient_balance"],
  ["/responses", { input: "Go on", max_output_tokens: 32_768 }, "insufficient_quota"],
  ["/messages", { messages: question, max_tokens: 32_768 }, "billing_error"],
])(
  "a stream of %s whose wallet is emptied meanwhile ends with an error, and owes no more than there was",
  async (path, body, code) => {
    await fillWallet(gateway, "1.00");
    await untilKnown("1");
    const { left } = provider;
    const answer = await gateway.post(path, { model, stream: true, ...body });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-modelgate-lowered")).toBeNull();
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let text = decoder.decode((await reader.read()).value);
    // All but what it holds, and a bit.
    const { balance_usd } = await readWalletState();
    const usd = (Number(balance_usd) - (nanodollarsPerToken * 3 * firstPart) / 1e9).toFixed(9);
    await gateway.cli("wallet", "debit", "--account", ownerEmail, "--usd", usd, "--note", "elsewhere");
    provider.goOn();
    for (let next = await reader.read(); !next.done; next = await reader.read()) text += decoder.decode(next.value);
    const events = text.trim().split("\n\n");
    expect(events.length).toBeGreaterThan(5);
    expect(events.at(-1)).toContain(code);
    expect(text).not.toContain("[DONE]");
    const deadline = Date.now() + untilMsMax;
    while (provider.left === left && Date.now() < deadline) await Bun.sleep(10);
    expect(provider.left).toBe(left + 1);
    const wallet = await readWalletState();
    expect(Number(wallet.held_usd)).toBe(0);
    expect(Number(wallet.balance_usd)).toBeGreaterThanOrEqual(0);
    const call = (await callRows()).at(-1);
    expect(call).toMatchObject({
      state: "settled",
      usage_source: "estimated",
      status: 403,
      error_code: "insufficient_balance",
    });
    expect(call?.charged_nanodollars).toBeLessThanOrEqual(call?.hold_nanodollars as number);
    // Some thousand tokens came, and what is left is there for the next.
    expect(call?.output_tokens).toBeGreaterThan(1000);
    await gateway.cli("wallet", "debit", "--account", ownerEmail, "--usd", wallet.balance_usd, "--note", "next");
  },
);

test("a gateway killed with -9 in the middle of a stream charges nothing, and reports what was held at last", async () => {
  await fillWallet(gateway, "1.00");
  await untilKnown("1");
  const answer = await gateway.post("/chat/completions", { model, stream: true, messages: question });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const read = (async () => {
    while (!(await reader.read()).done);
  })().catch(() => undefined);
  provider.goOn();
  const heldOf = async () => Number((await readWalletState()).held_usd) * 1e9;
  const deadline = Date.now() + untilMsMax;
  while ((await heldOf()) < nanodollarsPerToken * 3 * firstPart && Date.now() < deadline) await Bun.sleep(10);
  process.kill(gateway.pid, "SIGKILL");
  await gateway.stop();
  await read;
  gateway = await startGateway({ home, env });
  const call = (await callRows()).at(-1);
  expect(call).toMatchObject({ state: "abandoned", charged_nanodollars: null });
  expect(call?.hold_nanodollars).toBeGreaterThanOrEqual(nanodollarsPerToken * 3 * firstPart);
  expect(await readWalletState()).toMatchObject({ balance_usd: "1", held_usd: "0" });
});
