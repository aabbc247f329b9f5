/**
 * A turn: a `response.create` of a connection, which runs like a POST. It gets a request of its own with the headers of the
 * handshake. So its key is checked again, and it has limits, a hold, a log entry and errors like every call.
 */
import { GatewayError } from "../../contract/index.ts";
import type { ProviderLane } from "../../kernel/index.ts";
import { formatEvents } from "../../protocols/inbound.ts";
import { createOpening, createResponseHead, toOpening } from "../../protocols/responses/client-stream.ts";
import { expandRequest } from "../../protocols/responses/inbound.ts";
import { responsesInbound } from "../../protocols/responses/index.ts";
import { ResponsesRequest } from "../../protocols/responses/schema.ts";
import { openResponses, type Responses } from "../api/responses.ts";
import { serveExchange } from "../api/serve-exchange.ts";
import type { HttpDeps } from "../deps.ts";
import { addNamesOfMetadata } from "../lifecycle/agent-names.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import type { HttpCall } from "../lifecycle/http-call.ts";
import { callHeaders } from "../lifecycle/respond.ts";
import type { Route } from "../lifecycle/route.ts";
import type { MemoryReservation } from "../memory/call-memory.ts";
import type { ConversationMemory } from "./conversation-memory.ts";

/** A request for a response, and the connection that it came by. */
export interface Turn {
  /** Turns of one name, or of none, run in order. */
  readonly lane: string | undefined;
  readonly body: object;
  /** Characters of its frame. */
  readonly length: number;
  /** Counts the body until its call does. */
  readonly reservation: MemoryReservation;
  /** Whether the model answers; if not, its items are prepared for a later turn. */
  readonly generates: boolean;
  /** Address that the connection came from. */
  readonly address: string;
  readonly memory: ConversationMemory;
  /** Absent where turns go to providers by POST alone. */
  readonly providerLane: ProviderLane | undefined;
  /** Characters of the events that were sent so far. */
  sentLength: number;
  /** Size of the conversation that it continues, if the connection remembers that. */
  earlierBytes?: number;
}

/** Headers of a handshake that say nothing of its turns. */
const handshakeHeaders =
  /^(connection|upgrade|host|origin|sec-websocket-.*|content-.*|transfer-encoding|x-request-id|idempotency-key)$/;
const idempotencyKeyField = "idempotency_key";

/** The route of turns. Only connections lead to it. */
export function createTurnRoute(
  parts: HttpDeps,
  { store, turnOf }: { store: Responses; turnOf(request: Request): Turn },
): { deps: HttpDeps; route: Route } {
  const server = { requestIP: (request: Request) => turnOf(request), timeout: () => undefined, upgrade: () => false };
  const deps: HttpDeps = { ...parts, server: () => server };
  const responses = withMemory(store, turnOf);
  const body = jsonBody(deps, ResponsesRequest, {
    capability: "chat",
    inbound: responsesInbound,
    readBody: async (request, { reservation, beforeParsing } = {}) => {
      const turn = turnOf(request);
      const { bytes } = turn.reservation;
      turn.reservation.release();
      reservation?.grow(bytes);
      beforeParsing?.();
      return turn.body;
    },
  });
  const route = callRoute(deps, { path: "/responses", body, detail: {} }, async ({ call, body: request }) => {
    const { generates, providerLane } = turnOf(call.httpRequest);
    if (!generates) return await prepare(deps, call, request, responses);
    call.providerLane = providerLane;
    return await serveExchange(deps, call, await openResponses(deps, call, request, responses));
  });
  return { deps, route };
}

/** The request of a turn. @param signal Aborts when the connection ends. */
export function createTurnRequest(handshake: Request, body: Record<string, unknown>, signal: AbortSignal): Request {
  const headers = new Headers([...handshake.headers].filter(([name]) => !handshakeHeaders.test(name)));
  addNamesOfMetadata(headers, body.client_metadata);
  const { [idempotencyKeyField]: key } = body;
  if (key !== undefined && key !== null) headers.set("idempotency-key", toHeader(key));
  delete body[idempotencyKeyField];
  return new Request(handshake.url, { method: "POST", headers, signal });
}

/** @throws {GatewayError} `invalid_request` for what cannot be a header. */
function toHeader(key: unknown): string {
  if (typeof key === "string" && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  const message = `${idempotencyKeyField} has 1 to 255 printable ASCII characters; a UUID is a good one`;
  throw new GatewayError("invalid_request", message, { param: idempotencyKeyField });
}

/** Keeps the items of a request for a later turn. It needs no provider, and costs nothing. */
async function prepare(deps: HttpDeps, call: HttpCall, body: ResponsesRequest, store: Responses): Promise<Response> {
  // It takes one of the requests per minute, as a call does.
  call.isCounted = true;
  await deps.ledger.countRequest(call.id, call.caller);
  const context = await store.read(call, body);
  const { input } = expandRequest(body, context);
  const opening = createOpening(createResponseHead(call.publicModel ?? body.model, deps.now), {
    request: body,
    stored: context.stored,
  });
  const usage = {
    input_tokens: 0,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 0,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 0,
  };
  const response = { ...opening, status: "completed", usage } as typeof opening;
  await store.put(call, response, { input, context });
  const events = [...toOpening(opening), { type: "response.completed", sequence_number: 2, response }];
  const headers = callHeaders(call, deps.snapshot().sandbox, "text/event-stream; charset=utf-8");
  return new Response(formatEvents(events), { headers });
}

/** Earlier responses of the connection, and those that are stored. */
function withMemory(store: Responses, turnOf: (request: Request) => Turn): Responses {
  return {
    async read(call, request) {
      const turn = turnOf(call.httpRequest);
      const earlier = turn.memory.find(request.previous_response_id);
      // One that is to be stored continues stored ones, which name each other.
      if (earlier === undefined || request.store !== false) {
        try {
          return await store.read(call, request);
        } catch (error) {
          if (earlier === undefined || !isNotFound(error)) throw error;
        }
      }
      turn.earlierBytes = earlier.bytes;
      const { previous_response_id: _, ...rest } = request;
      return { ...(await store.read(call, rest)), earlier: earlier.items };
    },
    async put(call, response, { input, context }) {
      const { lane, memory, length, sentLength, earlierBytes } = turnOf(call.httpRequest);
      const { earlier = [], chain } = context;
      const isChained = chain.length > 0 || earlier.length === 0;
      await store.put(call, response, { input: isChained ? input : [...earlier, ...input], context });
      const isStored = context.stored && (response as { store?: unknown }).store !== false;
      if (isStored) return;
      const items = [...earlier, ...input, ...(response.output as typeof input)];
      const size = earlier.length === 0 ? 0 : (earlierBytes ?? JSON.stringify(earlier).length);
      memory.keep(lane, response.id, { items, bytes: size + length + sentLength });
    },
  };
}

function isNotFound(error: unknown): boolean {
  return error instanceof GatewayError && error.publicCode === "previous_response_not_found";
}
