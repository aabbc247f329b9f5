import {
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { UpstreamError } from "../../../contract/index.ts";
import { type Attempt, type CallObserver, type ClientCall, classifyAttempt } from "../../../kernel/index.ts";
import { callAttributes, operations, providerName } from "./span-attributes.ts";

interface TracedAttempt {
  readonly attempt: Attempt;
  readonly endedMs: number;
  readonly outcome: string;
  readonly status: number | undefined;
}

/**
 * Creates the spans of a call when it has ended: one for the call with a child for each attempt. A client's `traceparent`
 * is the parent. It is not sent to providers, whose spans are not visible here.
 */
export class CallTraces implements CallObserver {
  readonly #tracer: Tracer;
  readonly #now: () => number;
  readonly #attempts = new WeakMap<ClientCall, TracedAttempt[]>();
  readonly #spans = new WeakMap<ClientCall, SpanContext>();

  constructor(tracer: Tracer, now: () => number) {
    this.#tracer = tracer;
    this.#now = now;
  }

  /** The span of a call that has ended; undefined before that. */
  spanOf(call: ClientCall): SpanContext | undefined {
    return this.#spans.get(call);
  }

  attempted(attempt: Attempt): void {
    const { call } = attempt.run;
    const { error } = attempt;
    const status = error instanceof UpstreamError ? error.status : undefined;
    const traced: TracedAttempt = { attempt, endedMs: this.#now(), outcome: classifyAttempt(attempt).outcome, status };
    const attempts = this.#attempts.get(call);
    if (attempts === undefined) this.#attempts.set(call, [traced]);
    else attempts.push(traced);
  }

  ended(call: ClientCall, { headers }: Request): void {
    const endedMs = this.#now();
    const { openedAt, startedMs, capability } = call.request;
    const { run } = call;
    const toDate = (ms: number) => openedAt + ms - startedMs;
    const operation = operations[capability];
    const name = run === undefined ? operation : `${operation} ${run.model}`;
    const options = { kind: SpanKind.SERVER, startTime: openedAt };
    const span = this.#tracer.startSpan(name, options, parseTraceparent(headers.get("traceparent")));
    const attempts = this.#attempts.get(call) ?? [];
    this.#spans.set(call, span.spanContext());
    if (span.isRecording()) {
      const answeredBy = attempts.find(({ outcome }) => outcome === "answered")?.attempt.route.model;
      span.setAttributes(callAttributes(call, answeredBy));
      if (call.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      for (const traced of attempts) this.#span(traced, { operation, endedMs, span, toDate });
    }
    span.end(toDate(endedMs));
  }

  refused(): void {
    // A request that never became a call has no span.
  }

  #span(
    { attempt: { route, startedMs }, endedMs, outcome, status }: TracedAttempt,
    call: { operation: string; endedMs: number; span: Span; toDate(ms: number): number },
  ): void {
    const name = `${call.operation} ${route.model.upstreamId}`;
    const above = trace.setSpan(context.active(), call.span);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: call.toDate(startedMs) }, above);
    span.setAttributes({
      "gen_ai.operation.name": call.operation,
      "gen_ai.provider.name": providerName(route.plugin.name),
      "gen_ai.request.model": route.model.upstreamId,
      "server.address": hostname(route.baseUrl),
      "modelgate.outcome": outcome,
    });
    if (outcome !== "answered") {
      span.setAttribute("error.type", outcome);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    if (status !== undefined) span.setAttribute("http.response.status_code", status);
    // A successful attempt lasts until the call ends.
    span.end(call.toDate(outcome === "answered" ? call.endedMs : endedMs));
  }
}

/** The client's span. Invalid `traceparent` headers are ignored, as W3C Trace Context requires. */
function parseTraceparent(header: string | null): Context {
  const match = header === null ? null : /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header);
  if (match === null) return ROOT_CONTEXT;
  const [, traceId = "", spanId = "", flags = "00"] = match;
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
}

function hostname(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname ?? "unknown";
}
