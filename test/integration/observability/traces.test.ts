import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Gateway, startGateway } from "../../support/gateway.ts";
import { metricsOf, readScrape, sampleOf } from "../../support/prometheus-text.ts";
import { type CollectedSpan, startCollector } from "./collector.ts";

const canary = "canary-7f3e-never-in-a-span";
const chat = (text: string, more: object = {}) => ({
  model: "gpt-4.1-nano",
  messages: [{ role: "user", content: `${canary} ${text}` }],
  ...more,
});
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parentId = "b7ad6b7169203331";

/** The spans of one call: its own, and those of its attempts. */
function callIn(spans: CollectedSpan[], id: string | null) {
  const call = spans.find(({ attributes }) => attributes["gen_ai.response.id"] === id);
  if (call === undefined) throw new Error(`No span of the call ${id}`);
  return { call, attempts: spans.filter(({ parentSpanId }) => parentSpanId === call.spanId) };
}

const idOf = (response: Response) => response.headers.get("x-request-id");

describe("traces by OTLP", () => {
  const collector = startCollector();
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway({
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/`,
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=acme,x-api-key=word=with=signs",
        OTEL_SERVICE_NAME: "gate-of-a-test",
      },
      isFunded: true,
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await collector.stop();
  });

  const ask = async (body: object, headers: Record<string, string> = {}) => {
    const before = collector.spans.length;
    const response = await gateway.post("/chat/completions", body, headers);
    await response.text();
    return { response, before };
  };

  test("a call is one server span with OpenTelemetry's names, below its caller's", async () => {
    const traceparent = `00-${traceId}-${parentId}-01`;
    const { response, before } = await ask(chat("Say hello"), { traceparent, "x-request-id": "mine-1" });
    const { call, attempts } = callIn(await collector.until(before + 2), idOf(response));
    expect(call).toMatchObject({
      traceId,
      parentSpanId: parentId,
      kind: 2,
      name: "chat famA-4.1-nano",
      isError: false,
    });
    expect(call.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "sandbox",
      "gen_ai.request.model": "famA-4.1-nano",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.output.type": "text",
      "http.response.status_code": 200,
      "modelgate.state": "settled",
      "modelgate.usage_source": "reported",
      "modelgate.client_request_id": "mine-1",
    });
    expect(call.attributes["gen_ai.usage.input_tokens"]).toBeGreaterThan(0);
    expect(call.attributes["gen_ai.usage.output_tokens"]).toBeGreaterThan(0);
    expect(attempts).toHaveLength(1);
    expect(attempts[0]).toMatchObject({ traceId, kind: 3, attributes: { "modelgate.outcome": "answered" } });
  });

  test("a stream's span lasts until its last byte, and says how each choice ended", async () => {
    const { response, before } = await ask(chat("[[fault:pace=50]] Say hello to all", { stream: true }));
    const { call, attempts } = callIn(await collector.until(before + 2), idOf(response));
    expect(call.attributes).toMatchObject({
      "gen_ai.request.stream": true,
      "gen_ai.response.finish_reasons": ["stop"],
    });
    const firstByteMs = (call.attributes["gen_ai.response.time_to_first_chunk"] as number) * 1000;
    expect(call.ms).toBeGreaterThan(firstByteMs + 50);
    expect(attempts[0]?.ms).toBeGreaterThan(50);
  });

  test("each attempt at a provider is a span of its own, with what went wrong", async () => {
    const { response, before } = await ask(chat("[[fault:status=503]]"));
    expect(response.status).toBe(500);
    const { call, attempts } = callIn(await collector.until(before + 3), idOf(response));
    expect(call).toMatchObject({
      isError: true,
      attributes: { "error.type": "upstream_error", "modelgate.attempts": 2 },
    });
    expect(attempts).toHaveLength(2);
    for (const attempt of attempts) {
      const failed = {
        "error.type": "overloaded",
        "http.response.status_code": 503,
        "gen_ai.operation.name": "chat",
      };
      expect(attempt).toMatchObject({ isError: true, kind: 3, attributes: failed });
    }
  });

  test("an invalid traceparent begins a trace of its own", async () => {
    const before = collector.spans.length;
    const wrong = ["", "00-1-2-01", `00-${"0".repeat(32)}-${parentId}-01`, `ff-${traceId}-${parentId}-01`, "a\tb"];
    const answers = await Promise.all(wrong.map((traceparent) => ask(chat("Say hello"), { traceparent })));
    const spans = await collector.until(before + 2 * wrong.length);
    const calls = answers.map(({ response }) => callIn(spans, idOf(response)).call);
    for (const [at, { traceId: own, parentSpanId }] of calls.entries()) {
      expect(own, wrong[at]).toMatch(/^[0-9a-f]{32}$/);
      expect(parentSpanId, wrong[at]).toBeUndefined();
    }
    expect(new Set([traceId, ...calls.map((call) => call.traceId)]).size).toBe(wrong.length + 1);
  });

  test("a caller who does not trace is not traced", async () => {
    const quiet = await ask(chat("Say hello"), { traceparent: `00-${traceId}-${parentId}-00` });
    const loud = await ask(chat("Say hello"));
    await collector.until(loud.before + 2);
    expect(() => callIn(collector.spans, idOf(quiet.response))).toThrow("No span of the call");
  });

  test("exports name the service and contain no prompt, answer, account or key", () => {
    const [first] = collector.requests;
    expect(first?.path).toBe("/v1/traces");
    expect(first?.headers).toMatchObject({ "x-tenant": "acme", "x-api-key": "word=with=signs" });
    expect(first?.resource).toMatchObject({ "service.name": "gate-of-a-test", "service.version": expect.any(String) });
    const text = collector.requests.map((request) => request.text).join("");
    for (const secret of [canary, gateway.key, gateway.key.slice(-16), "acc_", "hello"])
      expect(text).not.toContain(secret);
  });
});

describe("an unavailable collector", () => {
  const hanging = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Promise<Response>(() => undefined) });
  const refusing = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("no", { status: 400 }) });
  afterAll(async () => {
    await hanging.stop(true);
    await refusing.stop(true);
  });

  test("and refuses costs spans, which are counted, and no call", async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${refusing.port}`, METRICS_PORT: "0" };
    const gateway = await startGateway({ env });
    try {
      const address = await metricsOf(gateway);
      expect((await gateway.post("/chat/completions", chat("Hello"))).status).toBe(200);
      const deadline = Date.now() + 60_000;
      const failed = async () =>
        sampleOf(readScrape(await (await fetch(address)).text()), "modelgate_spans_total", { outcome: "failed" });
      while ((await failed()) < 2 && Date.now() < deadline) await Bun.sleep(50);
      expect(await failed()).toBe(2);
      while (!gateway.stderr().includes("trace_export_failed") && Date.now() < deadline) await Bun.sleep(50);
      expect(gateway.stderr()).toContain("trace_export_failed");
    } finally {
      await gateway.stop();
    }
  });

  test("and never answers keeps neither a call nor the end waiting", async () => {
    const gateway = await startGateway({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${hanging.port}` } });
    for (let count = 0; count < 20; count++) {
      expect((await gateway.post("/chat/completions", chat("Hello"))).status).toBe(200);
    }
    expect(await gateway.stop()).toBe(0);
  });
});
