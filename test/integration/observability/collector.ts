/** An attribute as OTLP writes it in JSON. */
interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: OtlpValue[] };
}
interface OtlpAttribute {
  key: string;
  value: OtlpValue;
}

/** One span as a collector reads it. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  /** 2: server, 3: client. */
  kind: number;
  attributes: Record<string, unknown>;
  isError: boolean;
  ms: number;
}

interface OtlpSpan extends Omit<CollectedSpan, "attributes" | "isError" | "ms"> {
  attributes: OtlpAttribute[];
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code?: number };
}

interface OtlpTraces {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** A collector on loopback that takes OTLP over HTTP as JSON, and keeps what it was sent. */
export function startCollector() {
  const spans: CollectedSpan[] = [];
  const requests: { path: string; headers: Record<string, string>; text: string; resource: Record<string, unknown> }[] =
    [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const text = await request.text();
      const { resourceSpans } = JSON.parse(text) as OtlpTraces;
      const resource = valuesOf(resourceSpans[0]?.resource.attributes ?? []);
      requests.push({ path: new URL(request.url).pathname, headers: request.headers.toJSON(), text, resource });
      for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans.map(read));
      return Response.json({});
    },
  });
  return {
    endpoint: `http://127.0.0.1:${server.port}`,
    spans,
    requests,
    /** Waits until so many spans have come. @throws After ten seconds. */
    async until(count: number): Promise<CollectedSpan[]> {
      const deadline = Date.now() + 60_000;
      while (spans.length < count) {
        if (Date.now() > deadline) throw new Error(`${spans.length} spans came, not ${count}`);
        await Bun.sleep(20);
      }
      return spans;
    },
    stop: () => server.stop(true),
  };
}

function read({ attributes, status, startTimeUnixNano, endTimeUnixNano, ...span }: OtlpSpan): CollectedSpan {
  const ms = Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;
  return { ...span, attributes: valuesOf(attributes), isError: status.code === 2, ms };
}

function valuesOf(attributes: OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOfOtlp(value)]));
}

function valueOfOtlp({ stringValue, intValue, doubleValue, boolValue, arrayValue }: OtlpValue): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(valueOfOtlp);
  return stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? doubleValue ?? boolValue;
}
