import { GatewayError, UpstreamError } from "../contract/index.ts";
import { type Attempt, type Call, type CallObserver, ConnectionError, type Route } from "../kernel/index.ts";
import { AttemptWindow, type WindowSum } from "./attempt-window.ts";
import type { Failure } from "./health.ts";

/** The last failure of a route or key. Never a provider's own words, which may repeat a prompt. */
export interface LastError {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly reason: string;
}

export interface AttemptStats extends WindowSum {
  readonly lastError: LastError | undefined;
}

interface Counted {
  readonly window: AttemptWindow;
  lastError: LastError | undefined;
}

const noAttempts: AttemptStats = { calls: 0, errors: 0, p50Ms: undefined, p95Ms: undefined, lastError: undefined };
/** Kinds of errors with which the provider works, and the request does not. */
const ofRequest = new Set(["bad_request", "context_length", "request_too_large"]);
const lateErrors = new Set(["upstream_error", "upstream_timeout"]);

/** Is told of every attempt that counts. `key` is the place of its key; `failure` is absent when it succeeded. */
export interface AttemptListener {
  record(provider: string, key: number | undefined, failure: Failure | undefined): void;
  recordLate(provider: string, key: number | undefined, failure: Failure): void;
}

const messageMax = 300;
/** The provider answered, and works: that it does not have a model counts against the route alone. */
const ofModel = "model_not_found";

/** Counts the attempts of the last minutes by route and by key, in this process. What it counts goes with the route. */
export class RouteStats implements CallObserver {
  readonly #next: CallObserver | undefined;
  readonly #steadyNow: () => number;
  readonly #now: () => number;
  readonly #listener: AttemptListener | undefined;
  /** Counts by circuit breaker or key pool, which live as long as the route and its keys. */
  readonly #routes = new WeakMap<object, Counted>();
  readonly #keys = new WeakMap<object, Map<number, Counted>>();

  /** @param next Observes the calls as well. */
  constructor(
    next: CallObserver | undefined,
    steadyNow: () => number,
    now: () => number,
    listener?: AttemptListener | undefined,
  ) {
    this.#next = next;
    this.#steadyNow = steadyNow;
    this.#now = now;
    this.#listener = listener;
  }

  attempted(attempt: Attempt): void {
    this.#next?.attempted(attempt);
    const reason = explainFailure(attempt);
    if (reason === "not counted") return;
    for (const counted of this.#countedOf(attempt)) {
      counted.window.add(this.#steadyNow(), this.#steadyNow() - attempt.startedMs, reason !== undefined);
      if (reason !== undefined) counted.lastError = { at: this.#now(), reason };
    }
    const { route, key, error } = attempt;
    if (error instanceof UpstreamError && error.kind === ofModel) return;
    const failure = reason === undefined ? undefined : toFailure(route, error, reason);
    this.#listener?.record(route.plugin.name, key?.index, failure);
  }

  ended(call: Call, httpRequest: Request): void {
    this.#next?.ended(call, httpRequest);
    const { attempt, error, model = "" } = call.run ?? {};
    if (attempt?.isAnswered !== true || error === undefined || !lateErrors.has(call.errorCode ?? "")) return;
    for (const counted of this.#countedOf(attempt)) {
      counted.window.addLateError(this.#steadyNow());
      counted.lastError = { at: this.#now(), reason: "the answer broke off" };
    }
    const kind = call.errorCode === "upstream_timeout" ? "timeout" : "bad_response";
    this.#listener?.recordLate(attempt.route.plugin.name, attempt.key?.index, { kind, message: error.message, model });
  }

  refused(code: Parameters<CallObserver["refused"]>[0]): void {
    this.#next?.refused(code);
  }

  ofRoute({ circuitBreaker }: Pick<Route, "circuitBreaker">): AttemptStats {
    return this.#sum(this.#routes.get(circuitBreaker));
  }

  ofKey({ keys }: Pick<Route, "keys">, index: number): AttemptStats {
    return this.#sum(this.#keys.get(keys)?.get(index));
  }

  #sum(counted: Counted | undefined): AttemptStats {
    if (counted === undefined) return noAttempts;
    return { ...counted.window.sum(this.#steadyNow()), lastError: counted.lastError };
  }

  #countedOf({ route: { circuitBreaker, keys }, key }: Attempt): Counted[] {
    const byIndex = this.#keys.get(keys) ?? new Map<number, Counted>();
    this.#keys.set(keys, byIndex);
    const ofKey = key === undefined ? [] : [getOrCreate(byIndex, key.index)];
    return [getOrCreate(this.#routes, circuitBreaker), ...ofKey];
  }
}

function getOrCreate<Key>(
  map: { get(key: Key): Counted | undefined; set(key: Key, value: Counted): unknown },
  key: Key,
) {
  let counted = map.get(key);
  if (counted === undefined) {
    counted = { window: new AttemptWindow(), lastError: undefined };
    map.set(key, counted);
  }
  return counted;
}

/** What administrators are told, with the provider's own words. */
function toFailure({ keys, model }: Route, error: unknown, reason: string): Failure {
  if (!(error instanceof UpstreamError)) return { kind: "plugin_failed", message: reason, model: model.id };
  const { kind, status, message, providerMessage } = error;
  return { kind, status, message: keys.hide(providerMessage ?? message).slice(0, messageMax), model: model.id };
}

/** Why an attempt failed; `undefined` when it did not. */
function explainFailure({ isAnswered, error, run }: Attempt): string | undefined {
  const { cancelReason } = run.call;
  if (cancelReason !== undefined && cancelReason !== "timeout") return "not counted";
  if (isAnswered) return undefined;
  if (error instanceof GatewayError) return "not counted";
  if (!(error instanceof UpstreamError)) return "the plugin failed";
  if (ofRequest.has(error.kind) || (error.isOfRequest && error.kind !== ofModel)) return undefined;
  if (error instanceof ConnectionError) return error.message;
  return `${error.kind.replaceAll("_", " ")}${error.status === undefined ? "" : ` (status ${error.status})`}`;
}
