import { afterEach, describe, expect, test } from "bun:test";
import { createServer as createTlsServer } from "node:tls";
import { makeCertificates } from "../../support/certificates.ts";
import { expectError } from "../../support/expect-error.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type RawServer, startRaw } from "../../support/raw-server.ts";
import { saidByChunks, type WireChunk } from "../../support/said.ts";
import { parseEvents } from "../../support/sse.ts";
import { until } from "../../support/until.ts";
import { type FaultRow, faultRows, type Promised, words } from "./fault-rows.ts";

const model = "famA-4.1";
const mebibyte = 1 << 20;
/** The gateway's own bounds of an answer, as small as a test can make them. */
const bytes = { answerBytesMax: 4 * mebibyte, streamBytesMax: 4 * mebibyte };
/** And those of time, as small as a test can wait for: for faults that are about time, and no other's. */
const times = { firstByteMsMax: 700, idleMsMax: 700, beginMsMax: 2000, callMsMax: 3500 };
const readLimitsUsage = (promised: Promised[]) =>
  promised.some(({ code }) => code === "upstream_timeout") ? { ...bytes, ...times } : bytes;

const toStop: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

async function startGateway(baseUrl: string, promised: Promised[]): Promise<InProcessGateway> {
  const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: baseUrl };
  const gateway = await startInProcess({ env, bounds: readLimitsUsage(promised) });
  toStop.push(() => gateway.stop());
  return gateway;
}

async function expectPromised(gateway: InProcessGateway, stream: boolean, promised: Promised): Promise<void> {
  const messages = [{ role: "user", content: "Tell me about kites" }];
  const response = await gateway.post("/chat/completions", { model, messages, stream });
  const { status, code, charged } = promised;
  if (status === 200) {
    expect(response.status).toBe(200);
    const { events, done } = parseEvents<WireChunk & { error?: { code: string } }>(await response.clone().text());
    expect([done, events.at(-1)?.error?.code]).toEqual([false, code]);
    expect(saidByChunks(events).choices[0]?.text).toStartWith(words);
  } else {
    const { message } = await expectError(response.clone() as Response, { status, code });
    expect(message).not.toContain("127.0.0.1");
  }
  const call = gateway.ledger.callOf(response);
  if (charged === "nothing") {
    expect(call).toMatchObject({ state: "released", usage_source: "none" });
    expect(call.charged_nanodollars ?? 0).toBe(0);
  } else {
    expect(call).toMatchObject({ state: "settled", usage_source: "estimated" });
    expect(call.charged_nanodollars).toBeGreaterThan(0);
  }
}

/** Nothing is left of the call: no connection but one that is idle, nothing at work, nothing held. */
async function expectNothingLeft(gateway: InProcessGateway, provider: RawServer): Promise<void> {
  await until(() => provider.open.size <= 1);
  expect(gateway.app.loadShedder.size).toBe(0);
  expect(gateway.ledger.counts().open).toBe(0);
}

async function startProvider(answer: NonNullable<FaultRow["answer"]>): Promise<RawServer> {
  const provider = await startRaw((socket, request) => {
    void answer(socket, request.body.includes('"stream":true'));
  });
  toStop.push(() => provider.stop());
  return provider;
}

describe("a provider that", () => {
  test.each(faultRows.map((row) => [row.name, row] as const))(
    "%s",
    async (_, { answer = () => undefined, baseUrl, whole, streamed }) => {
      const provider = await startProvider(answer);
      const gateway = await startGateway(baseUrl ?? provider.baseUrl, [whole, streamed]);
      const before = process.memoryUsage().rss;
      await expectPromised(gateway, false, whole);
      await expectPromised(gateway, true, streamed);
      await expectNothingLeft(gateway, provider);
      expect(process.memoryUsage().rss - before).toBeLessThan(300 * mebibyte);
    },
  );
});

const certificates = makeCertificates();
if (certificates === undefined) console.log("A false certificate is not tried: there is no openssl command");

test.skipIf(certificates === undefined)("a provider whose certificate nobody vouches for is not asked", async () => {
  let asked = 0;
  const { key, cert } = certificates as NonNullable<typeof certificates>;
  const server = createTlsServer({ key, cert }, (socket) => {
    socket.on("data", () => asked++).on("error", () => socket.destroy());
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  toStop.push(() => new Promise((resolve) => server.close(resolve)));
  const { port } = server.address() as { port: number };
  const failed: Promised = { status: 500, code: "upstream_error", charged: "nothing" };
  const gateway = await startGateway(`https://127.0.0.1:${port}/v1`, [failed]);
  await expectPromised(gateway, false, failed);
  await expectPromised(gateway, true, failed);
  expect(asked).toBe(0);
});
