import { formatUsd, GatewayError, type LimitState, UpstreamError } from "../../contract/index.ts";
import type { ClientCall, Log } from "../../kernel/index.ts";
import { writeJsonInTurns } from "../../lib/json.ts";
import { type NamedEvent, toEvent, toNamedEvent } from "../../protocols/inbound.ts";
import type { HttpDeps } from "../deps.ts";
import { countedBytesMin, sendReserved } from "../memory/call-memory.ts";
import { SseStream } from "../sse/sse-stream.bun.ts";
import type { ResponseHeaders } from "./headers.ts";
import { type ClientFormat, cacheMarksHeader, type HttpCall } from "./http-call.ts";

/**
 * Step 8: a JSON response with the headers of its call. A long one is written in several turns of the event loop.
 *
 * @param wholeBytesMax A longer one is sent in pieces, and its memory is free when the client has taken it.
 */
export function jsonReply(
  deps: HttpDeps,
  call: HttpCall,
  body: unknown,
  wholeBytesMax = countedBytesMin,
): Response | Promise<Response> {
  const reply = (text: string): Response => {
    const headers = callHeaders(call, deps.snapshot().sandbox, "application/json");
    if (deps.loadShedder.isDraining) headers.connection = "close";
    if (text.length < wholeBytesMax) return new Response(text, { headers });
    const bytes = new TextEncoder().encode(text);
    return new Response(sendReserved(bytes, call.httpRequest, call.memory.takeAnswer()), { headers });
  };
  return call.memory.isAnswerLarge ? writeJsonInTurns(body).then(reply) : reply(JSON.stringify(body));
}

/**
 * Answers with server-sent events: first those that are written to the sink, then the text that `answer` resolves with,
 * once the call is settled. The status line waits for the first event or heartbeat. A failure before that is an
 * ordinary HTTP error.
 */
export async function sseReply<Chunk>(
  deps: HttpDeps,
  call: HttpCall,
  sink: SseStream<Chunk>,
  answer: Promise<string>,
): Promise<Response> {
  deps.heartbeat.add(sink);
  const endSending = call.memory.startSending();
  const finish = (text: string) => {
    deps.heartbeat.delete(sink);
    const sending = sink.send(text);
    sink.end();
    if (sending === undefined) return endSending();
    call.httpRequest.signal.addEventListener("abort", endSending);
    sending.finally(endSending);
  };
  const finished = answer.then(finish, (error) => finish(toEvent(toGatewayError(error, deps.log).toBody())));
  finished.catch((error) => deps.log.error("stream_failed", { call: call.id, error }));
  await Promise.race([sink.opened, answer]);
  call.restoreIdleTimeout();
  const headers = callHeaders(call, deps.snapshot().sandbox, "text/event-stream; charset=utf-8");
  headers["cache-control"] = "no-cache";
  headers["x-accel-buffering"] = "no";
  return new Response(sink.body, { headers });
}

/**
 * Answers with server-sent events for a provider that does not stream: the whole answer becomes the events. The call is
 * not cancelled when the client disconnects, because the provider bills it anyway.
 */
export function sseReplyOf<Answer>(
  deps: HttpDeps,
  call: HttpCall,
  answer: Promise<Answer>,
  toEvents: (answer: Answer) => NamedEvent[],
): Promise<Response> {
  const sink = new SseStream({ cancel: () => undefined }, toNamedEvent);
  return sseReply(
    deps,
    call,
    sink,
    answer.then((whole) => toEvents(whole).map(toNamedEvent).join("")),
  );
}

/** The error that the caller sees. An unexpected one is logged in full and not shown. */
export function toGatewayError(error: unknown, log: Log): GatewayError {
  if (error instanceof GatewayError) return error;
  // The answer came, and cannot be given in the client's protocol.
  if (error instanceof UpstreamError) return new GatewayError("upstream_error", error.message, { cause: error });
  log.error("unexpected", { error });
  const message = "Internal error. Operators: see the log entry for this x-request-id";
  return new GatewayError("internal_error", message);
}

/** The state of the rate limits by the names that OpenAI's clients read; resets are seconds with the unit `s`. */
export function limitHeaders(limits: LimitState): ResponseHeaders {
  return {
    "x-ratelimit-limit-requests": String(limits.limitRequests),
    "x-ratelimit-remaining-requests": String(limits.remainingRequests),
    "x-ratelimit-reset-requests": seconds(limits.resetRequestsMs),
    "x-ratelimit-limit-tokens": String(limits.limitTokens),
    "x-ratelimit-remaining-tokens": String(limits.remainingTokens),
    "x-ratelimit-reset-tokens": seconds(limits.resetTokensMs),
  };
}

/** The headers of a call's response. The cost is known only for a whole answer. */
export function callHeaders(call: HttpCall, sandbox: boolean, contentType: string): ResponseHeaders {
  const { execution, inbound, costNanodollars } = call;
  const { hold, answeredBy, isSuccession, model, lowered, cacheMarks } = execution?.run ?? {};
  const headers = hold === undefined ? {} : limitHeaders(hold.limits);
  headers["content-type"] = contentType;
  headers["x-content-type-options"] = "nosniff";
  headers["x-request-id"] = call.id;
  Object.assign(headers, inbound?.headersOf?.(call.id));
  if (call.clientRequestId !== undefined) headers["x-client-request-id"] = call.clientRequestId;
  if (execution !== undefined && answeredBy !== undefined) {
    headers["x-modelgate-route"] = answeredBy;
    headers["x-modelgate-attempts"] = String(execution.attempts);
  }
  const { candidates = [] } = call;
  if (execution !== undefined && (candidates.length > 1 || candidates[0]?.isReroute === true)) {
    addFallbackHeaders(headers, execution);
  }
  if (isSuccession === true && model !== undefined) headers["x-modelgate-successor"] = model;
  if (costNanodollars !== undefined) headers["x-modelgate-cost-usd"] = formatUsd(costNanodollars);
  if (lowered !== undefined) headers["x-modelgate-lowered"] = formatLowered(lowered, inbound);
  if (cacheMarks !== undefined && cacheMarks !== "client" && cacheMarks !== "off")
    headers[cacheMarksHeader] = cacheMarks;
  const ignored = execution?.run?.ignored ?? call.leftOut;
  if (ignored.size + call.leftOut.size > 0) {
    headers["x-modelgate-ignored"] = [...call.leftOut.union(ignored)].join(", ");
  }
  if (sandbox || answeredBy === "sandbox") headers["x-modelgate-sandbox"] = "true";
  return headers;
}

/** The model that served one of several that could have, and those that were tried before it. */
function addFallbackHeaders(headers: ResponseHeaders, { run, failures }: ClientCall): void {
  headers["x-modelgate-model"] = toHeaderText(run?.model ?? "");
  if (failures.length === 0) return;
  headers["x-modelgate-failed"] = toHeaderText(
    failures.map((failure) => `${failure.model}=${failure.code}`).join(", "),
  );
}

/** Replaces all characters outside of printable ASCII, because not every client accepts them in a header. */
export function toHeaderText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}

function formatLowered(lowered: Readonly<Record<string, number>>, inbound: ClientFormat | undefined): string {
  return Object.entries(lowered)
    .map(([field, value]) => `${field === "n" ? field : (inbound?.outputLimit ?? field)}=${value}`)
    .join(", ");
}

function seconds(ms: number): string {
  return `${Math.max(0, Math.ceil(ms)) / 1000}s`;
}
