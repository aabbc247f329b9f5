import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Gateway, startGateway } from "../../support/gateway.ts";

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number | string; doubleValue?: number };
}
interface Point {
  attributes: Attribute[];
  asInt?: number | string;
  asDouble?: number;
  count?: number | string;
}
interface Exported {
  resourceMetrics?: {
    scopeMetrics: { metrics: { name: string; sum?: { dataPoints: Point[] }; histogram?: { dataPoints: Point[] } }[] }[];
  }[];
  resourceLogs?: {
    scopeLogs: {
      logRecords: {
        severityText: string;
        eventName?: string;
        traceId?: string;
        body: { stringValue: string };
        attributes: Attribute[];
      }[];
    }[];
  }[];
}

const bodies: { path: string; text: string; key: string | null }[] = [];
const collector = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    bodies.push({
      path: new URL(request.url).pathname,
      text: await request.text(),
      key: request.headers.get("x-api-key"),
    });
    return Response.json({});
  },
});
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({
    env: {
      SANDBOX: "on",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=word",
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_LOGS_EXPORTER: "otlp",
    },
  });
});
afterAll(async () => {
  await collector.stop(true);
});

const read = (path: string) =>
  bodies.filter((body) => body.path === path).map(({ text }) => JSON.parse(text) as Exported);
const toObject = (attributes: Attribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue]),
  );

test("metrics and lines of the log reach the collector by their names, without prompts, and at the end what is left", async () => {
  const secret = "a prompt that no collector may see";
  for (const model of ["gpt-4o-mini", "no-such-model"]) {
    await gateway.post(
      "/chat/completions",
      { model, messages: [{ role: "user", content: secret }] },
      { "session-id": "s-1" },
    );
  }
  expect(await gateway.stop()).toBe(0);
  const metrics = read("/v1/metrics").flatMap(
    ({ resourceMetrics }) => resourceMetrics?.[0]?.scopeMetrics[0]?.metrics ?? [],
  );
  const named = (name: string) => metrics.findLast((metric) => metric.name === `gen_ai.client.inference.${name}`);
  const [input] = named("usage.input_tokens")?.sum?.dataPoints ?? [];
  expect(Number(input?.asInt ?? input?.asDouble)).toBeGreaterThan(0);
  expect(toObject(input?.attributes ?? [])).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "famA-4o-mini",
  });
  const durations = named("duration")?.histogram?.dataPoints ?? [];
  expect(durations.some(({ count }) => Number(count) === 1)).toBe(true);
  expect(named("usage.output_tokens")).toBeDefined();
  const records = read("/v1/logs").flatMap(({ resourceLogs }) => resourceLogs?.[0]?.scopeLogs[0]?.logRecords ?? []);
  const call = records.find(
    ({ body, attributes }) => body.stringValue === "call" && toObject(attributes)["modelgate.status"] === 200,
  );
  expect(call?.severityText).toBe("INFO");
  expect(toObject(call?.attributes ?? [])).toMatchObject({
    "modelgate.model": "famA-4o-mini",
    "modelgate.session": "s-1",
  });
  expect(bodies.every(({ key }) => key === "word")).toBe(true);
  expect(bodies.some(({ text }) => text.includes(secret) || text.includes(gateway.key))).toBe(false);
  expect(read("/v1/traces").length).toBeGreaterThan(0);
  const spans = bodies
    .filter(({ path }) => path === "/v1/traces")
    .map(({ text }) => text)
    .join("");
  expect(spans).toContain("gen_ai.conversation.id");
});

test("prompts and answers that are kept reach the collector redacted, in the trace of their call, and no others do", async () => {
  const keeping = await startGateway({
    env: {
      SANDBOX: "on",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      CONTENT_LOG: "all",
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
      OTEL_SERVICE_NAME: "with-content",
    },
  });
  const traceparent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  const messages = [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Write to ada@example.com" },
  ];
  const response = await keeping.post("/chat/completions", { model: "gpt-4o-mini", messages }, { traceparent });
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  expect(await keeping.stop()).toBe(0);
  const records = read("/v1/logs").flatMap(({ resourceLogs }) => resourceLogs?.[0]?.scopeLogs[0]?.logRecords ?? []);
  const events = records.filter(({ eventName }) => eventName === "gen_ai.client.inference.operation.details");
  expect(events).toMatchObject([{ traceId: traceparent.slice(3, 35) }]);
  const attributes = toObject(events[0]?.attributes ?? []);
  expect(attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.response.id": response.headers.get("x-request-id"),
    "gen_ai.request.model": "famA-4o-mini",
  });
  expect(JSON.parse(String(attributes["gen_ai.input.messages"]))).toEqual([
    { role: "system", parts: [{ type: "text", content: "Be brief" }] },
    { role: "user", parts: [{ type: "text", content: "Write to [redacted]" }] },
  ]);
  expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
    {
      role: "assistant",
      parts: [{ type: "text", content: choices[0]?.message.content.replace("ada@example.com", "[redacted]") }],
    },
  ]);
  // The collector gets the log only where that is asked for.
  expect(records.some(({ attributes }) => JSON.stringify(attributes).includes("ada@example.com"))).toBe(false);
});
