/**
 * Handling of provider failures. A call tries the routes of a model, and on each route its keys, until one begins to
 * answer: {@link withFailover}. Nothing has reached the caller before that, so a failure that another key or provider may
 * not have is retried there. When all routes of a model have failed, another model may follow: {@link mayFallBack}.
 *
 * One rule bounds both: a request that was sent whole is sent again only after the provider refused it, because a provider
 * that is silent or broke off may still be working on it and would bill it twice. The HTTP client has the one exception: a
 * connection that was reset sooner than its provider has ever answered.
 */
import {
  capabilityForms,
  type ErrorCode,
  GatewayError,
  UpstreamError,
  type UpstreamErrorKind,
} from "../contract/index.ts";
import { withoutWords } from "../lib/describe-error.ts";
import type { Call, Model, ProviderPlugin } from "../provider/index.ts";
import { Attempt, type ModelRun } from "./call.ts";
import { affinity, cacheOwnerOf, type PoolKey } from "./routing/circuits.ts";
import { canServe, orderRoutes, pausedForMs, type Route } from "./routing/registry.ts";
import type { Kernel } from "./types.ts";
import { LongAnswerError } from "./upstream/http-client.ts";
import { BoundUpstream } from "./upstream/upstream.ts";

/** How many attempts a call gets at a model over all its routes and keys. */
export const attemptsMax = 4;
/** The average pause before the only route is tried again; half of it more or less. */
const retryMs = 200;
/** A provider that asks for a longer pause is not waited for. */
const retryMsMax = 5000;

/** The work attempted on each route. */
export interface RouteTask<Request, Answer> {
  /** The request as this row of the model takes it. */
  requestFor(model: Model, attempt: Attempt): Request;
  /** Runs the plugin's handler; resolves once the provider has begun to answer with content. */
  run(plugin: ProviderPlugin, call: Call<Request>): Promise<Answer>;
}

/**
 * Tries the routes of a model until one begins to answer. With a single route, a transient failure is retried on it once. A route
 * that keeps failing is not waited for: where all are paused, the call fails at once.
 *
 * @throws {UpstreamError | GatewayError} The last failure, the first that every route would return, or `unavailable`.
 */
export async function withFailover<Request, Answer>(
  kernel: Kernel,
  run: ModelRun,
  task: RouteTask<Request, Answer>,
): Promise<Answer> {
  const { now, network } = kernel;
  const { call } = run;
  const { id, startedMs, leavesCaching = false } = call.request;
  const { accountId } = run.caller;
  const owner = cacheOwnerOf(call.request);
  const routes = chooseRoutes(kernel, run, owner);
  let { beginMsMax: longestMs } = network.bounds;
  for (const { model } of routes) longestMs = Math.max(longestMs, (model.timeoutSeconds ?? 0) * 1000);
  call.setDeadline(network.timeouts, startedMs + longestMs);
  let last: unknown;
  let pausedMs = Number.POSITIVE_INFINITY;
  for (const route of routes) {
    // Created by the first failure: most calls need none.
    let triedKeys: Set<number> | undefined;
    let retries = routes.length === 1 ? 1 : 0;
    while (run.attempts.length < attemptsMax) {
      const nowMs = now();
      const routePausedMs = pausedForMs(route, nowMs, accountId);
      if (routePausedMs > 0) {
        pausedMs = Math.min(pausedMs, routePausedMs);
        break;
      }
      const key = route.keys.take(nowMs, triedKeys, owner);
      if (key === undefined && (route.keys.size > 0 || (triedKeys !== undefined && triedKeys.size > 0))) break;
      call.throwIfCancelled();
      const attempt = new Attempt(run, route, key, nowMs);
      route.circuitBreaker.begin(nowMs, accountId);
      const upstream = new BoundUpstream(network, attempt);
      try {
        const own = upstream.isOwnServer();
        const isOwnServer = own instanceof Promise ? await own : own;
        const answer = await task.run(route.plugin, {
          id,
          request: task.requestFor(route.model, attempt),
          model: route.model,
          signal: attempt.signal,
          upstream,
          isOwnServer,
          leavesCaching,
          keepsLonger: run.keepsLonger,
          warn: (message, ignored) => attempt.warn(message, ignored),
        });
        attempt.isAnswered = true;
        call.setDeadline(network.timeouts, startedMs + network.bounds.callMsMax);
        recordSuccess(route, key, accountId);
        kernel.observer?.attempted(attempt);
        run.firstByteMs = now() - startedMs;
        return answer;
      } catch (error) {
        if (error instanceof UpstreamError || upstream.wasAsked) upstream.refuseEmpty();
        attempt.fail(error, now());
        kernel.observer?.attempted(attempt);
        const keyIndex = key === undefined ? 0 : key.index;
        triedKeys ??= new Set();
        triedKeys.add(keyIndex);
        if (call.cancelReason !== undefined || call.clientLeft || error instanceof GatewayError) {
          route.circuitBreaker.abandon(accountId);
          throw error;
        }
        if (!upstream.wasAsked && !(error instanceof UpstreamError)) {
          last = toOwnFailure(kernel, attempt);
          break;
        }
        const upstreamError = toUpstreamError(kernel, attempt);
        last = upstreamError;
        // A part of what was asked for is paid already, and would be again.
        if (upstream.hasServed && isOfKey(upstreamError)) {
          route.circuitBreaker.onSuccess(accountId);
          recordRefusedKey(kernel, route, key, upstreamError);
          throw upstreamError;
        }
        if (isFinal(upstreamError)) {
          recordSuccess(route, key, accountId);
          throw upstreamError;
        }
        if (isOfKey(upstreamError)) {
          // The provider answered, so the route itself works.
          route.circuitBreaker.onSuccess(accountId);
          if (recordRefusedKey(kernel, route, key, upstreamError)) continue;
          break;
        }
        recordFailure(kernel, route, upstreamError, accountId);
        if (upstream.hasServed || !maySendAgain(upstreamError, upstream.wasSent)) throw upstreamError;
        if (retries === 0 || upstreamError !== error || !(await waitToRetry(kernel, run, upstreamError))) break;
        retries--;
        triedKeys.delete(keyIndex);
      }
    }
  }
  throw last ?? pausedError(routes, pausedMs);
}

/** All routes that could serve the call are paused. Nothing was sent. */
function pausedError(routes: readonly Route[], retryAfterMs: number): GatewayError {
  const names = [...new Set(routes.map(({ plugin }) => plugin.name))].join(", ");
  const seconds = Math.ceil(retryAfterMs / 1000);
  const message = `The request was not sent: after repeated failures the gateway pauses ${names}; send it again in ${seconds} s`;
  return new GatewayError("unavailable", message, { retryAfterMs, cause: new UpstreamError("overloaded", message) });
}

/** The routes that may serve the call, in the order in which they are tried. */
function chooseRoutes(kernel: Kernel, run: ModelRun, owner: string | undefined): readonly Route[] {
  const { routes } = run.modelEntry;
  const { capability } = run.call.request;
  // Only some plugins of the model may support a further endpoint.
  const isFurther = capabilityForms[capability].also !== undefined;
  const able = isFurther ? routes.filter((route) => canServe(route, capability)) : routes;
  if (able.length === 1) return able;
  const random =
    owner === undefined ? (kernel.random ?? Math.random) : (route: Route) => affinity(owner, route.plugin.name);
  return orderRoutes(able, kernel.now(), random, run.caller.accountId);
}

/**
 * An error of a plugin that is neither an `UpstreamError` nor a refusal, before its provider was asked, is a failure of
 * the gateway, which another route may not have. It says nothing about the provider, so it counts against no route.
 */
function toOwnFailure(kernel: Kernel, { run, route, error }: Attempt): GatewayError {
  kernel.log.error("plugin_failed", { call: run.call.id, plugin: route.plugin.name, error: withoutWords(error) });
  const message =
    "The gateway could not make the provider's request of this one, and sent nothing; the operator finds the reason in the " +
    "request log under its x-request-id";
  return new GatewayError("internal_error", message, { cause: error });
}

/** The error as an `UpstreamError`. A plugin that throws anything else behind its provider's answer has failed itself. */
function toUpstreamError(kernel: Kernel, { run, route, error }: Attempt): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const { name } = route.plugin;
  kernel.log.error("plugin_failed", { call: run.call.id, plugin: name, error: withoutWords(error) });
  if (route.health.onFailure(kernel.now(), run.caller.accountId)) kernel.log.error("circuit_opened", { plugin: name });
  return new UpstreamError("bad_response", "The provider's answer could not be read", { cause: error });
}

/** Whether every route would return the same. */
function isFinal({ kind }: UpstreamError): boolean {
  return kind === "bad_request" || kind === "context_length";
}

/**
 * Whether the request may be sent again, to this route or another. After a timeout or a broken answer the provider may
 * still be working on it and would bill it, so it may not; it may when no provider has received it, or when the provider
 * answered by an error that it did not serve it.
 */
export function maySendAgain({ kind, status }: UpstreamError, wasSent: boolean): boolean {
  if (!wasSent) return true;
  if (kind === "timeout") return false;
  return kind !== "bad_response" || (status !== undefined && status >= 300);
}

/** Whether another key may work. */
export function isOfKey({ kind }: UpstreamError): boolean {
  return kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
}

function recordSuccess(route: Route, key: PoolKey | undefined, accountId: string): void {
  route.circuitBreaker.onSuccess(accountId);
  key?.circuitBreaker.onSuccess();
}

function recordFailure(
  { log, now }: Kernel,
  { plugin, model, circuitBreaker }: Route,
  { kind, status, isOfRequest }: UpstreamError,
  account: string,
): void {
  // The provider answered, and other requests fit.
  if (isOfRequest || kind === "request_too_large") circuitBreaker.onSuccess(account);
  else if (circuitBreaker.onFailure(now(), account))
    log.warn("circuit_opened", { plugin: plugin.name, model: model.id, kind, status });
}

/** Returns whether another key of this route may work. */
export function recordRefusedKey(
  kernel: Kernel,
  route: Route,
  key: PoolKey | undefined,
  error: UpstreamError,
): boolean {
  const { kind, status, retryAfterMs } = error;
  kernel.log.warn("upstream_refused_key", { plugin: route.plugin.name, key: key?.index, kind, status });
  if (key === undefined) return false;
  if (retryAfterMs === undefined) key.circuitBreaker.onFailure(kernel.now());
  else key.circuitBreaker.pauseFor(retryAfterMs, kernel.now());
  return true;
}

/** Failures of the provider itself, which a later request may not have. */
const ofRoute: ReadonlySet<UpstreamErrorKind> = new Set(["overloaded", "server_error", "bad_response", "timeout"]);

/** Waits before the only route is tried again. Returns whether it should be: not where another model is next. */
async function waitToRetry(kernel: Kernel, { call, isLast }: ModelRun, error: UpstreamError): Promise<boolean> {
  if (!isLast) return false;
  if (!ofRoute.has(error.kind)) return false;
  const jitterMs = retryMs * (0.5 + (kernel.random ?? Math.random)());
  const waitMs = error.retryAfterMs === undefined ? jitterMs : error.retryAfterMs + jitterMs / 2;
  const { beginMsMax } = kernel.network.bounds;
  if (waitMs > retryMsMax || kernel.now() + waitMs >= call.request.startedMs + beginMsMax) return false;
  await (kernel.pause ?? pause)(waitMs, call.signal);
  return call.cancelReason === undefined;
}

/** Resolves after a while, or at once when the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}

/**
 * Counts a failure after the answer began, or a timeout before it, against the route. Other failures were counted with
 * their attempt; a client that disconnects and an invalid request count against no route. Nor does an answer that lasts longer
 * than a call may, while its provider is not silent: its client reads slowly, or has asked for so much.
 *
 * @returns Whether a circuit opened.
 */
export function recordLateFailure(error: unknown, run: ModelRun, nowMs: number): boolean {
  const { attempt } = run;
  const { cancelReason } = run.call;
  if (attempt === undefined || error instanceof GatewayError || error instanceof LongAnswerError) return false;
  if (cancelReason !== undefined && cancelReason !== "timeout") return false;
  if (!attempt.isAnswered && cancelReason !== "timeout") return false;
  if (isOverlong(run)) return false;
  const { accountId } = run.caller;
  const { health, circuitBreaker } = attempt.route;
  if (!(error instanceof UpstreamError)) return health.onFailure(nowMs, accountId);
  if (error.isOfRequest) return false;
  return ofRoute.has(error.kind) && circuitBreaker.onFailure(nowMs, accountId);
}

/** Whether an answer lasted longer than a call may, although its provider was not silent. */
function isOverlong({ answeredBy, call, sent: requests }: ModelRun): boolean {
  return (
    answeredBy !== undefined && call.cancelReason === "timeout" && ![...requests].some(({ isTimedOut }) => isTimedOut)
  );
}

/** Errors that another model may not have: those before the hold, beside a limit of the model, and those from a provider. */
const beforeHold: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "model_not_found",
  "context_length_exceeded",
  "request_too_large",
  "quota_exceeded",
  "insufficient_balance",
  "budget_exceeded",
]);
const ofProvider: ReadonlySet<ErrorCode> = new Set([
  "model_not_found",
  "context_length_exceeded",
  "request_too_large",
  "rate_limit_exceeded",
  "upstream_error",
  "upstream_timeout",
]);

/**
 * Whether another model may serve the call after this one failed: only while nothing has come out, and only after a failure
 * that another one may not have. Before the hold `invalid_request` is about this model: the shape of the request was
 * checked before.
 */
export function mayFallBack(run: ModelRun, { code, limit, cause }: GatewayError): boolean {
  const { call, sent: requests } = run;
  if (call.cancelReason !== undefined || call.clientLeft || run.answeredBy !== undefined) return false;
  if (run.hold === undefined) return beforeHold.has(code) || limit?.model !== undefined;
  // A plugin that could not make its request of this one: another model's may.
  if (code === "internal_error") return run.attempt !== undefined && requests.size === 0;
  // Its routes are paused.
  if (code === "unavailable") return cause instanceof UpstreamError && run.attempts.length === 0;
  if (!ofProvider.has(code)) return false;
  // A served request is paid, whatever its provider says of it, and a second one would be too.
  if ([...requests].some(({ isAnswered }) => isAnswered)) return false;
  return !(cause instanceof UpstreamError) || maySendAgain(cause, requests.size > 0);
}

/** Whether a failure says something about the speed of the model: what a caller can cause does not. */
export function isOfModel(run: ModelRun, error: GatewayError): boolean {
  if (run.hold === undefined || isOverlong(run)) return false;
  if (error.cause instanceof UpstreamError && error.cause.isOfRequest) return false;
  return /^(upstream_error|upstream_timeout|rate_limit_exceeded)$/.test(error.code);
}

/** The failure of the last model, with what became of those before it. */
export function withEarlierFailures({ call }: ModelRun, error: GatewayError): GatewayError {
  const { failures } = call;
  if (failures.length === 0) return error;
  const before = failures.map((failure) => `'${failure.model}' (${failure.code})`).join(", ");
  const { code, message, param, publicCode, retryAfterMs, limit, cause } = error;
  const fullMessage = `${message} (also tried: ${before})`;
  return new GatewayError(code, fullMessage, { param, publicCode, retryAfterMs, limit, cause });
}

/** The error that the caller sees. What a provider says about our keys is replaced, and a key that it repeats is hidden. */
export function toClientError(thrown: unknown, run: ModelRun): GatewayError {
  const error = toGatewayError(thrown, run);
  const keys = run.attempt?.route.keys;
  if (keys === undefined) return error;
  const { code, retryAfterMs } = error;
  const [message, publicCode] = [keys.hide(error.message), keys.hide(error.publicCode)];
  const param = error.param === undefined ? undefined : keys.hide(error.param);
  if (message === error.message && publicCode === error.publicCode && param === error.param) return error;
  return new GatewayError(code, message, { param, publicCode, retryAfterMs, cause: thrown });
}

function toGatewayError(error: unknown, run: ModelRun): GatewayError {
  const { cancelReason, cancelError } = run.call;
  if (cancelReason === "hold_refused" && cancelError !== undefined) return cancelError;
  if (cancelReason === "client_disconnected") {
    return new GatewayError("invalid_request", "The client disconnected", { cause: error });
  }
  if (cancelReason === "draining") {
    const message = "The gateway is shutting down and ended this call; send it again";
    return new GatewayError("unavailable", message, { retryAfterMs: 1000, cause: error });
  }
  if (cancelReason === "timeout") {
    const message = nameProvider("The provider did not answer in the time allowed; send the request again", run);
    return new GatewayError("upstream_timeout", message, { cause: error });
  }
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamError) return fromUpstreamError(error, run);
  const message = "Internal error. Operators: see the log entry for this x-request-id";
  return new GatewayError("internal_error", message, { cause: error });
}

/**
 * A provider's complaint about too many tokens, begun by OpenAI's message: clients know the error by it, and compress the
 * conversation or take another model.
 */
function contextMessage({ message, contextFigures }: UpstreamError, { modelEntry: { model } }: ModelRun): string {
  const { prompt, answer, max = model.contextTokens ?? model.inputTokensMax } = contextFigures;
  if (max === undefined || message.startsWith("This model's maximum context length")) return message;
  const head = `This model's maximum context length is ${max} tokens.`;
  if (prompt === undefined) return `${head} ${message}`;
  if (answer === undefined) return `${head} However, your messages resulted in ${prompt} tokens. ${message}`;
  const parts = `(${prompt} in the messages, ${answer} in the completion)`;
  return `${head} However, you requested ${prompt + answer} tokens ${parts}. ${message}`;
}

/** The beginnings of the gateway's own messages about a provider. */
const ownMessage = /^(?:(?:The connection|Cannot connect|Timed out connecting) to t|T)he provider\b/;

/** One of the gateway's own messages, with the name of the provider that was tried. */
function nameProvider(message: string, { attempt }: ModelRun): string {
  const name = attempt?.route.plugin.name;
  return name === undefined ? message : message.replace(/\bthe provider\b/i, name);
}

/** A failure of a provider: its own words alone would read as those of the gateway. */
function describeFailure({ message, status }: UpstreamError, run: ModelRun): string {
  if (ownMessage.test(message)) return nameProvider(message, run);
  const answered = status === undefined ? "" : ` (${status})`;
  return `${run.attempt?.route.plugin.name ?? "The provider"} failed${answered}: ${message}`;
}

function fromUpstreamError(error: UpstreamError, run: ModelRun): GatewayError {
  const details = { param: error.param, cause: error };
  switch (error.kind) {
    case "bad_request":
      return new GatewayError("invalid_request", error.message, { ...details, publicCode: error.code });
    case "context_length":
      return new GatewayError("context_length_exceeded", contextMessage(error, run), details);
    case "request_too_large":
      return new GatewayError("request_too_large", error.message, details);
    case "model_not_found": {
      const message = nameProvider(`The provider no longer serves this model: ${error.message}`, run);
      return new GatewayError("model_not_found", message, { ...details, param: "model" });
    }
    case "rate_limited": {
      const message = nameProvider("The provider's rate limit is reached and no other route is free; retry later", run);
      const retryAfterMs = error.retryAfterMs === undefined ? 1000 : error.retryAfterMs;
      return new GatewayError("rate_limit_exceeded", message, { ...details, retryAfterMs });
    }
    case "auth":
    case "insufficient_quota": {
      const message = "The provider rejected the gateway's credentials, account or location; contact the operator";
      return new GatewayError("upstream_error", nameProvider(message, run), { cause: error });
    }
    case "timeout":
      return new GatewayError("upstream_timeout", describeFailure(error, run), details);
    case "overloaded":
    case "server_error":
    case "bad_response":
      return new GatewayError("upstream_error", describeFailure(error, run), details);
  }
}
