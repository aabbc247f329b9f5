import { Elysia } from "elysia";
import { isToken, RefusedKeyError } from "../../accounts/index.ts";
import {
  type Caller,
  type Capability,
  formatUsd,
  GatewayError,
  type LimitState,
  makeCallId,
} from "../../contract/index.ts";
import { type AnswerOf, Call, runCall } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { CallMemory } from "../memory/call-memory.ts";
import { countedBytesMin } from "../memory/memory-accountant.ts";
import { sendReserved } from "../memory/send-bytes.ts";
import { type Clients, clientAddressOf } from "./client-address.ts";
import { readNamesOfBody } from "./client-names.ts";
import {
  type CallRequest,
  type ClientFormat,
  type Endpoint,
  HttpCall,
  type RouteContext,
  type Sockets,
} from "./http-call.ts";
import { declaredBytes, jsonBytesMax, readJson } from "./read-body.ts";
import { recordEnd } from "./record.ts";
import { resolveModels, takeModels } from "./resolve-models.ts";
import type { ResponseHeaders } from "./security-headers.ts";

/**
 * Adds API key authentication to routes. Elysia reads and validates a body before it resolves anything, so routes with a body
 * authenticate in their `parse` ({@link readJsonCall}); all others set `apiKey: true`.
 */
export function apiKeyRoutes(deps: HttpDeps) {
  return new Elysia()
    .decorate("call", undefined as unknown as HttpCall)
    .decorate("inbound", undefined as ClientFormat | undefined)
    .macro({
      apiKey: {
        resolve: async ({ request, server }) => ({ call: await authenticate(deps, request, server) }),
      },
    })
    .onAfterHandle({ as: "scoped" }, ({ call }) => {
      call.end();
    });
}

/** An endpoint with a JSON body. */
export interface JsonEndpoint extends Endpoint {
  readonly capability: Capability;
  /** Looks at a body before its schema does: throws, in fewer words, or gives the body to use instead. */
  check?(body: unknown, call: HttpCall): unknown;
}

/** The `parse` of a route with a JSON body: authenticates first, then reads the body within its bounds. */
export function readJsonCall(deps: HttpDeps, endpoint: JsonEndpoint) {
  const { inbound } = endpoint;
  return async (context: RouteContext): Promise<unknown> => {
    context.inbound = inbound;
    const call = await authenticate(deps, context.request, context.server, endpoint);
    // While the body came, others of the caller may have used up its requests.
    const beforeParsing = () => {
      refuseOverload(deps, deps.kernel.now());
      deps.ledger.checkRequests(call.caller);
    };
    context.call = call;
    deps.ledger.checkRequests(call.caller);
    declaredBytes(context.request, jsonBytesMax);
    const body = await readJson(context.request, { reservation: call.memory.request, beforeParsing });
    takeModels(body, call);
    call.requestedModel = (body as { model?: unknown } | null)?.model;
    call.forbidsStoring = (body as { store?: unknown } | null)?.store === false;
    readNamesOfBody(body, call);
    inbound?.refuse(body);
    resolveModels(deps, call, body, endpoint.modelDefault);
    return (await endpoint.check?.(body, call)) ?? body;
  };
}

/** @throws {GatewayError} `unavailable` when load is shed, or `invalid_api_key`. */
export async function authenticate(
  deps: HttpDeps,
  request: Request,
  server: Sockets | null,
  { inbound, capability }: Endpoint = {},
): Promise<HttpCall> {
  const [openedAt, startedMs] = [deps.now(), deps.kernel.now()];
  refuseOverload(deps, startedMs);
  deps.loadShedder.startRequest();
  try {
    const authenticated = deps.accounts.authenticate(readApiKey(request));
    const caller = authenticated instanceof Promise ? await authenticated : authenticated;
    if (caller.allowedNetworks !== undefined) checkNetwork(deps, caller, request, server);
    const id = makeCallId(openedAt);
    const memory = new CallMemory(deps.memory, caller.accountId);
    const onEnd = () => deps.loadShedder.endRequest();
    return new HttpCall({ id, openedAt, startedMs, caller }, request, { memory, inbound, capability, server, onEnd });
  } catch (error) {
    deps.loadShedder.endRequest();
    throw error;
  }
}

/** @throws {RefusedKeyError} for a key that may not be used from where the request comes from. */
function checkNetwork({ config }: HttpDeps, caller: Caller, request: Request, server: Clients | null): void {
  const address = clientAddressOf(config, request, server);
  if (caller.allowedNetworks?.has(address) !== false) return;
  throw new RefusedKeyError(
    `Incorrect API key provided: ${caller.keyId} is not allowed from the address ${address}`,
    caller,
  );
}

function refuseOverload({ loadShedder }: HttpDeps, nowMs: number): void {
  const refusal = loadShedder.refusal(nowMs);
  if (refusal !== undefined) throw refusal;
}

/** API keys are shorter, and so is what may stand in a log beside a refusal. */
const keyLengthMax = 512;
/** Tokens (JWT) with groups and the like have two or three thousand. */
const tokenLengthMax = 16_384;

/**
 * Reads the key of `Authorization: Bearer …`, or of `x-api-key`.
 *
 * @throws {GatewayError} `invalid_api_key` when the header is missing or malformed.
 */
export function readApiKey(request: Request): string {
  const header = request.headers.get("authorization");
  const plain = header === null ? request.headers.get("x-api-key") : null;
  if (plain !== null && plain.length <= getLengthMax(plain)) return plain.trim();
  if (header === null) {
    const sentence = "No API key was sent: put it in the header 'Authorization: Bearer sk-mg-…'";
    throw new GatewayError("invalid_api_key", sentence);
  }
  if (header.length > getLengthMax(header.slice(7)) || header.slice(0, 7).toLowerCase() !== "bearer ") {
    throw new GatewayError("invalid_api_key", "The Authorization header is not 'Bearer ' and an API key");
  }
  return header.slice(7).trim();
}

function getLengthMax(bearer: string): number {
  return isToken(bearer) ? tokenLengthMax : keyLengthMax;
}

/** Runs a call, and tells the log of its end, whatever that is. */
export async function executeCall<C extends Capability>(
  deps: HttpDeps,
  httpCall: HttpCall,
  asked: CallRequest<C>,
): Promise<AnswerOf<C>> {
  const { candidates } = httpCall;
  if (candidates === undefined) throw new TypeError("The model of this request was not resolved");
  const { keeper } = deps.contentLog;
  const request = httpCall.toRequest(asked);
  const copy = keeper?.copy(request);
  const call = new Call(copy?.request ?? request);
  httpCall.execution = call as unknown as Call;
  deps.loadShedder.startCall(httpCall.execution);
  httpCall.disableIdleTimeout();
  let answer: AnswerOf<C> | undefined;
  try {
    answer = await runCall(deps.kernel, call, candidates);
    return answer;
  } finally {
    httpCall.costNanodollars = call.run?.costNanodollars;
    deps.loadShedder.endCall(httpCall.execution);
    httpCall.restoreIdleTimeout();
    if (copy !== undefined) keeper?.keep(call, copy, answer);
    recordEnd(deps, httpCall.execution, httpCall.httpRequest);
  }
}

/**
 * A JSON response with the headers of its call.
 *
 * @param wholeBytesMax A longer one is sent in pieces, and its memory is free when the client has taken it.
 */
export function jsonReply(deps: HttpDeps, call: HttpCall, body: unknown, wholeBytesMax = countedBytesMin): Response {
  const headers = callHeaders(call, deps.snapshot().sandbox, "application/json");
  if (deps.loadShedder.isDraining) headers.connection = "close";
  const text = JSON.stringify(body);
  if (text.length < wholeBytesMax) return new Response(text, { headers });
  const bytes = new TextEncoder().encode(text);
  return new Response(sendReserved(bytes, call.httpRequest, call.memory.takeAnswer()), { headers });
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
  const { hold, answeredBy, isSuccession, model, lowered } = execution?.run ?? {};
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
  if (execution !== undefined && call.candidates !== undefined && call.candidates.length > 1) {
    addFallbackHeaders(headers, execution);
  }
  if (isSuccession === true && model !== undefined) headers["x-modelgate-successor"] = model;
  if (costNanodollars !== undefined) headers["x-modelgate-cost-usd"] = formatUsd(costNanodollars);
  if (lowered !== undefined) headers["x-modelgate-lowered"] = formatLowered(lowered, inbound);
  const ignored = new Set([...call.leftOut, ...(execution?.run?.ignored ?? [])]);
  if (ignored.size > 0) headers["x-modelgate-ignored"] = [...ignored].join(", ");
  if (sandbox || answeredBy === "sandbox") headers["x-modelgate-sandbox"] = "true";
  return headers;
}

/** The model that served one of several that could have, and those that were tried before it. */
function addFallbackHeaders(headers: ResponseHeaders, { run, failures }: Call): void {
  headers["x-modelgate-model"] = toHeaderText(run?.model ?? "");
  if (failures.length === 0) return;
  headers["x-modelgate-failed"] = toHeaderText(
    failures.map((failure) => `${failure.model}=${failure.code}`).join(", "),
  );
}

/** A header holds no other characters than those of ASCII in every client. */
function toHeaderText(text: string): string {
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
