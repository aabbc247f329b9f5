/**
 * The steps of a request with an API key: 1 and 2 who asks, and a slot for it; 3 its body is read; 4 the models that may serve it
 * are found; 5 the body is checked; 6 an answer that was given before is given again; 7 and 8 the handler runs the call and
 * responds.
 */
import type { Static, TSchema } from "@sinclair/typebox";
import { type Capability, GatewayError } from "../../contract/index.ts";
import { type CandidateQuery, ClientCall, findCandidates } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import { membersMax } from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { authenticate } from "./authenticate.ts";
import { recordEnd } from "./execute.ts";
import { type Endpoint, type HttpCall, readNamesOfBody } from "./http-call.ts";
import { replyOnce } from "./idempotency.ts";
import { declaredBytes, formBytesMax, jsonBytesMax, readForm, readJsonBody } from "./read-body.ts";
import type { ParamsOf, RequestContext, Route } from "./route.ts";
import { checkBody } from "./validate.ts";

interface KeyRoute<Path extends string> extends Pick<Route, "detail"> {
  readonly method: "GET" | "DELETE" | "POST";
  readonly path: Path;
  answer(context: {
    readonly request: Request;
    readonly params: ParamsOf<Path>;
    readonly call: HttpCall;
  }): Promise<Response> | Response;
}

/** A route with an API key that reads no body, which takes one of the requests per minute of its key. */
export function keyRoute<const Path extends string>(deps: HttpDeps, { answer, ...route }: KeyRoute<Path>): Route {
  return {
    ...route,
    async answer(context) {
      const call = await authenticate(deps, context.request, deps.server());
      context.call = call;
      call.isCounted = true;
      await deps.ledger.countRequest(call.id, call.caller);
      return await answer({ request: context.request, params: context.params as ParamsOf<Path>, call });
    },
  };
}

/** The body of a call: how it is read and checked before its model serves it. */
interface CallBody<Body> extends Endpoint {
  readonly capability: Capability;
  readonly schema: TSchema;
  readonly isForm?: boolean;
  read(context: RequestContext): Promise<Body>;
}

/** A call: a POST with an API key and a body. */
interface CallRoute<Body> extends Pick<Route, "path" | "detail"> {
  readonly body: CallBody<Body>;
  /** The call costs nothing, so a repeated request runs again. */
  readonly isFree?: boolean;
}

/** A route with an API key and a body. */
export function callRoute<Body>(
  deps: HttpDeps,
  { path, detail, body: { schema, capability, inbound, isForm = false, read }, isFree = false }: CallRoute<Body>,
  handler: (handled: { readonly call: HttpCall; readonly body: Body }) => Promise<Response>,
): Route {
  const reply = isFree ? handler : replyOnce(deps, handler);
  return {
    method: "POST",
    path,
    detail,
    body: schema,
    capability,
    inbound,
    isForm,
    async answer(context) {
      const body = await read(context);
      if (context.call === undefined) throw new TypeError("The caller of this request is unknown");
      return await reply({ call: context.call, body });
    },
  };
}

/** An endpoint with a JSON body. */
interface JsonEndpoint extends Endpoint {
  readonly capability: Capability;
  /** Looks at a body before its schema does: throws, in fewer words, or gives the body to use instead. */
  check?(body: unknown, call: HttpCall): unknown;
  /** The member of a union that a body was meant to be, whose error is the one to tell. */
  choose?(body: unknown): TSchema;
  /** Reads the body; absent: it is the request's. */
  readonly readBody?: typeof readJsonBody;
}

/** A JSON body of this schema. */
export function jsonBody<Schema extends TSchema>(
  deps: HttpDeps,
  schema: Schema,
  endpoint: JsonEndpoint,
): CallBody<Static<Schema>> {
  const { inbound, capability, readBody = readJsonBody } = endpoint;
  const read = async (context: RequestContext): Promise<Static<Schema>> => {
    const call = await openCall(deps, context, endpoint);
    declaredBytes(context.request, jsonBytesMax);
    // While the body came, others of the caller may have used up its requests.
    const beforeParsing = () => {
      deps.loadShedder.checkSlot(call.slot);
      deps.ledger.checkRequests(call.caller);
    };
    const body = await readBody(context.request, { reservation: call.memory.request, beforeParsing });
    takeModels(body, call);
    call.requestedModel = (body as { model?: unknown } | null)?.model;
    call.forbidsStoring = (body as { store?: unknown } | null)?.store === false;
    readNamesOfBody(body, call);
    inbound?.refuse(body);
    const resolving = resolveModels(deps, call, body, endpoint.modelDefault);
    if (resolving !== undefined) await resolving;
    const checked = endpoint.check?.(body, call) ?? body;
    return checkBody(endpoint.choose?.(checked) ?? schema, checked);
  };
  return { schema, inbound, capability, read };
}

/** An endpoint with a multipart form. */
interface FormEndpoint extends Endpoint {
  readonly capability: Capability;
  toBody(form: FormData): unknown;
  choose?(body: unknown): TSchema;
}

/** A multipart form that makes a body of this schema. */
export function multipartBody<Schema extends TSchema>(
  deps: HttpDeps,
  schema: Schema,
  endpoint: FormEndpoint,
): CallBody<Static<Schema>> {
  const { inbound, capability } = endpoint;
  const read = async (context: RequestContext): Promise<Static<Schema>> => {
    const call = await openCall(deps, context, endpoint);
    declaredBytes(context.request, formBytesMax);
    const body = endpoint.toBody(await readForm(context.request, call.memory.request));
    readNamesOfBody(body, call);
    await resolveModels(deps, call, body, endpoint.modelDefault);
    return checkBody(endpoint.choose?.(body) ?? schema, body);
  };
  return { schema, inbound, capability, isForm: true, read };
}

/** Steps 1 and 2. */
async function openCall(deps: HttpDeps, context: RequestContext, endpoint: Endpoint): Promise<HttpCall> {
  const opening = authenticate(deps, context.request, deps.server(), endpoint);
  const call = opening instanceof Promise ? await opening : opening;
  context.call = call;
  deps.ledger.checkRequests(call.caller);
  return call;
}

/** Whether a value can be the name of a model. A longer text cannot, and is not repeated in an error. */
function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 200;
}

/**
 * Takes the field `models` out of a body: the models that the client wants to be tried in order. If the body also has a
 * `model`, that comes first. If not, the first of `models` becomes its `model`.
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
 * Step 4: finds the models that may serve a call, once and before its body is validated and translated. A model that
 * does not exist, or that the key may not use, is refused without that work. A body without the name of a model is left
 * to its schema.
 *
 * @returns A promise only for an unknown name: its provider is then queried for its current models.
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

/**
 * Resolves unknown names again, after a query to their providers.
 *
 * @throws The first error if no provider can be queried; otherwise the error of the second try.
 */
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
