import {
  type Capability,
  GatewayError,
  isOfOperator,
  type LimitState,
  makeCallId,
  type ReachedLimit,
} from "../../contract/index.ts";
import { toOpenaiError } from "../../protocols/inbound.ts";
import type { HttpDeps } from "../deps.ts";
import { recordRefusal } from "./execute.ts";
import { dataHeaders, exposeResponse, type ResponseHeaders } from "./headers.ts";
import { type ErrorFormat, type HttpCall, readClientRequestId } from "./http-call.ts";
import { invalidHost, parseUrl } from "./origin.ts";
import { limitHeaders, toGatewayError, toHeaderText } from "./respond.ts";
import { notFoundPage } from "./static-assets.ts";

/** Facts of the request that failed. */
interface FailedRequest {
  request: Request;
  /** Absent for a request without a valid API key. */
  call?: HttpCall | undefined;
  /** The client's format, where there is no call. */
  inbound?: ErrorFormat | undefined;
  /** Capability of the endpoint, where there is no call. */
  capability?: Capability | undefined;
  headers?: ResponseHeaders;
}

/** The only place that makes a response of an error. */
export async function errorResponse(deps: HttpDeps, thrown: unknown, failed: FailedRequest): Promise<Response> {
  const error = toGatewayError(thrown, deps.log);
  const { request, call } = failed;
  const capability = call === undefined ? failed.capability : call.capability;
  const isUnrun = capability !== undefined && call?.execution === undefined;
  deps.kernel.observer?.refused(error.code, isUnrun ? { capability, status: error.status } : undefined);
  const openedAt = call === undefined ? deps.now() : call.openedAt;
  const id = call === undefined ? makeCallId(openedAt) : call.id;
  const inbound = call?.inbound ?? failed.inbound;
  const {
    status,
    body,
    headers: ofProtocol,
  } = inbound?.toError(error, id, call?.isProgram === true) ?? toOpenaiError(error);
  recordRefusal(deps, { id, openedAt, request, call, error, status });
  const headers: ResponseHeaders = {
    ...dataHeaders(request),
    ...(call !== undefined && (await readLimitHeaders(deps, call, error))),
    ...failed.headers,
    ...ofProtocol,
    "x-request-id": id,
  };
  const clientRequestId = readClientRequestId(request);
  if (clientRequestId !== undefined) headers["x-client-request-id"] = clientRequestId;
  const attempts = call?.execution?.attempts ?? 0;
  if (attempts > 0) headers["x-modelgate-attempts"] = String(attempts);
  if (error.limit !== undefined) headers["x-modelgate-limit"] = describeLimit(error.limit);
  if (isFinal(error)) headers["x-should-retry"] = "false";
  if (error.code === "invalid_api_key") headers["www-authenticate"] = "Bearer";
  if (deps.snapshot().sandbox) headers["x-modelgate-sandbox"] = "true";
  // The rest of a body that comes too slowly is not waited for.
  if (deps.loadShedder.isDraining || error.code === "request_timeout") headers.connection = "close";
  return Response.json(body, { status, headers });
}

/**
 * Whether the same request fails again for as long as clients keep trying. Claude Code repeats even a wrong key, and all
 * clients a 409, which helps only while an equal request runs.
 */
function isFinal(error: GatewayError): boolean {
  const { code, retryAfterMs } = error;
  if (isOfOperator(error)) return true;
  if (code === "conflict") return retryAfterMs === undefined;
  return code === "request_too_large" || code === "invalid_api_key";
}

/** A list as RFC 8941 has it: `tokens_per_minute;owner=key;model="acme/large"`. */
function describeLimit({ name, owner, model, modelName = model }: ReachedLimit): string {
  const ofModel = modelName === undefined ? "" : `;model="${toHeaderText(modelName).replaceAll(/["\\]/g, "?")}"`;
  return `${name};owner=${owner}${ofModel}`;
}

/** An error is answered even when the limits cannot be read. */
async function readLimitHeaders(deps: HttpDeps, call: HttpCall, refusal: GatewayError): Promise<ResponseHeaders> {
  try {
    const counted = await countRefused(deps, call, refusal);
    return limitHeaders(counted ?? (await deps.ledger.readLimitState(call.caller, refusal.limit?.model)));
  } catch (error) {
    deps.log.error("limits_unknown", { error });
    return {};
  }
}

/**
 * A refused request takes one of the requests per minute, as an admitted one has: to read and check it was work too. One
 * that a limit or the gateway's own load refuses takes none, or a caller could not get out of it by waiting.
 *
 * @returns `undefined` when nothing was counted, also because none was left.
 */
async function countRefused(deps: HttpDeps, call: HttpCall, { code }: GatewayError): Promise<LimitState | undefined> {
  const isLimit = code === "rate_limit_exceeded" || code === "unavailable";
  if (isLimit || call.isCounted || call.state !== "refused") return undefined;
  call.isCounted = true;
  return await deps.ledger.countRequest(call.id, call.caller).catch((error) => {
    if (error instanceof GatewayError && error.code === "rate_limit_exceeded") return undefined;
    throw error;
  });
}

/** The routes of the server, as far as errors have to know them. */
interface Server {
  methodsOf(path: string): string[];
  /** Format of the client of a request; absent: OpenAI's envelope. */
  inboundOf(request: Request): ErrorFormat | undefined;
}

/** Answers a request that no route answers, or whose URL cannot be read. */
export function noRouteHandler(deps: HttpDeps, { methodsOf, inboundOf }: Server) {
  return async ({
    error,
    code,
    request,
  }: {
    error: unknown;
    code: string | number;
    request: Request;
  }): Promise<Response> => {
    const inbound = inboundOf(request);
    if (code !== "NOT_FOUND") return errorResponse(deps, error, { request, inbound });
    const url = URL.parse(request.url);
    if (url === null) return errorResponse(deps, invalidHost(), { request, inbound });
    const { pathname } = url;
    const { basePath, corsOrigins = [] } = deps.config;
    const isApi = pathname.startsWith(`${basePath}/`) || pathname.startsWith("/v1/");
    const methods = methodsOf(pathname);
    const meantPath = toMeantPath(pathname);
    const correctedPath = methodsOf(meantPath).includes(request.method) ? meantPath : undefined;
    const response = await noEndpoint(deps, request, { pathname, methods, meant: correctedPath, isApi, inbound });
    return isApi ? exposeResponse(corsOrigins, response, request) : response;
  };
}

/** The path of the API that a client with a wrong base URL may mean: one without `/v1`, with two, or with the endpoint. */
function toMeantPath(pathname: string): string {
  const single = pathname.replaceAll(/\/{2,}/g, "/");
  const version = single.lastIndexOf("/v1/");
  const endpoint = version === -1 ? single : single.slice(version + "/v1".length);
  return `/v1${endpoint.replace("/chat/completions/chat/", "/chat/")}`;
}

async function noEndpoint(
  deps: HttpDeps,
  request: Request,
  {
    pathname,
    methods,
    meant: correctedPath,
    isApi,
    inbound,
  }: {
    pathname: string;
    methods: string[];
    meant?: string | undefined;
    isApi: boolean;
    inbound: ErrorFormat | undefined;
  },
): Promise<Response> {
  // The server takes a path as it is sent: one with a fragment only looks like an endpoint.
  if (methods.length === 0 || methods.includes(request.method)) {
    const page = isApi ? undefined : await notFoundPage(deps.site, request);
    if (page !== undefined) return page;
    const remedy =
      correctedPath === undefined
        ? "GET /docs lists the endpoints"
        : `did you mean ${correctedPath}? Check the client's base URL`;
    const message = `There is no endpoint ${request.method} ${pathname}; ${remedy}`;
    return errorResponse(deps, new GatewayError("not_found", message), { request, inbound });
  }
  // The other endpoints of the format accept GET, so only the WebSocket endpoint can get here.
  if (inbound?.triesWebSocket === true && isWebSocketHandshake(request)) {
    return refuseWebSocket(deps, request, { reason: "WebSockets are not served here", inbound });
  }
  const message = `${pathname} takes ${methods.join(", ")}, not ${request.method}`;
  const headers = { allow: methods.join(", ") };
  return errorResponse(deps, new GatewayError("method_not_allowed", message), { request, headers, inbound });
}

/**
 * The refusal of a handshake that lets Codex go on with server-sent events at once. After other statuses it tries seven times, or
 * ends.
 */
export function refuseWebSocket(
  deps: HttpDeps,
  request: Request,
  { reason, call, inbound }: { reason: string } & Pick<FailedRequest, "call" | "inbound">,
): Promise<Response> {
  const message = `${reason}; send POST ${parseUrl(request).pathname} with stream: true for server-sent events`;
  // The connection is closed, because a client that has begun a handshake does not use it for another request.
  const headers = { upgrade: "websocket", connection: "close" };
  return errorResponse(deps, new GatewayError("upgrade_required", message), { request, call, headers, inbound });
}

/**
 * Whether a request begins a WebSocket. A proxy that does not hand on an upgrade removes `Upgrade` and `Connection`, but not the
 * key of the handshake.
 */
export function isWebSocketHandshake({ method, headers }: Request): boolean {
  if (method !== "GET") return false;
  const protocols = headers.get("upgrade")?.toLowerCase().split(",") ?? [];
  return headers.has("sec-websocket-key") || protocols.some((protocol) => protocol.trim() === "websocket");
}
