import { type NamedEvent, toEvent, toNamedEvent } from "../../protocols/inbound.ts";
import type { HttpDeps } from "../deps.ts";
import { SseStream } from "../sse/sse-stream.bun.ts";
import { toGatewayError } from "./errors.ts";
import type { HttpCall } from "./http-call.ts";
import { callHeaders } from "./respond.ts";

/**
 * Answers with server-sent events: what is written to the sink, then the text that the answer resolves with, once the
 * call is settled. The status line waits for the first event or heartbeat: until then a failure is an ordinary HTTP error.
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
 * The same for a provider that does not stream: the whole answer becomes the events. The call is not cancelled when the
 * client disconnects, because the provider bills it all the same.
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
