/**
 * Calls a route of a model: builds the plugin's call from the route, its key and the request, and runs its handler. An
 * attempt of a call uses {@link askRoute}, and `failover.ts` decides what follows. Requests outside of every call, such
 * as a token count or a probe, use {@link askOnce}: they are not held, charged, retried or counted.
 */
import { UpstreamError } from "../contract/index.ts";
import type { Call, Model, ProviderPlugin } from "../provider/index.ts";
import type { CallMemoryBounds } from "./call.ts";
import type { PoolKey } from "./routing/circuits.ts";
import type { Route } from "./routing/registry.ts";
import type { Network } from "./upstream/network.ts";
import { BoundUpstream, type Sender } from "./upstream/upstream.ts";

/** The work of one request to a route. */
export interface RouteTask<Request, Answer> {
  /** The request as this row of the model takes it. */
  requestFor(model: Model, asker: Asker): Request;
  /** Runs the plugin's handler; resolves once the provider has begun to answer with content. */
  run(plugin: ProviderPlugin, call: Call<Request>): Promise<Answer>;
}

/** Asks a route: an attempt of a call, or {@link askOnce}. */
export interface Asker
  extends Sender,
    Pick<
      Call<unknown>,
      "id" | "keepsLonger" | "markRule" | "hasSession" | "noteCacheMarks" | "readCacheKey" | "warn"
    > {}

/** Asks a route once. The caller keeps `upstream`, which says how far the request came. */
export async function askRoute<Request, Answer>(
  upstream: BoundUpstream,
  asker: Asker,
  task: RouteTask<Request, Answer>,
): Promise<Answer> {
  const { route, id, signal, markRule, hasSession, keepsLonger } = asker;
  const isOwn = upstream.isOwnServer();
  const isOwnServer = isOwn instanceof Promise ? await isOwn : isOwn;
  return await task.run(route.plugin, {
    id,
    request: task.requestFor(route.model, asker),
    model: route.model,
    signal,
    upstream,
    isOwnServer,
    isForOwnServers: upstream.isForOwnServers(),
    markRule,
    hasSession,
    keepsLonger,
    noteCacheMarks: (state) => asker.noteCacheMarks?.(state),
    readCacheKey: () => asker.readCacheKey?.(),
    warn: (message, ignored) => asker.warn(message, ignored),
  });
}

/** A request to a route outside of every call. */
export interface LoneRequest extends Pick<Sender, "route" | "answerSource"> {
  readonly id: string;
  /** Absent for a plugin without keys. */
  readonly key: PoolKey | undefined;
  /** The account whose turn of the event loop it is to work on the answer. */
  readonly owner: string;
  /** The request; a URL that the plugin downloads has to be in it. */
  readonly request: unknown;
  /** Until the whole answer is there. */
  readonly msMax: number;
  /** Absent: memory is not counted. */
  readonly memory?: CallMemoryBounds | undefined;
}

/**
 * Asks a route outside of every call, within a time of its own.
 *
 * @throws {UpstreamError} `timeout` when it did not answer in time, whatever its plugin still does.
 */
export async function askOnce<Answer>(
  network: Network,
  lone: LoneRequest,
  run: RouteTask<unknown, Answer>["run"],
): Promise<Answer> {
  const { request, msMax } = lone;
  const asker = new LoneAsker(lone);
  const upstream = new BoundUpstream(network, asker);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timeout = network.timeouts.schedule(network.now() + msMax, () => {
    asker.cancelReason = "timeout";
    reject(new UpstreamError("timeout", `It did not answer within ${msMax / 1000} s`));
    asker.end();
  });
  try {
    return await Promise.race([askRoute(upstream, asker, { requestFor: () => request, run }), late]);
  } finally {
    network.timeouts.cancel(timeout);
    asker.end();
  }
}

/** Sender of a request outside of every call: nobody is charged for it, and no one hears its warnings. */
class LoneAsker implements Asker {
  readonly #lone: LoneRequest;
  readonly #controller = new AbortController();
  cancelReason: string | undefined = undefined;
  hasSocket = false;

  constructor(lone: LoneRequest) {
    this.#lone = lone;
  }

  get id(): string {
    return this.#lone.id;
  }

  get route(): Route {
    return this.#lone.route;
  }

  get key(): PoolKey | undefined {
    return this.#lone.key;
  }

  get owner(): string {
    return this.#lone.owner;
  }

  get request(): unknown {
    return this.#lone.request;
  }

  get answerSource(): Sender["answerSource"] {
    return this.#lone.answerSource;
  }

  get isLarge(): boolean {
    return this.#lone.memory?.isLarge === true;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts what it may have left open at its provider. */
  end(): void {
    this.#controller.abort();
  }

  onSilence(): void {
    this.end();
  }

  reserve(bytes: number): void {
    this.#lone.memory?.reserve(bytes);
  }

  reserveAnswer(bytes: number): void {
    this.#lone.memory?.reserveAnswer(bytes);
  }

  coverAll(): undefined {}

  onSent(): void {}

  onRefused(): void {}

  warn(): void {}
}
