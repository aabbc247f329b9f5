/**
 * Handling of provider failures. A call tries the routes of a model, and on each route its keys, until one begins to
 * answer: {@link withFailover}. Nothing has reached the caller before that, so a failure that another key or provider may
 * not have is retried there. When all routes of a model have failed, another model may follow: {@link mayFallBack}.
 * What follows a failed attempt is decided by {@link decide}, which has no effects; here it is done.
 */
import { capabilityForms, type ErrorCode, GatewayError, UpstreamError } from "../contract/index.ts";
import { withoutWords } from "../lib/describe-error.ts";
import { askRoute, type RouteTask } from "./ask-route.ts";
import { Attempt, type ModelRun } from "./call.ts";
import { type AttemptFacts, type Culprit, decide, isOfRoute, maySendAgain, type NextStep } from "./failed-attempt.ts";
import { affinity, cacheOwnerOf, type PoolKey } from "./routing/circuits.ts";
import { canServe, orderRoutes, pausedForMs, type Route } from "./routing/registry.ts";
import type { Kernel } from "./types.ts";
import { LongAnswerError } from "./upstream/http-client.ts";
import { getSilenceMs } from "./upstream/network.ts";
import { BoundUpstream } from "./upstream/upstream.ts";

/** How many attempts a call gets at a model over all its routes and keys. */
export const attemptsMax = 4;
/** The average pause before the only route is tried again; half of it more or less. */
const retryMs = 200;
/** A provider that asks for a longer pause is not waited for. */
const retryMsMax = 5000;

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
  const targets = new Targets(kernel, run);
  run.call.setDeadline(kernel.network.timeouts, targets.beginByMs);
  let failure: unknown;
  for (let target = targets.next(); target !== undefined; target = targets.next()) {
    run.call.throwIfCancelled();
    const attempt = begin(kernel, run, target);
    const upstream = new BoundUpstream(kernel.network, attempt);
    try {
      const answer = await askRoute(upstream, attempt, task);
      onAnswer(kernel, attempt);
      return answer;
    } catch (error) {
      endAttempt(kernel, attempt, { error, upstream });
      const { culprit, next } = decide(error, factsOf(attempt, upstream, targets.mayAskAgain));
      failure = countFailure(kernel, attempt, culprit);
      if (next === "throw") throw failure;
      const isOver = next === "again" && !(await waitToRetry(kernel, run, failure));
      targets.advance(isOver ? "nextRoute" : next, target);
    }
  }
  throw failure ?? targets.pausedError();
}

/** A route and the key to use with it. */
interface Target {
  readonly route: Route;
  /** Absent for a plugin without keys. */
  readonly key: PoolKey | undefined;
  readonly nowMs: number;
}

/** The routes of a model and their keys, in the order a call tries them. */
class Targets {
  readonly #kernel: Kernel;
  readonly #run: ModelRun;
  readonly #routes: readonly Route[];
  /** Its prompts may be cached at a provider, so it stays with a route and a key. */
  readonly #owner: string | undefined;
  #index = 0;
  /** Keys of the present route that were refused. Created by the first: most calls need none. */
  #refusedKeys: Set<number> | undefined;
  #wasAskedAgain = false;
  /** How long the route that is free first takes no call. */
  #pausedMs = Number.POSITIVE_INFINITY;

  constructor(kernel: Kernel, run: ModelRun) {
    this.#kernel = kernel;
    this.#run = run;
    const { request } = run.call;
    this.#owner = cacheOwnerOf(request) ?? request.providerLane?.owner;
    this.#routes = chooseRoutes(kernel, run, this.#owner);
  }

  /** When a provider has to have begun to answer, by {@link Kernel.now}. */
  get beginByMs(): number {
    const { bounds } = this.#kernel.network;
    let { beginMsMax: longestMs } = bounds;
    // It waits for the end of the response that it steers.
    if (this.#run.call.request.steering !== undefined) longestMs = bounds.callMsMax;
    for (const { model } of this.#routes) longestMs = Math.max(longestMs, getSilenceMs(model, bounds) ?? 0);
    return this.#run.call.request.startedMs + longestMs;
  }

  /** Whether the call may try a failed route a second time: only the single route of the last model, and only once. */
  get mayAskAgain(): boolean {
    return this.#routes.length === 1 && this.#run.isLast && !this.#wasAskedAgain;
  }

  /**
   * The next route that accepts a call, with one of its keys; `undefined` when no route is left or enough were tried.
   */
  next(): Target | undefined {
    const { attempts, caller } = this.#run;
    if (attempts.length >= attemptsMax) return undefined;
    for (; this.#index < this.#routes.length; this.#leaveRoute()) {
      const route = this.#routes[this.#index] as Route;
      const nowMs = this.#kernel.now();
      const pausedMs = pausedForMs(route, nowMs, caller.accountId);
      if (pausedMs > 0) {
        this.#pausedMs = Math.min(this.#pausedMs, pausedMs);
        continue;
      }
      const key = route.keys.take(nowMs, this.#refusedKeys, this.#owner);
      if (key !== undefined || route.keys.size === 0) return { route, key, nowMs };
    }
    return undefined;
  }

  /** Moves on after a failed attempt. */
  advance(step: Exclude<NextStep, "throw">, { key }: Target): void {
    if (step === "nextRoute") this.#leaveRoute();
    else if (step === "again") this.#wasAskedAgain = true;
    else if (key !== undefined) {
      this.#refusedKeys ??= new Set();
      this.#refusedKeys.add(key.index);
    }
  }

  #leaveRoute(): void {
    this.#index++;
    this.#refusedKeys = undefined;
  }

  /** The error when all routes that could serve the call are paused. Nothing was sent. */
  pausedError(): GatewayError {
    const names = [...new Set(this.#routes.map(({ plugin }) => plugin.name))];
    this.#run.paused = names;
    const seconds = Math.ceil(this.#pausedMs / 1000);
    const message = `The request was not sent: after repeated failures the gateway pauses ${names.join(", ")}; send it again in ${seconds} s`;
    return new GatewayError("unavailable", message, {
      retryAfterMs: this.#pausedMs,
      cause: new UpstreamError("overloaded", message),
    });
  }
}

function begin({ promptCaching }: Kernel, run: ModelRun, { route, key, nowMs }: Target): Attempt {
  const attempt = new Attempt(run, { route, key, nowMs, promptCaching });
  route.circuitBreaker.begin(nowMs, run.caller.accountId);
  return attempt;
}

/** The provider has begun to answer: no other attempt follows. */
function onAnswer(kernel: Kernel, attempt: Attempt): void {
  const { run, route, key } = attempt;
  const { startedMs } = run.call.request;
  attempt.isAnswered = true;
  run.call.setDeadline(kernel.network.timeouts, startedMs + kernel.network.bounds.callMsMax);
  attempt.hasResumed = recordSuccess(route, key, run.caller.accountId);
  kernel.observer?.attempted(attempt);
  run.firstByteMs = kernel.now() - startedMs;
}

function endAttempt(
  kernel: Kernel,
  attempt: Attempt,
  { error, upstream }: { error: unknown; upstream: BoundUpstream },
): void {
  if (error instanceof UpstreamError || upstream.wasAsked) upstream.refuseEmpty();
  attempt.fail(error, kernel.now());
  kernel.observer?.attempted(attempt);
}

function factsOf({ run, key }: Attempt, upstream: BoundUpstream, mayAskAgain: boolean): AttemptFacts {
  return {
    isCallOver: run.call.cancelReason !== undefined || run.call.clientLeft,
    wasAsked: upstream.wasAsked,
    wasSent: upstream.wasSent,
    hasServed: upstream.hasServed,
    hasKey: key !== undefined,
    mayAskAgain,
  };
}

/** Counts a failed attempt against its culprit. Returns the failure for the caller. */
function countFailure(kernel: Kernel, attempt: Attempt, culprit: Culprit): unknown {
  const { run, route, key, error } = attempt;
  const { accountId } = run.caller;
  if (culprit === "nothing" || culprit === "plugin") {
    // It says nothing about the provider: another call may probe the route in its place.
    route.circuitBreaker.abandon(accountId);
    return culprit === "nothing" ? error : toOwnFailure(kernel, attempt);
  }
  const failure = toUpstreamError(kernel, attempt);
  if (culprit === "request") recordSuccess(route, key, accountId);
  else if (culprit === "key") {
    // The provider answered, so the route itself works.
    route.circuitBreaker.onSuccess(accountId);
    recordRefusedKey(kernel, route, key, failure);
  } else recordFailure(kernel, route, failure, accountId);
  return failure;
}

/** The routes that may serve the call, in the order they are tried. */
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
 * Turns an error of a plugin into a failure of the gateway: it is neither an `UpstreamError` nor a refusal and occurred
 * before a request was sent. Another route may not have it. It says nothing about the provider, so it counts against no
 * route.
 */
function toOwnFailure(kernel: Kernel, { run, route, error }: Attempt): GatewayError {
  kernel.log.error("plugin_failed", { call: run.call.id, plugin: route.plugin.name, error: withoutWords(error) });
  const message =
    "The gateway could not translate this request for the provider, and sent nothing. " +
    "Operators: see the request log for this x-request-id";
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

/** Returns whether the call was the probe of a paused route, which is in use again. */
function recordSuccess(route: Route, key: PoolKey | undefined, accountId: string): boolean {
  key?.circuitBreaker.onSuccess();
  return route.circuitBreaker.onSuccess(accountId);
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

/** Pauses a key that its provider refused, if there is one. */
export function recordRefusedKey(
  kernel: Kernel,
  route: Route,
  key: PoolKey | undefined,
  { kind, status, retryAfterMs }: UpstreamError,
): void {
  kernel.log.warn("upstream_refused_key", { plugin: route.plugin.name, key: key?.index, kind, status });
  if (key === undefined) return;
  if (retryAfterMs === undefined) key.circuitBreaker.onFailure(kernel.now());
  else key.circuitBreaker.pauseFor(retryAfterMs, kernel.now());
}

/**
 * Waits before the only route is tried again. Returns whether it is: not if the wait or the call would take too long.
 */
async function waitToRetry(kernel: Kernel, { call }: ModelRun, failure: unknown): Promise<boolean> {
  const retryAfterMs = failure instanceof UpstreamError ? failure.retryAfterMs : undefined;
  const jitterMs = retryMs * (0.5 + (kernel.random ?? Math.random)());
  const waitMs = retryAfterMs === undefined ? jitterMs : retryAfterMs + jitterMs / 2;
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
 * Counts against the route a failure after the answer began, or a timeout before the answer. Other failures were
 * counted with their attempt. Not counted against a route are a client that disconnects, an invalid request, and an
 * answer that exceeds the maximum duration of a call although its provider keeps sending: its client reads slowly or
 * requested a very long answer.
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
  return isOfRoute(error) && circuitBreaker.onFailure(nowMs, accountId);
}

/** Whether an answer lasted longer than a call may, although its provider was not silent. */
function isOverlong({ answeredBy, call, sent: requests }: ModelRun): boolean {
  return (
    answeredBy !== undefined && call.cancelReason === "timeout" && ![...requests].some(({ isTimedOut }) => isTimedOut)
  );
}

/**
 * Errors that another model may not have: those from before the hold, in addition to any limit of the model, and those
 * from a provider.
 */
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
 * Whether another model may serve the call after this one failed: only while no output was sent, and only after a
 * failure that another model may not have. Before the hold, `invalid_request` is about this model, because the shape of
 * the request has been checked by then.
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
