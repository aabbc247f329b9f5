/**
 * How the steps of a call are hung into Elysia. Three of its habits force a detour; each is taken here and nowhere else:
 *
 * - Elysia reads and validates a body before it resolves anything. A route with a body has to authenticate before, so that
 *   steps 1 to 4 run in its `parse` ({@link readJsonCall}, {@link readFormCall}); a route without one sets `apiKey: true`.
 * - `parse` cannot return anything but the body. It leaves the call in the context, for which `decorate` makes the place:
 *   `call` is undefined until then, although its type says otherwise.
 * - Elysia reads the source of hooks, and parses query, cookies and headers for each request where a hook passes the whole
 *   context on. So hooks take what they need out of it, and nothing else.
 */
import { Elysia } from "elysia";
import { isToken, RefusedKeyError } from "../../accounts/index.ts";
import { type Caller, type Capability, GatewayError, makeCallId, membersMax } from "../../contract/index.ts";
import { Call, findCandidates } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { HttpDeps } from "../deps.ts";
import { CallMemory } from "../memory/call-memory.ts";
import { recordEnd } from "./execute.ts";
import {
  type ClientFormat,
  type Clients,
  clientAddressOf,
  type Endpoint,
  HttpCall,
  type RouteContext,
  readNamesOfBody,
  type Sockets,
} from "./http-call.ts";
import { declaredBytes, formBytesMax, jsonBytesMax, readForm, readJson } from "./read-body.ts";

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
      shedLoad(deps, deps.kernel.now());
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

/** An endpoint with a multipart form. */
interface FormEndpoint<Body> extends Endpoint {
  readonly capability: Capability;
  toBody(form: FormData): Body;
}

/** The `parse` of a route with a multipart form. */
export function readFormCall<Body>(deps: HttpDeps, endpoint: FormEndpoint<Body>) {
  return async (context: RouteContext): Promise<Body> => {
    const call = await authenticate(deps, context.request, context.server, endpoint);
    context.call = call;
    deps.ledger.checkRequests(call.caller);
    declaredBytes(context.request, formBytesMax);
    const body = endpoint.toBody(await readForm(context.request, call.memory.request));
    resolveModels(deps, call, body, endpoint.modelDefault);
    return body;
  };
}

/** Whether a value can be the name of a model; a longer text is none, and is not repeated in an error. */
function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 200;
}

/**
 * Takes the field `models` out of a body: the models that the client wants to be tried in order. A `model` beside it is the
 * first one, and the first one is the `model` of a body without.
 *
 * @throws {GatewayError} `invalid_request` when it is not a list of names.
 */
function takeModels(body: unknown, call: Pick<HttpCall, "models">): void {
  if (!isRecord(body) || body.models === undefined || body.models === null) return;
  const { models, model } = body;
  if (!Array.isArray(models) || models.length === 0 || models.length > membersMax || !models.every(isName)) {
    const sentence = `models must be a list of 1 to ${membersMax} names of models; GET /models lists them`;
    throw new GatewayError("invalid_request", sentence, { param: "models" });
  }
  const names = new Set(isName(model) ? [model, ...models] : models);
  call.models = [...names];
  body.model ??= call.models[0];
  delete body.models;
}

/**
 * Step 4: finds the models that may serve a call, once and before its body is validated and translated: a model that does not exist or that the
 * key may not use is refused without that work. A body without the name of a model is left to its schema.
 *
 * @throws {GatewayError} `model_not_found` or `model_not_allowed`.
 */
export function resolveModels(deps: HttpDeps, call: HttpCall, body: unknown, modelDefault?: string): void {
  const { kernel } = deps;
  const { capability, caller, openedAt, models, session } = call;
  if (capability === undefined || !isRecord(body)) return;
  const model = body.model ?? modelDefault;
  if (!isName(model)) return;
  const isStream = capability === "speech" || (capability === "chat" && body.stream === true);
  try {
    call.candidates = findCandidates(kernel, { model, models, capability, caller, openedAt, session, isStream });
  } catch (error) {
    const refused = new Call(call.toRequest({ capability, request: body as never }));
    refused.refusal = error instanceof GatewayError ? error : undefined;
    recordEnd(deps, refused, call.httpRequest);
    throw error;
  }
}

/**
 * Step 2: finds out whose request it is by its API key, before any of its body is read.
 *
 * @throws {GatewayError} `unavailable` when load is shed, or `invalid_api_key`.
 */
async function authenticate(
  deps: HttpDeps,
  request: Request,
  server: Sockets | null,
  { inbound, capability }: Endpoint = {},
): Promise<HttpCall> {
  const [openedAt, startedMs] = [deps.now(), deps.kernel.now()];
  shedLoad(deps, startedMs);
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

/**
 * Step 1: sheds load. It comes before anything is done for a request, and again once a body has been received.
 *
 * @throws {GatewayError} `unavailable` when the process is overloaded, full or shutting down.
 */
function shedLoad({ loadShedder }: HttpDeps, nowMs: number): void {
  const refusal = loadShedder.refusal(nowMs);
  if (refusal !== undefined) throw refusal;
}
