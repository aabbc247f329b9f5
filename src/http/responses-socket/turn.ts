/**
 * A turn: a `response.create` of a connection, which runs like a POST. It gets a request of its own with the headers of the
 * handshake. So its key is checked again, and it has limits, a hold, a log entry and errors like every call.
 */
import { GatewayError } from "../../contract/index.ts";
import type { ProviderLane, Steering } from "../../kernel/index.ts";
import { formatEvents } from "../../protocols/inbound.ts";
import { createOpening, createResponseHead, toOpening } from "../../protocols/responses/client-stream.ts";
import { expandRequest } from "../../protocols/responses/inbound.ts";
import { responsesInbound } from "../../protocols/responses/index.ts";
import { type ResponseItem, ResponsesRequest } from "../../protocols/responses/schema.ts";
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
  /** Present once its request is checked. */
  call?: HttpCall;
  context?: Context;
  /** Its conversation up to its answer; present once that was kept. */
  answered?: { readonly items: readonly ResponseItem[]; readonly isStored: boolean };
  /** Present for the turn that follows a response which it steers. */
  readonly steers?: Steering & {
    readonly turn: Turn;
    /** Resolves once the response that is steered was sent and kept. */
    readonly ended: Promise<void>;
  };
}

type Context = Awaited<ReturnType<Responses["read"]>>;

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
    const turn = turnOf(call.httpRequest);
    const { generates, providerLane, steers } = turn;
    if (!generates) return await prepare(deps, call, request, responses);
    turn.call = call;
    call.providerLane = providerLane;
    call.steering = steers;
    if (steers !== undefined) call.candidates = chooseServing(steers.turn);
    return await serveExchange(deps, call, await openResponses(deps, call, request, responses));
  });
  return { deps, route };
}

/** Lets a turn continue the response that it steers, which has ended, as any other turn does. */
export function continueSteered(turn: Turn): Context | undefined {
  const { steers, body } = turn;
  const { context: before, answered } = steers?.turn ?? {};
  if (steers === undefined || before === undefined || answered === undefined) return undefined;
  const { isStored, items } = answered;
  const chain = isStored ? [...before.chain, steers.responseId] : [];
  const usedIds = isStored ? [...before.usedIds, steers.responseId] : [];
  turn.context = { stored: before.stored, earlier: items, chain, usedIds };
  Object.assign(body, { input: [...steers.input] });
  return turn.context;
}

/** The route that answers a turn, for the turn that steers it. */
function chooseServing({ call }: Turn): HttpCall["candidates"] {
  const run = call?.execution?.run;
  const route = run?.attempt?.route;
  if (run === undefined || route === undefined) return call?.candidates;
  const { publicName: name, isSuccession, modelEntry } = run;
  return [{ name, isSuccession, modelEntry: { ...modelEntry, routes: [route] } }];
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
  const responses: Responses = {
    async read(call, request) {
      const turn = turnOf(call.httpRequest);
      const { steers } = turn;
      // The response that is steered is not there yet.
      if (steers === undefined) turn.context = await readAny(call, request);
      else turn.context = { earlier: [], ...(steers.turn.context as Context) };
      return turn.context;
    },
    async put(call, response, kept) {
      const turn = turnOf(call.httpRequest);
      const { steers } = turn;
      if (steers === undefined) return await putAny(call, response, kept);
      await steers.ended;
      const context = continueSteered(turn);
      if (context === undefined) throw new TypeError("The response that is steered has no end");
      await putAny(call, response, { input: [...steers.input] as ResponseItem[], context });
    },
  };
  const readAny: Responses["read"] = async (call, request) => {
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
  };
  const putAny: Responses["put"] = async (call, response, { input, context }) => {
    const turn = turnOf(call.httpRequest);
    const { lane, body, memory, length, sentLength, earlierBytes } = turn;
    const { earlier = [], chain } = context;
    memory.unqueue((body as ResponsesRequest).previous_response_id);
    const isChained = chain.length > 0 || earlier.length === 0;
    await store.put(call, response, { input: isChained ? input : [...earlier, ...input], context });
    const isStored = context.stored && (response as { store?: unknown }).store !== false;
    const items = [...earlier, ...input, ...(response.output as typeof input)];
    turn.answered = { items, isStored };
    if (isStored) return;
    const size = earlier.length === 0 ? 0 : (earlierBytes ?? JSON.stringify(earlier).length);
    memory.keep(lane, response.id, { items, bytes: size + length + sentLength });
  };
  return responses;
}

function isNotFound(error: unknown): boolean {
  return error instanceof GatewayError && error.publicCode === "previous_response_not_found";
}
