import { UpstreamError } from "../contract/index.ts";
import {
  type Attempt,
  type CallObserver,
  type ClientCall,
  ConnectionError,
  classifyAttempt,
  type Route,
} from "../kernel/index.ts";
import { type Failure, getOrCreate } from "./health.ts";

/**
 * The attempts of the last fifteen minutes by route and by key: how many failed, how long they took, and the last error. It is
 * kept in memory alone. The health of providers, which survives a restart, is in `health.ts`.
 */

/** The last failure of a route or key, without the provider's message, which may repeat a prompt. */
export interface LastError {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly reason: string;
}

export interface AttemptStats extends WindowSum {
  readonly lastError: LastError | undefined;
}

export interface Counted {
  readonly window: AttemptWindow;
  lastError: LastError | undefined;
}

const noAttempts: AttemptStats = { calls: 0, errors: 0, p50Ms: undefined, p95Ms: undefined, lastError: undefined };

const lateErrors = new Set(["upstream_error", "upstream_timeout"]);

/**
 * Called for every attempt that counts. `key` is the index of its key; `failure` is absent for a success, which may have
 * ended a pause of its route (`isProbe`).
 */
export interface AttemptListener {
  record(provider: string, key: number | undefined, failure: Failure | undefined, isProbe: boolean): void;
  recordLate(provider: string, key: number | undefined, failure: Failure): void;
}

const messageMax = 300;

/**
 * Counts the attempts of the last minutes by route and by key, in this process. The counts are dropped with the route.
 */
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
    const { health } = classifyAttempt(attempt);
    if (health === "nothing") return;
    const { route, key, error, hasResumed } = attempt;
    const reason = health === "success" ? undefined : describeFailure(error);
    for (const counted of this.#countedOf(attempt)) {
      counted.window.add(this.#steadyNow(), this.#steadyNow() - attempt.startedMs, reason !== undefined);
      if (reason !== undefined) counted.lastError = { at: this.#now(), reason };
    }
    if (health === "routeFailure") return;
    const failure = reason === undefined ? undefined : toFailure(route, error, reason);
    this.#listener?.record(route.plugin.name, key?.index, failure, hasResumed);
  }

  ended(call: ClientCall, httpRequest: Request): void {
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

  refused(...refusal: Parameters<CallObserver["refused"]>): void {
    this.#next?.refused(...refusal);
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
    const ofKey = key === undefined ? [] : [getOrCreate(byIndex, key.index, createCount)];
    return [getOrCreate(this.#routes, circuitBreaker, createCount), ...ofKey];
  }
}

/** The failure for administrators, with the provider's own message. */
function toFailure({ keys, model }: Route, error: unknown, reason: string): Failure {
  if (!(error instanceof UpstreamError)) return { kind: "plugin_failed", message: reason, model: model.id };
  const { kind, status, message, providerMessage } = error;
  return { kind, status, message: keys.hide(providerMessage ?? message).slice(0, messageMax), model: model.id };
}

/** Describes why an attempt failed, without the provider's words. */
function describeFailure(error: unknown): string {
  if (!(error instanceof UpstreamError)) return "the plugin failed";
  if (error instanceof ConnectionError) return error.message;
  return `${error.kind.replaceAll("_", " ")}${error.status === undefined ? "" : ` (status ${error.status})`}`;
}

const minuteMs = 60_000;

/** How many minutes are remembered. */
const windowMinutes = 15;

/** Durations are counted in classes, each 1.3 times as long as the previous class: from 10 ms to nine minutes. */
const firstMs = 10;

const growth = 1.3;

const classes = 42;

/** The attempts of one minute. */
interface Minute {
  minute: number;
  calls: number;
  errors: number;
  readonly durations: Uint32Array;
}

export interface WindowSum {
  readonly calls: number;
  readonly errors: number;
  /** Until the provider began to answer, within 15 %; `undefined` without a successful attempt. */
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

/** Attempts of the last fifteen minutes, in bounded memory. */
export class AttemptWindow {
  /** One place for each minute of the window; those without an attempt are empty. */
  readonly #minutes: (Minute | undefined)[] = [];

  add(nowMs: number, ms: number, isError: boolean): void {
    const minute = this.#minuteAt(nowMs);
    minute.calls++;
    if (isError) minute.errors++;
    else {
      const index = classOf(ms);
      minute.durations[index] = (minute.durations[index] as number) + 1;
    }
  }

  /** An attempt that was counted as a success has failed after all. */
  addLateError(nowMs: number): void {
    this.#minuteAt(nowMs).errors++;
  }

  sum(nowMs: number): WindowSum {
    const first = Math.floor(nowMs / minuteMs) - windowMinutes + 1;
    const durations = new Array<number>(classes).fill(0);
    let [calls, errors] = [0, 0];
    for (const minute of this.#minutes) {
      if (minute === undefined || minute.minute < first) continue;
      calls += minute.calls;
      errors += minute.errors;
      minute.durations.forEach((count, index) => {
        durations[index] = (durations[index] as number) + count;
      });
    }
    return {
      calls,
      errors: Math.min(errors, calls),
      p50Ms: quantile(durations, 0.5),
      p95Ms: quantile(durations, 0.95),
    };
  }

  #minuteAt(nowMs: number): Minute {
    const minute = Math.floor(nowMs / minuteMs);
    const current = this.#minutes[minute % windowMinutes];
    if (current?.minute === minute) return current;
    const fresh = { minute, calls: 0, errors: 0, durations: new Uint32Array(classes) };
    this.#minutes[minute % windowMinutes] = fresh;
    return fresh;
  }
}

function classOf(ms: number): number {
  if (ms <= firstMs) return 0;
  return Math.min(classes - 1, Math.ceil(Math.log(ms / firstMs) / Math.log(growth)));
}

function quantile(durations: readonly number[], share: number): number | undefined {
  const total = durations.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let rest = total * share;
  const index = durations.findIndex((count) => {
    rest -= count;
    return rest <= 0;
  });
  // The middle of the class.
  return Math.round(firstMs * growth ** (index - 0.5));
}

function createCount(): Counted {
  return { window: new AttemptWindow(), lastError: undefined };
}
