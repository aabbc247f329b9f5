import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { errorOf } from "../../support/error-of.ts";
import { startGateway } from "../../support/gateway.ts";
import { startPostgres, whyNoPostgres } from "../../support/postgres.ts";
import { type MetricLine, metricsOf, readScrape, sampleOf } from "../../support/prometheus-text.ts";
import { ResponsesClient } from "../../support/responses-client.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { until } from "../../support/until.ts";

const token = "a-token-of-the-operator";
const chat = { model: "gpt-4.1-nano", messages: [{ role: "user", content: "Say hello" }] };

describe("/metrics on a port of its own", () => {
  const shared = useSandboxGateway({ METRICS_PORT: "0" });
  let address = "";
  let lines: MetricLine[] = [];
  beforeAll(async () => {
    const { gateway } = shared;
    address = await metricsOf(gateway);
    await gateway.post("/chat/completions", chat).then((response) => response.text());
    await gateway.post("/chat/completions", { ...chat, stream: true }).then((response) => response.text());
    await gateway.post("/chat/completions", { ...chat, model: `secret ${gateway.key}` });
    await gateway.ask("/models", { headers: { authorization: "" } });
    lines = readScrape(await (await fetch(address)).text());
  });

  test("counts calls, tokens, cost and commits", () => {
    const model = { model: "famA-4.1-nano", plugin: "sandbox" };
    expect(sampleOf(lines, "modelgate_calls_total", { ...model, status: "200", state: "settled" })).toBe(2);
    expect(sampleOf(lines, "modelgate_calls_total", { model: "other", status: "400", state: "refused" })).toBe(1);
    expect(sampleOf(lines, "modelgate_call_duration_seconds_count", model)).toBe(2);
    expect(sampleOf(lines, "modelgate_call_first_byte_seconds_count", model)).toBe(1);
    expect(sampleOf(lines, "modelgate_upstream_attempts_total", { plugin: "sandbox", outcome: "answered" })).toBe(2);
    expect(sampleOf(lines, "modelgate_tokens_total", { ...model, type: "output" })).toBeGreaterThan(0);
    expect(sampleOf(lines, "modelgate_cost_usd_total", model)).toBeGreaterThan(0);
    expect(sampleOf(lines, "modelgate_usage_total", { ...model, source: "reported" })).toBe(2);
    expect(sampleOf(lines, "modelgate_error_answers_total", { code: "invalid_api_key" })).toBe(1);
    expect(sampleOf(lines, "modelgate_ledger_commit_writes_sum")).toBe(4);
    expect(sampleOf(lines, "modelgate_store_up", { store: "sqlite" })).toBe(1);
    expect(sampleOf(lines, "modelgate_calls_running", { capability: "chat" })).toBe(0);
    expect(sampleOf(lines, "modelgate_sandbox")).toBe(1);
    expect(sampleOf(lines, "modelgate_overdrawn_accounts")).toBe(0);
    expect(sampleOf(lines, "process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
    expect(sampleOf(lines, "modelgate_event_loop_lag_seconds", { stat: "max" })).toBeGreaterThan(0);
  });

  test("counts the WebSockets that are open", async () => {
    const { gateway } = shared;
    const count = async () => sampleOf(readScrape(await (await fetch(address)).text()), "modelgate_websockets");
    expect(await count()).toBe(0);
    const client = await ResponsesClient.open(gateway.baseUrl, gateway.key);
    expect(await count()).toBe(1);
    client.close();
    await until(async () => (await count()) === 0);
    const ofProviders = sampleOf(readScrape(await (await fetch(address)).text()), "modelgate_provider_websockets");
    expect(ofProviders).toBe(0);
  });

  test("the last bucket of each histogram equals its count", () => {
    const buckets = lines.filter(({ name, labels }) => name.endsWith("_bucket") && labels.le === "+Inf");
    expect(buckets.length).toBeGreaterThan(4);
    for (const { name, labels, value } of buckets) {
      const { le: _, ...of } = labels;
      expect(sampleOf(lines, name.replace(/_bucket$/, "_count"), of)).toBe(value);
    }
  });

  test("no label holds an account, a key or what a client wrote", async () => {
    const { gateway } = shared;
    const [{ id }] = (await gateway.cli<{ id: string }[]>("account", "list")) as [{ id: string }];
    const text = JSON.stringify(lines);
    for (const secret of [id, gateway.key.split("-")[2] as string, gateway.key.slice(-16), "secret"]) {
      expect(text).not.toContain(secret);
    }
    const names = new Set(lines.flatMap(({ labels }) => Object.keys(labels)));
    const known = ["capability", "model", "plugin", "status", "state", "code", "outcome", "type", "unit", "source"];
    const ofProcess = ["premium", "store", "use", "stat", "le", "version", "commit", "bun", "node", "stream"];
    expect([...names].filter((name) => ![...known, ...ofProcess].includes(name))).toEqual([]);
  });

  test("that port serves nothing else, and the API's port no metrics", async () => {
    const { origin } = new URL(address);
    expect((await fetch(`${origin}/`)).status).toBe(404);
    expect((await fetch(`${origin}/v1/models`)).status).toBe(404);
    expect((await fetch(address, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${shared.gateway.origin}/metrics`)).status).toBe(404);
  });
});

describe("/metrics on the API's port", () => {
  const shared = useSandboxGateway({ METRICS_TOKEN: token });
  const ask = (authorization?: string) =>
    fetch(`${shared.gateway.origin}/metrics`, authorization === undefined ? {} : { headers: { authorization } });

  test("is served with the token", async () => {
    const response = await ask(`Bearer ${token}`);
    expect(response.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    expect(sampleOf(readScrape(await response.text()), "modelgate_models")).toBeGreaterThan(40);
  });

  test("is refused without the token, also with an API key", async () => {
    for (const given of [undefined, "", "Bearer", `Bearer ${token}x`, token, `Bearer ${shared.gateway.key}`]) {
      const response = await ask(given);
      expect([given, response.status]).toEqual([given, 401]);
      expect(((await response.json()) as { error: { code: string } }).error.code).toBe("invalid_api_key");
    }
  });
});

describe("a metrics port that is in use", () => {
  const taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  afterAll(() => taken.stop(true));

  test("stops the start with an error that names the setting", async () => {
    const start = startGateway({ env: { METRICS_PORT: String(taken.port) } });
    expect((await errorOf(start)).message).toContain(
      `Cannot listen on 127.0.0.1:${taken.port}: the port is in use; set METRICS_PORT`,
    );
  });
});

test("a running call is counted with its hold until it ends", async () => {
  const gateway = await startGateway({ env: { METRICS_PORT: "0" }, isFunded: true });
  try {
    const address = await metricsOf(gateway);
    const read = async () => readScrape(await (await fetch(address)).text());
    const body = { ...chat, model: "famA-4.1", messages: [{ role: "user", content: "Hello [[fault:delay=1500]]" }] };
    const answer = gateway.post("/chat/completions", body);
    const running = { capability: "chat" };
    const deadline = Date.now() + 60_000;
    let lines = await read();
    while (sampleOf(lines, "modelgate_held_usd") === 0 && Date.now() < deadline) lines = await read();
    expect(sampleOf(lines, "modelgate_held_usd")).toBeGreaterThan(0);
    expect(sampleOf(lines, "modelgate_calls_running", running)).toBe(1);
    await (await answer).text();
    lines = await read();
    expect(sampleOf(lines, "modelgate_held_usd")).toBe(0);
    expect(sampleOf(lines, "modelgate_calls_running", running)).toBe(0);
  } finally {
    await gateway.stop();
  }
});

if (whyNoPostgres !== undefined) console.warn(`A scrape over PostgreSQL is not tried: ${whyNoPostgres}`);

test.skipIf(whyNoPostgres !== undefined)("a scrape is answered while PostgreSQL hangs, and says so", async () => {
  const server = await startPostgres();
  const gateway = await startGateway({ env: { METRICS_PORT: "0", DATABASE_URL: server.url("postgres") } });
  try {
    const address = await metricsOf(gateway);
    server.freeze(true);
    let isUp = 1;
    // A scrape that waited for the database would be cut off by the server of the metrics.
    await until(async () => {
      isUp = sampleOf(readScrape(await (await fetch(address)).text()), "modelgate_store_up", { store: "postgres" });
      return isUp === 0;
    });
    expect(isUp).toBe(0);
  } finally {
    server.freeze(false);
    await gateway.stop();
    await server.remove();
  }
});
