import { Elysia } from "elysia";
import { type Caller, type Capability, GatewayError } from "../../contract/index.ts";
import { makeCallId, type Order, Progress, serve } from "../../kernel/index.ts";
import type { HttpDeps } from "../deps.ts";
import { type BodyReservation, declaredBytes } from "./body-memory.ts";
import { callHeaders, readClientRequestId } from "./headers.ts";
import { formBytesMax, jsonBytesMax, readForm, readJson } from "./read-body.ts";

/** The part of Bun's server used here: how long the socket of a request may be idle, in seconds; 0 means for ever. */
interface Sockets {
  timeout(request: Request, seconds: number): void;
}

/** Idle sockets are closed after this; the maximum that Bun accepts. */
const idleSecondsMax = 255;

/** One request of a caller with an API key: `call` in the context of its route, also in `onError`. */
export class RequestContext {
  readonly request: Request;
  readonly caller: Caller;
  /** The state of the call; its id is the `x-request-id` of the response. */
  readonly progress: Progress;
  /** The memory reserved for its body; absent for a short one. */
  body: BodyReservation | undefined = undefined;
  readonly #server: Sockets | null;
  #end: (() => void) | undefined;

  constructor(
    parts: Pick<RequestContext, "request" | "caller" | "progress"> & { server: Sockets | null },
    end = () => {},
  ) {
    this.request = parts.request;
    this.caller = parts.caller;
    this.progress = parts.progress;
    this.#server = parts.server;
    this.#end = end;
  }

  /** While a provider works, the socket may be idle for any time. Ended by {@link restoreIdleTimeout}. */
  disableIdleTimeout(): void {
    this.#server?.timeout(this.request, 0);
  }

  /** From here on the client is waited for. */
  restoreIdleTimeout(): void {
    this.#server?.timeout(this.request, idleSecondsMax);
  }

  /** Frees what the request occupied, once the response or its head is there. Repeating it does nothing. */
  end(): void {
    this.body?.release();
    this.#end?.();
    this.#end = undefined;
  }
}

/**
 * The part of Elysia's context used here; `call` is set by `parse` or `apiKey`. Hooks must not pass the whole context on:
 * Elysia reads their source, and then parses query, cookies and headers for every request.
 */
interface RouteContext {
  request: Request;
  server: Sockets | null;
  call: RequestContext;
}

/**
 * Adds API key authentication to routes. Elysia reads and validates a body before it resolves anything, so routes with a body
 * authenticate in their `parse` ({@link readJsonCall}); all others set `apiKey: true`.
 */
export function apiKeyRoutes(deps: HttpDeps) {
  return new Elysia()
    .decorate("call", undefined as unknown as RequestContext)
    .macro({
      apiKey: {
        resolve: async ({ request, server }) => ({ call: await authenticate(deps, request, server) }),
      },
    })
    .onAfterHandle({ as: "scoped" }, ({ call }) => {
      call.end();
    });
}

/** The `parse` of a route with a JSON body: authenticates first, then reads the body within its bounds. */
export function readJsonCall(deps: HttpDeps) {
  const beforeParsing = () => refuseOverload(deps, deps.now());
  return async (context: RouteContext): Promise<unknown> => {
    const call = await authenticate(deps, context.request, context.server);
    context.call = call;
    call.body = deps.bodies.reserve(declaredBytes(call.request, jsonBytesMax));
    return await readJson(call.request, { reservation: call.body, beforeParsing });
  };
}

/** The `parse` of a route with a multipart form, which `toBody` turns into the body. */
export function readFormCall<Body>(deps: HttpDeps, toBody: (form: FormData) => Body) {
  return async (context: RouteContext): Promise<Body> => {
    const call = await authenticate(deps, context.request, context.server);
    context.call = call;
    call.body = deps.bodies.reserve(declaredBytes(call.request, formBytesMax));
    return toBody(await readForm(call.request, call.body));
  };
}

/** @throws {GatewayError} `unavailable` when load is shed, or `invalid_api_key`. */
async function authenticate(deps: HttpDeps, request: Request, server: Sockets | null): Promise<RequestContext> {
  const openedAt = deps.now();
  refuseOverload(deps, openedAt);
  deps.loadShedder.arrive();
  try {
    const known = deps.accounts.authenticate(readApiKey(request));
    const caller = known instanceof Promise ? await known : known;
    const progress = new Progress(makeCallId(openedAt), openedAt);
    progress.clientRequestId = readClientRequestId(request);
    return new RequestContext({ request, caller, progress, server }, () => deps.loadShedder.depart());
  } catch (error) {
    deps.loadShedder.depart();
    throw error;
  }
}

function refuseOverload({ loadShedder }: HttpDeps, nowMs: number): void {
  const refusal = loadShedder.refusal(nowMs);
  if (refusal !== undefined) throw refusal;
}

/**
 * Reads the key of `Authorization: Bearer …`.
 *
 * @throws {GatewayError} `invalid_api_key` when the header is missing or malformed.
 */
function readApiKey(request: Request): string {
  const header = request.headers.get("authorization");
  if (header === null) {
    const sentence = "No API key was sent: put it in the header 'Authorization: Bearer sk-mg-…'";
    throw new GatewayError("invalid_api_key", sentence);
  }
  if (header.length > 512 || header.slice(0, 7).toLowerCase() !== "bearer ") {
    throw new GatewayError("invalid_api_key", "The Authorization header is not 'Bearer ' and an API key");
  }
  return header.slice(7).trim();
}

/**
 * Executes a call and logs it, whatever its outcome. A stream is cancelled when its client disconnects. A whole answer is
 * not: the provider bills it to us all the same, and a client that hangs up in time would have it for free.
 */
export async function executeCall<C extends Capability>(
  deps: HttpDeps,
  call: RequestContext,
  options: Pick<Order<C>, "capability" | "request" | "sink">,
) {
  const { caller, progress } = call;
  const order: Order<C> = { ...options, caller, progress };
  deps.loadShedder.enter(order);
  if (options.sink !== undefined) cancelOnDisconnect(call);
  call.disableIdleTimeout();
  try {
    return await serve(deps.kernel, order);
  } catch (error) {
    // Refused before admission: it is in the log alone.
    if (progress.errorCode === undefined) {
      const known = error instanceof GatewayError;
      progress.status = known ? error.status : 500;
      progress.errorCode = known ? error.code : "internal_error";
    }
    throw error;
  } finally {
    deps.loadShedder.leave(order);
    call.restoreIdleTimeout();
    deps.kernel.watch?.ended(progress, options.capability, options.sink !== undefined, call.request);
    logCall(deps, order);
  }
}

function cancelOnDisconnect({ request, progress }: RequestContext): void {
  const { signal } = request;
  if (signal.aborted) progress.cut("left");
  else signal.addEventListener("abort", () => progress.cut("left"));
}

/** A JSON response with the headers of its call. */
export function jsonReply(deps: HttpDeps, { progress }: RequestContext, body: unknown): Response {
  const headers = callHeaders(progress, deps.snapshot().sandbox, "application/json");
  if (deps.loadShedder.isLeaving) headers.connection = "close";
  return new Response(JSON.stringify(body), { headers });
}

function logCall<C extends Capability>(deps: HttpDeps, { capability, caller, progress }: Order<C>): void {
  const { state, notes } = progress;
  deps.log.info("call", {
    call: progress.id,
    client_request_id: progress.clientRequestId,
    account: caller.accountId,
    key: caller.keyId,
    capability,
    model: progress.model,
    route: progress.route,
    status: progress.status,
    state,
    error: progress.errorCode,
    usage: state === "refused" ? undefined : progress.meters,
    usage_source: progress.usageSource,
    cost_nanodollars: progress.costNanodollars,
    first_byte_ms: progress.firstByteMs,
    duration_ms: deps.now() - progress.openedAt,
    attempts: progress.attempts,
    notes: notes.length === 0 ? undefined : notes,
  });
}
