import { GatewayError, UpstreamFault } from "../contract/index.ts";
import { type CallContext, type CallObserver, ConnectionError, type Route } from "../kernel/index.ts";
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
/** Kinds of faults with which the provider works, and the request does not. */
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
  /** By circuit breaker or key pool, which live as long as the route and its keys. */
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

  attempted(call: CallContext, route: Route, startedMs: number, error?: unknown): void {
    this.#next?.attempted(call, route, startedMs, error);
    const reason = explainFailure(call, error);
    if (reason === "not counted") return;
    for (const counted of this.#countedOf(route, call.keyIndex)) {
      counted.window.add(this.#steadyNow(), this.#steadyNow() - startedMs, reason !== undefined);
      if (reason !== undefined) counted.lastError = { at: this.#now(), reason };
    }
    if (error instanceof UpstreamFault && error.kind === ofModel) return;
    const failure = reason === undefined ? undefined : toFailure(route, error, reason);
    this.#listener?.record(route.plugin.name, call.keyIndex, failure);
  }

  ended(call: CallContext, httpRequest: Request): void {
    this.#next?.ended(call, httpRequest);
    if (call.route === undefined || call.currentRoute === undefined || !lateErrors.has(call.errorCode ?? "")) return;
    for (const counted of this.#countedOf(call.currentRoute, call.keyIndex)) {
      counted.window.addLateError(this.#steadyNow());
      counted.lastError = { at: this.#now(), reason: "the answer broke off" };
    }
    const kind = call.errorCode === "upstream_timeout" ? "timeout" : "bad_response";
    const failure = { kind, message: call.errorMessage ?? "The answer broke off", model: call.model ?? "" } as const;
    this.#listener?.recordLate(call.route, call.keyIndex, failure);
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

  #countedOf({ circuitBreaker, keys }: Pick<Route, "circuitBreaker" | "keys">, index: number | undefined): Counted[] {
    const byIndex = this.#keys.get(keys) ?? new Map<number, Counted>();
    this.#keys.set(keys, byIndex);
    const ofKey = index === undefined ? [] : [getOrCreate(byIndex, index)];
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
  if (!(error instanceof UpstreamFault)) return { kind: "plugin_failed", message: reason, model: model.id };
  const { kind, status, message, providerMessage } = error;
  return { kind, status, message: keys.hide(providerMessage ?? message).slice(0, messageMax), model: model.id };
}

/** Why an attempt failed; `undefined` when it did not. */
function explainFailure({ cancelReason }: CallContext, error: unknown): string | undefined {
  if (cancelReason !== undefined && cancelReason !== "timeout") return "not counted";
  if (error === undefined) return undefined;
  if (error instanceof GatewayError) return "not counted";
  if (!(error instanceof UpstreamFault)) return "the plugin failed";
  if (ofRequest.has(error.kind) || (error.isOfRequest && error.kind !== ofModel)) return undefined;
  if (error instanceof ConnectionError) return error.message;
  return `${error.kind.replaceAll("_", " ")}${error.status === undefined ? "" : ` (status ${error.status})`}`;
}
