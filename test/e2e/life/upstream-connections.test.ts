import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createProxy } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { makeCertificates } from "../../support/certificates.ts";
import { completionOf } from "../../support/chunks.ts";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { answerOf, startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

const limit = "BUN_CONFIG_MAX_HTTP_REQUESTS";
const answer = answerOf(JSON.stringify(completionOf("Fine", { prompt_tokens: 3, completion_tokens: 2 })), [
  "content-type: application/json",
]);
const question = { model: "famA-4.1-nano", messages: [{ role: "user", content: "Hello" }] };
const certificates = makeCertificates();
if (certificates === undefined) console.log("Proxies are not tested: there is no openssl command");

const toStop: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

async function start(env: Record<string, string>): Promise<Gateway> {
  const gateway = await startGateway({
    env: { OPENAI_API_KEY: "sk-upstream", ...env },
    isFunded: true,
    isEngineOwn: true,
  });
  toStop.push(() => gateway.stop());
  return gateway;
}

test("600 calls are with their provider at once", async () => {
  const waiting: Socket[] = [];
  const provider = await startRaw((socket) => void waiting.push(socket));
  toStop.push(() => provider.stop());
  const gateway = await start({ OPENAI_BASE_URL: provider.baseUrl });
  // The test's own fetch has the limit: each call has a socket of its own.
  const body = JSON.stringify(question);
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n`;
  const statuses: string[] = [];
  const clients: Socket[] = [];
  const port = Number(new URL(gateway.origin).port);
  const ask = () => {
    const client = connect(port, "127.0.0.1", () => {
      client.write(`${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
    clients.push(client);
    client.once("data", (bytes) => {
      const status = String(bytes).slice(0, 15);
      // On a machine with too much to do some are refused by the gateway's own load, and ask again as clients do.
      if (status.startsWith("HTTP/1.1 503")) setTimeout(ask, 200);
      else statuses.push(status);
    });
  };
  for (let index = 0; index < 600; index++) ask();
  toStop.push(() => clients.forEach((client) => void client.destroy()));
  await until(() => waiting.length === 600 || statuses.length > 0, 60_000);
  expect(statuses).toEqual([]);
  for (const socket of waiting) socket.write(answer);
  await until(() => statuses.length === 600);
  expect(new Set(statuses)).toEqual(new Set(["HTTP/1.1 200 OK"]));
});

const whyNot = existsSync("/proc/self/environ") ? undefined : "the environment of a process is read from Linux's /proc";
if (whyNot !== undefined) console.log(`Skipped, the limit of fetch: ${whyNot}`);

test.skipIf(whyNot !== undefined).each([
  ["is the highest by itself", {}, "65535"],
  ["is what the operator wants", { [limit]: "500" }, "500"],
])("how many requests a gateway sends at once %s, in the process that was started", async (_, env, value) => {
  const gateway = await startGateway({ env: env as Record<string, string>, isEngineOwn: true });
  try {
    const environment = readFileSync(`/proc/${gateway.pid}/environ`, "utf8").split("\0");
    expect(environment.filter((line) => line.startsWith(limit))).toEqual([`${limit}=${value}`]);
  } finally {
    expect(await gateway.stop()).toBe(0);
  }
});

test.skipIf(whyNot !== undefined)(
  "a gateway sets its engine before it starts, but for what the operator has set",
  async () => {
    const gateway = await startGateway({ env: { BUN_GC_TIMER_INTERVAL: "2000" }, isEngineOwn: true });
    try {
      const lines = new Set(readFileSync(`/proc/${gateway.pid}/environ`, "utf8").split("\0"));
      for (const line of [
        "MIMALLOC_PURGE_HOLES_MIN_INTERVAL=10000",
        "BUN_GC_TIMER_INTERVAL=2000",
        "BUN_JSC_thresholdForFTLOptimizeAfterWarmUp=1000000",
        "BUN_JSC_startupJITDeferralScale=8",
      ]) {
        expect(lines).toContain(line);
      }
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
  },
);

/** A provider that speaks TLS under a name that only the proxy knows, and the proxy. */
async function startBehindProxy() {
  const { key, foreignCert, ca } = certificates as NonNullable<typeof certificates>;
  const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  toStop.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "ca.pem"), ca);
  const open = new Set<{ destroy(): void }>();
  const track = <Connection extends Socket>(socket: Connection): Connection => {
    open.add(socket);
    return socket.on("close", () => open.delete(socket)).on("error", () => undefined);
  };
  const provider = createTlsServer({ key, cert: foreignCert }, (socket) => {
    track(socket).on("data", () => socket.write(answer));
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const { port } = provider.address() as { port: number };
  const tunnels: string[] = [];
  const proxy = createProxy((_, response) => response.writeHead(500).end());
  proxy.on("connect", ({ url = "" }, socket: Socket) => {
    tunnels.push(url);
    const upstream = track(connect(port, "127.0.0.1"));
    track(socket).write("HTTP/1.1 200 Connection established\r\n\r\n");
    upstream.pipe(socket).pipe(upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  toStop.push(() => {
    for (const socket of open) socket.destroy();
    provider.close();
    proxy.close();
  });
  const env = {
    NODE_EXTRA_CA_CERTS: join(folder, "ca.pem"),
    HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as { port: number }).port}`,
  };
  return { env, tunnels };
}

test.skipIf(certificates === undefined)("a provider is asked by HTTPS_PROXY, but where NO_PROXY names it", async () => {
  const { env, tunnels } = await startBehindProxy();
  const baseUrl = { OPENAI_BASE_URL: "https://elsewhere.example/v1" };
  const behind = await start({ ...env, ...baseUrl });
  for (let call = 0; call < 2; call++) expect((await behind.post("/chat/completions", question)).status).toBe(200);
  expect(tunnels).toEqual(["elsewhere.example:443"]);
  const beside = await start({ ...env, ...baseUrl, NO_PROXY: "elsewhere.example" });
  expect((await beside.post("/chat/completions", question)).status).toBe(500);
  expect(tunnels).toHaveLength(1);
});

test("a proxy gets the name and the password of its URL, and its client is told of one that refuses and of one that is gone", async () => {
  const authorizations: (string | undefined)[] = [];
  const proxy = createProxy((_, response) => response.writeHead(500).end());
  proxy.on("connect", ({ headers }, socket: Socket) => {
    authorizations.push(headers["proxy-authorization"]);
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise<void>((resolve) => void proxy.close(() => resolve()));
  toStop.push(close);
  const { port } = proxy.address() as { port: number };
  const gateway = await start({
    HTTPS_PROXY: `http://ada:pass%40word@127.0.0.1:${port}`,
    OPENAI_BASE_URL: "https://elsewhere.example/v1",
  });
  const ask = async () => (await gateway.post("/chat/completions", question)).text();
  expect(await ask()).toContain("Cannot connect to openai: the proxy refused to connect");
  const expected = `Basic ${btoa("ada:pass@word")}`;
  expect(authorizations).toEqual(authorizations.map(() => expected));
  expect(authorizations).not.toEqual([]);
  await close();
  expect(await ask()).toContain("Cannot connect to openai: connection refused");
  expect(gateway.stderr()).not.toContain("pass@word");
});
