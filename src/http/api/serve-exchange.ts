import { GatewayError } from "../../contract/index.ts";
import { countPassthrough, isHeaderValue, Passthrough } from "../../kernel/index.ts";
import { nextTurn } from "../../lib/next-turn.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import { chatInbound, fromOtherHabits, isResponsesBody } from "../../protocols/chat/inbound.ts";
import type { Exchange, ServedInbound } from "../../protocols/inbound.ts";
import { createReasoningEnvelope } from "../../protocols/reasoning.ts";
import { checkResponsesRequest, fromResponsesRequest } from "../../protocols/responses/inbound.ts";
import { ResponsesRequest } from "../../protocols/responses/schema.ts";
import type { ChatChunk, ChatCompletion, ChatRequest } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import type { ClientFormat, HttpCall } from "../lifecycle/http-call.ts";
import { jsonReply, sseReply, toGatewayError } from "../lifecycle/respond.ts";
import { checkBody } from "../lifecycle/validate.ts";
import { formatEvent, SseStream } from "../sse/sse-stream.bun.ts";
import { ChatEvent, responses } from "./openapi.ts";

const { path: chatPath } = chatInbound.route;
/** A longer value of a wire format's own header is not sent on. */
const headerCharactersMax = 4096;

/** The endpoints of the inbound formats that say all of themselves. */
export function exchangeControllers(deps: HttpDeps, inbounds: readonly (ClientFormat | ServedInbound<never>)[]) {
  return inbounds.flatMap((inbound) => ("route" in inbound ? exchangeController(deps, inbound) : []));
}

function exchangeController(deps: HttpDeps, inbound: ServedInbound<never>) {
  const { path, body: schema, answer, summary, description, streams = true } = inbound.route;
  return [
    callRoute(
      deps,
      {
        path: path,
        body: jsonBody(deps, schema, {
          capability: "chat",
          inbound,
          // Only there do clients send the bodies of other formats.
          ...(path === chatPath && { check: (body, call) => toChatBody(deps, body, call) }),
        }),
        detail: {
          summary,
          description,
          tags: ["Calls"],
          responses: responses({ "application/json": answer, ...(streams && { "text/event-stream": ChatEvent }) }),
        },
      },
      ({ call, body }) => serveExchange(deps, call, inbound.open(body as never)),
    ),
  ];
}

/**
 * Serves a chat request in its client's wire format, whole or as server-sent events: passed through where the provider
 * speaks the format, otherwise by way of the uniform format.
 */
export async function serveExchange(deps: HttpDeps, call: HttpCall, exchange: Exchange): Promise<Response> {
  // A large request was translated in this turn, and one that cannot be is written once more.
  if (call.memory.isLarge) await nextTurn();
  const request = chooseRequest(deps, call, exchange);
  if (request.stream === true) return await stream(deps, call, { exchange, request });
  const completion = await executeCall(deps, call, { capability: "chat", request });
  const passed = call.passthrough?.answer;
  // Each goes through all of a long answer.
  if (call.memory.isAnswerLarge) await nextTurn();
  const answer = passed ?? exchange.toAnswer(completion as ChatCompletion);
  if (call.memory.isAnswerLarge) await nextTurn();
  await exchange.finish?.(answer, passed !== undefined);
  return jsonReply(deps, call, answer);
}

/** The tokens of a request, as its provider counts them; `undefined` when none does. */
export async function countExchange(
  deps: HttpDeps,
  call: HttpCall,
  passthrough: Exchange["passthrough"],
): Promise<number | undefined> {
  // A prompt that no policy has looked at does not leave the gateway.
  if (deps.kernel.registry.policies?.find(call.caller, call.modelEntry.model.id) !== undefined) return undefined;
  call.passthrough = findPassthrough(deps, call, passthrough);
  return (
    call.passthrough &&
    (await countPassthrough(
      deps.kernel,
      call.toRequest({ capability: "chat", request: call.passthrough.toPlaceholderRequest() }),
      call.modelEntry,
      call.passthrough,
    ))
  );
}

function stream(
  deps: HttpDeps,
  call: HttpCall,
  { exchange, request }: { exchange: Exchange; request: ChatRequest },
): Promise<Response> {
  const passed = () => (call.passthrough?.isServing ? call.passthrough : undefined);
  const sink = new SseStream<ChatChunk>(call, (chunk) => exchange.push(chunk), {
    ...(exchange.pass !== undefined && { pass: exchange.pass }),
    heartbeat: () => exchange.heartbeat?.(passed()),
    isHeld: call.steering !== undefined,
  });
  const answer = executeCall(deps, call, { capability: "chat", request, sink }).then(
    async () => {
      const event = call.passthrough?.lastEvent;
      if (event === undefined) return await exchange.end();
      return formatEvent((await exchange.endPassed?.(event)) ?? event);
    },
    (thrown) => {
      if (!sink.isOpen) throw thrown;
      return exchange.fail(toGatewayError(thrown, deps.log), passed());
    },
  );
  return sseReply(deps, call, sink, answer);
}

/** The request that is admitted. @throws {GatewayError} When only a provider of the client's format could serve it. */
function chooseRequest(
  deps: HttpDeps,
  call: HttpCall,
  { request, passthrough, untranslatable, losses, leavesCaching = false }: Exchange,
): ChatRequest {
  call.leavesCaching = leavesCaching;
  call.original = passthrough;
  const passed = findPassthrough(deps, call, passthrough);
  call.passthrough = passed;
  if (passed === undefined) {
    if (untranslatable !== undefined) throw untranslatable;
    for (const loss of losses) call.noteLoss(loss);
  } else {
    passed.untranslatable = untranslatable;
    passed.losses = losses;
  }
  return request ?? (passed as Passthrough).toPlaceholderRequest();
}

/** The passed-through side of a call where a route of a model that may serve it speaks the client's format. */
export function findPassthrough(
  { config }: HttpDeps,
  call: HttpCall,
  requested: Exchange["passthrough"],
): Passthrough | undefined {
  if (requested === undefined) return undefined;
  const headers: Record<string, string> = {};
  const { isOwnHeader } = requested.format;
  for (const [name, value] of isOwnHeader === undefined ? [] : call.httpRequest.headers) {
    if (!isOwnHeader?.(name) || value.length > headerCharactersMax) continue;
    if (!isHeaderValue(value)) {
      const message = `The header ${name} has a character that is not printable ASCII`;
      throw new GatewayError("invalid_request", message, { param: name });
    }
    headers[name] = value;
  }
  const passthrough = new Passthrough(requested, headers, config.webSearches);
  const routes = call.candidates?.flatMap(({ modelEntry }) => modelEntry.routes) ?? [];
  const isServed = routes.some((route) => passthrough.isServedBy(route));
  // It also knows which requests are of no use without a provider of their format.
  return isServed || passthrough.needsSearch ? passthrough : undefined;
}

/**
 * Cursor sends bodies of the Responses protocol here, and reads answers of chat. Free-form tools become functions with the
 * one argument `input`.
 *
 * @returns `undefined` for a body of chat in OpenAI's words.
 * @throws {GatewayError} `invalid_request`
 */
function toChatBody(deps: HttpDeps, body: unknown, call: HttpCall): ChatRequest | undefined {
  if (!isResponsesBody(body)) return fromOtherHabits(body, (field) => call.leaveOut(field)) as ChatRequest | undefined;
  checkResponsesRequest(body);
  const request = checkBody(ResponsesRequest, body);
  const envelope = createReasoningEnvelope(deps.sealKey, call.caller.accountId);
  const { chat, plan } = fromResponsesRequest(request, { envelope, stored: false });
  for (const loss of plan.losses) call.noteLoss(loss);
  return { ...chat, ...(request.store === false && { store: false }) };
}

/** Limits the free counts of tokens, by account in this process, to as many a minute as there may be calls. */
export class CountLimiter {
  readonly #limits: RateLimiter;

  constructor(now: () => number) {
    this.#limits = new RateLimiter(0, now, { what: "counts of tokens" });
  }

  /** @throws {GatewayError} `rate_limit_exceeded` */
  take({ caller: { accountId, limits } }: HttpCall): void {
    this.#limits.take(accountId, limits.requestsPerMinute);
  }
}
