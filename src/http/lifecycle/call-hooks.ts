/**
 * How the steps of a call are hung into Elysia. Three of its habits force a detour; each is taken here and nowhere else:
 *
 * - Elysia reads and validates a body before it resolves anything. A route with a body has to authenticate before, so that
 *   steps 1 to 5 run in its `transform` ({@link jsonCall}), or of a form 1 to 4 in its `parse` ({@link readFormCall}); a route
 *   without one sets `apiKey: true`. They leave the call in the context, for which `decorate` makes the place: `call` is
 *   undefined until then, although its type says otherwise.
 * - Where Elysia parses, it looks at the stream of the body first, which makes reading it dearer: routes with JSON have it parse
 *   nothing. A hook that takes `server` out of the context costs two accessors for each request: calls have it of their deps.
 * - Elysia reads the source of hooks, and parses query, cookies and headers for each request where a hook passes the whole
 *   context on. So hooks take what they need out of it, and nothing else.
 */
import type { TSchema } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type Capability, GatewayError } from "../../contract/index.ts";
import { type CandidateQuery, ClientCall, findCandidates } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import { membersMax } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { authenticate } from "./authenticate.ts";
import { recordEnd } from "./execute.ts";
import { type ClientFormat, type Endpoint, type HttpCall, type RouteContext, readNamesOfBody } from "./http-call.ts";
import { declaredBytes, formBytesMax, jsonBytesMax, readForm, readJsonBody } from "./read-body.ts";
import { validateBody } from "./validate.ts";

/**
 * Adds API key authentication to routes. Those with a body authenticate before they read it ({@link jsonCall},
 * {@link readFormCall}); all others set `apiKey: true`, and each request to them takes one of the requests per minute.
 */
export function apiKeyRoutes(deps: HttpDeps) {
  return new Elysia()
    .decorate("call", undefined as unknown as HttpCall)
    .decorate("inbound", undefined as ClientFormat | undefined)
    .decorate("capability", undefined as Capability | undefined)
    .macro({
      apiKey: {
        resolve: async ({ request }) => ({ call: await authenticate(deps, request, deps.server()) }),
        beforeHandle: async ({ call }: { call: HttpCall }) => {
          call.isCounted = true;
          await deps.ledger.countRequest(call.id, call.caller);
        },
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

/** Options of a route with a JSON body of this schema, made by `requestBody`: authenticates first, then reads and checks the body. */
export function jsonCall<Schema extends TSchema>(deps: HttpDeps, schema: Schema, endpoint: JsonEndpoint) {
  const { inbound } = endpoint;
  const transform = async (context: RouteContext): Promise<void> => {
    context.inbound = inbound;
    context.capability = endpoint.capability;
    const call = await authenticate(deps, context.request, deps.server(), endpoint);
    // While the body came, others of the caller may have used up its requests.
    const beforeParsing = () => {
      deps.loadShedder.checkSlot(call.slot);
      deps.ledger.checkRequests(call.caller);
    };
    context.call = call;
    deps.ledger.checkRequests(call.caller);
    declaredBytes(context.request, jsonBytesMax);
    const body = await readJsonBody(context.request, { reservation: call.memory.request, beforeParsing });
    takeModels(body, call);
    call.requestedModel = (body as { model?: unknown } | null)?.model;
    call.forbidsStoring = (body as { store?: unknown } | null)?.store === false;
    readNamesOfBody(body, call);
    inbound?.refuse(body);
    const resolving = resolveModels(deps, call, body, endpoint.modelDefault);
    if (resolving !== undefined) await resolving;
    context.body = validateBody(schema, endpoint.check?.(body, call) ?? body);
  };
  return { parse: "none" as const, transform, body: schema };
}

/** An endpoint with a multipart form. */
interface FormEndpoint<Body> extends Endpoint {
  readonly capability: Capability;
  toBody(form: FormData): Body;
}

/** The `parse` of a route with a multipart form. */
export function readFormCall<Body>(deps: HttpDeps, endpoint: FormEndpoint<Body>) {
  return async (context: RouteContext): Promise<Body> => {
    context.capability = endpoint.capability;
    const call = await authenticate(deps, context.request, deps.server(), endpoint);
    context.call = call;
    deps.ledger.checkRequests(call.caller);
    declaredBytes(context.request, formBytesMax);
    const body = endpoint.toBody(await readForm(context.request, call.memory.request));
    readNamesOfBody(body, call);
    await resolveModels(deps, call, body, endpoint.modelDefault);
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
    const message = `models must be a list of 1 to ${membersMax} names of models; GET /models lists them`;
    throw new GatewayError("invalid_request", message, { param: "models" });
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
 * @returns A promise only for a name that is unknown, when its provider is asked for the models that it has now.
 * @throws {GatewayError} `model_not_found`, `model_not_allowed` or `unavailable`.
 */
export function resolveModels(
  deps: HttpDeps,
  call: HttpCall,
  body: unknown,
  modelDefault?: string,
): Promise<void> | undefined {
  const { kernel } = deps;
  const { capability, caller, openedAt, models, session } = call;
  if (capability === undefined || !isRecord(body)) return undefined;
  const model = body.model ?? modelDefault;
  if (!isName(model)) return undefined;
  const isStream = capability === "speech" || (capability === "chat" && body.stream === true);
  const query = { model, models, capability, caller, openedAt, session, isStream };
  try {
    call.candidates = findCandidates(kernel, query);
    return undefined;
  } catch (error) {
    return resolveAgain(deps, { call, body, query }, error);
  }
}

/** Resolves names that nobody knows once more, after their providers were asked. @throws What the first try threw, if that changed nothing. */
function resolveAgain(
  deps: HttpDeps,
  { call, body, query }: { call: HttpCall; body: object; query: CandidateQuery },
  error: unknown,
): Promise<void> {
  const { kernel, providers } = deps;
  const { registry } = kernel;
  const isUnknown = (name: string) => registry.byName(name) === undefined && !registry.virtualModels.has(name);
  const unknown = (query.models ?? [query.model]).filter(isUnknown);
  const refuse = (reason: unknown): never => {
    const refused = new ClientCall(call.toRequest({ capability: query.capability, request: body as never }));
    refused.refusal = reason instanceof GatewayError ? reason : undefined;
    recordEnd(deps, refused, call.httpRequest);
    throw reason;
  };
  const looking = unknown.length === 0 ? undefined : providers.lookFor(unknown);
  if (looking === undefined) return refuse(error);
  return looking.then(() => {
    try {
      call.candidates = findCandidates(kernel, query);
    } catch (reason) {
      refuse(reason);
    }
  });
}
