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
import { type AnswerOf, CallContext, runCall } from "../../kernel/index.ts";
import type { Inbound } from "../../protocols/inbound.ts";
import type { HttpDeps } from "../deps.ts";
import { CallMemory } from "../memory/call-memory.ts";
import { countedBytesMin } from "../memory/memory-accountant.ts";
import { sendReserved } from "../memory/send-bytes.ts";
import { type Clients, clientAddressOf } from "./client-address.ts";
import { readClientRequestId, readNamesOfBody, readSessionHeader, readTagHeader } from "./client-names.ts";
import { takeModels } from "./listed-models.ts";
import { declaredBytes, jsonBytesMax, largeBytesMin, readJson } from "./read-body.ts";
import type { ResponseHeaders } from "./security-headers.ts";

/** The part of Bun's server used here: how long the socket of a request may be idle, in seconds; 0 means for ever. */
interface Sockets extends Clients {
  timeout(request: Request, seconds: number): void;
}

/** The parts of a wire format that need no request. */
export type ClientFormat = Pick<Inbound, "protocol" | "endpoints" | "outputLimit" | "refuse" | "toError" | "headersOf">;

/** Idle sockets are closed after this; the maximum that Bun accepts. */
const idleSecondsMax = 255;

/** A call and the HTTP request it came by: `call` in the context of its route, also in `onError`. */
export class HttpCall extends CallContext {
  readonly httpRequest: Request;
  readonly memory: CallMemory;
  /** A stream goes on when its client leaves, because the answer is stored. */
  outlivesClient = false;
  /** It has taken one of the requests per minute without being admitted. */
  isCounted = false;
  /** The model that the body asks for, whatever that is. */
  requestedModel: unknown = undefined;
  #inbound: ClientFormat | undefined = undefined;
  readonly #server: Sockets | null;
  #onEnd: (() => void) | undefined;

  constructor(
    { id, openedAt, startedMs, caller }: Pick<CallContext, "id" | "openedAt" | "startedMs" | "caller">,
    httpRequest: Request,
    { memory, server = null, onEnd }: { memory: CallMemory; server?: Sockets | null; onEnd?: () => void },
  ) {
    super(id, openedAt, caller, startedMs);
    this.memory = memory;
    this.httpRequest = httpRequest;
    this.#server = server;
    this.#onEnd = onEnd;
    this.clientRequestId = readClientRequestId(httpRequest);
    this.session = readSessionHeader(httpRequest.headers);
    this.tag = readTagHeader(httpRequest.headers);
  }

  /** What its client speaks; absent for endpoints that have one format alone. */
  get inbound(): ClientFormat | undefined {
    return this.#inbound;
  }

  set inbound(inbound: ClientFormat) {
    this.#inbound = inbound;
    this.protocol = inbound.protocol;
  }

  /** While a provider works, the socket may be idle for any time. Ended by {@link restoreIdleTimeout}. */
  disableIdleTimeout(): void {
    this.#server?.timeout(this.httpRequest, 0);
  }

  /** From here on the client is waited for. */
  restoreIdleTimeout(): void {
    this.#server?.timeout(this.httpRequest, idleSecondsMax);
  }

  override get isLarge(): boolean {
    return this.memory.request.bytes >= largeBytesMin;
  }

  override reserveMemory(bytes: number): void {
    this.memory.request.grow(bytes);
  }

  override reserveAnswer(bytes: number): void {
    const { answer } = this.memory;
    if (bytes < 0) answer.shrink(-bytes);
    else answer.grow(bytes);
  }

  /** Frees what the request occupied, once the response or its head is there. Repeating it does nothing. */
  end(): void {
    this.memory.release();
    this.#onEnd?.();
    this.#onEnd = undefined;
  }
}

/**
 * The part of Elysia's context used here; `call` is set by `parse` or `apiKey`. Hooks must not pass the whole context on:
 * Elysia reads their source, and then parses query, cookies and headers for every request.
 */
export interface RouteContext {
  request: Request;
  server: Sockets | null;
  call: HttpCall;
  /** What its client speaks, also where the call was refused before there was one. */
  inbound: ClientFormat | undefined;
}

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

/** Looks at a body before its schema does: throws, in fewer words, or gives the body to use instead. */
type CheckBody = (body: unknown, call: HttpCall) => unknown;

/** The `parse` of a route with a JSON body: authenticates first, then reads the body within its bounds. */
export function readJsonCall(deps: HttpDeps, inbound?: ClientFormat, check?: CheckBody) {
  return async (context: RouteContext): Promise<unknown> => {
    context.inbound = inbound;
    const call = await authenticate(deps, context.request, context.server);
    if (inbound !== undefined) call.inbound = inbound;
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
    call.clientForbidsStoring = (body as { store?: unknown } | null)?.store === false;
    inbound?.refuse(body);
    const used = (await check?.(body, call)) ?? body;
    readNamesOfBody(body, call);
    return used;
  };
}

/** @throws {GatewayError} `unavailable` when load is shed, or `invalid_api_key`. */
export async function authenticate(deps: HttpDeps, request: Request, server: Sockets | null): Promise<HttpCall> {
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
    return new HttpCall({ id, openedAt, startedMs, caller }, request, { memory, server, onEnd });
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

/** What an endpoint asks of the kernel. */
type CallRequest<C extends Capability> = Pick<CallContext<C>, "capability" | "request"> &
  Partial<Pick<CallContext<C>, "sink">>;

/**
 * Runs a call and logs it, whatever its outcome. A stream is cancelled when its client disconnects. A whole answer is
 * cancelled only until a provider is asked for it: from then on the provider bills it, and a client that disconnects in
 * time would not pay.
 */
export async function executeCall<C extends Capability>(
  deps: HttpDeps,
  httpCall: HttpCall,
  { capability, request, sink }: CallRequest<C>,
): Promise<AnswerOf<C>> {
  const call = httpCall.setRequest(capability, request, sink);
  deps.loadShedder.startCall(call);
  cancelOnDisconnect(httpCall);
  httpCall.disableIdleTimeout();
  try {
    return await (deps.contentLog.keeper?.follow(call, () => runCall(deps.kernel, call)) ?? runCall(deps.kernel, call));
  } catch (error) {
    // The kernel sets the error code of an admitted call; a call that was refused before is only logged.
    if (call.errorCode === undefined) {
      const isKnown = error instanceof GatewayError;
      call.status = isKnown ? error.status : 500;
      call.errorCode = isKnown ? error.code : "internal_error";
    }
    throw error;
  } finally {
    deps.loadShedder.endCall(call);
    httpCall.restoreIdleTimeout();
    deps.kernel.observer?.ended(call, httpCall.httpRequest);
    logCall(deps, call);
  }
}

/** Bun also closes the connection, and aborts, when bytes arrive behind a request that has no answer yet. */
function cancelOnDisconnect(call: HttpCall): void {
  const { signal } = call.httpRequest;
  const cancel = () => {
    if ((call.sink !== undefined && !call.outlivesClient) || call.attempts === 0) call.cancel("client_disconnected");
  };
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel);
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

function logCall(deps: HttpDeps, call: CallContext): void {
  const { state, warnings } = call;
  deps.log.info("call", {
    call: call.id,
    client_request_id: call.clientRequestId,
    account: call.caller.accountId,
    key: call.caller.keyId,
    subject: call.caller.token?.subject,
    end_user: call.caller.token?.endUser,
    capability: call.capability,
    protocol: call.protocol,
    session: call.session,
    model: call.model,
    route: call.route,
    status: call.status,
    state,
    error: call.errorCode,
    usage: state === "refused" ? undefined : call.meters,
    usage_source: call.usageSource,
    cost_nanodollars: call.costNanodollars,
    first_byte_ms: call.firstByteMs,
    duration_ms: deps.kernel.now() - call.startedMs,
    attempts: call.attempts,
    tried: call.failures.length === 0 ? undefined : call.failures,
    warnings: warnings.length === 0 ? undefined : warnings,
  });
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
  const { hold, route, costNanodollars } = call;
  const headers = hold === undefined ? {} : limitHeaders(hold.limits);
  headers["content-type"] = contentType;
  headers["x-content-type-options"] = "nosniff";
  headers["x-request-id"] = call.id;
  Object.assign(headers, call.inbound?.headersOf?.(call.id));
  if (call.clientRequestId !== undefined) headers["x-client-request-id"] = call.clientRequestId;
  if (route !== undefined) {
    headers["x-modelgate-route"] = route;
    headers["x-modelgate-attempts"] = String(call.attempts);
  }
  if (call.candidates !== undefined && call.candidates.length > 1) addFallbackHeaders(headers, call);
  if (call.isSuccession && call.model !== undefined) headers["x-modelgate-successor"] = call.model;
  if (costNanodollars !== undefined) headers["x-modelgate-cost-usd"] = formatUsd(costNanodollars);
  if (call.lowered !== undefined) headers["x-modelgate-lowered"] = formatLowered(call.lowered, call.inbound);
  if (call.ignored.size > 0) headers["x-modelgate-ignored"] = [...call.ignored].join(", ");
  if (sandbox || route === "sandbox") headers["x-modelgate-sandbox"] = "true";
  return headers;
}

/** The model that served one of several that could have, and those that were tried before it. */
function addFallbackHeaders(headers: ResponseHeaders, { model = "", failures }: CallContext): void {
  headers["x-modelgate-model"] = toHeaderText(model);
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
