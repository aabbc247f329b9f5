/**
 * The four objects of a call. A {@link ClientRequest} is the request that arrived; it never changes. A
 * {@link ClientCall} lasts until the answer has ended: it can be cancelled, has a deadline, and holds the outcome. A
 * {@link ModelRun} is one model that is tried for the call, with its own hold, usage and row in the ledger. A fallback
 * to another model creates a new run, so the next model inherits nothing from one that failed. An {@link Attempt} is
 * one request to one route with one key. Bounds, failure and outcome of a run are values that are replaced as a whole,
 * and a field that changes names its writer.
 */
import {
  type CacheEffect,
  type CacheMarks,
  type Caller,
  type Capability,
  type CompiledPrice,
  type ErrorCode,
  type GatewayError,
  type Hold,
  type Meters,
  type PolicyDetail,
  UpstreamError,
  type UsageSource,
} from "../contract/index.ts";
import { addFieldNames, headOf } from "../lib/field-name.ts";
import type {
  CacheReport,
  ChatChunk,
  ChatCompletion,
  ChatRequest,
  EmbeddingList,
  EmbeddingsBody,
  GeneratedImages,
  ImageEditsBody,
  ImagesRequest,
  Loss,
  MarkRule,
  ModerationRequest,
  Moderations,
  PartialImage,
  PassthroughRequest,
  Ranking,
  RerankRequest,
  ServerEvent,
  SpeechRequest,
  Transcript,
  TranscriptionRequest,
} from "../provider/index.ts";
import type { UsageMeter } from "./normalize/usage-meter.ts";
import type { Passthrough } from "./passthrough.ts";
import type { PromptCaching } from "./prompt-caching.ts";
import type { PoolKey } from "./routing/circuits.ts";
import { type Candidate, type ModelEntry, priceFor, publicNameOf, type Route } from "./routing/registry.ts";
import type { Timeout, TimeoutScheduler } from "./upstream/http-client.ts";
import type { ProviderLane } from "./upstream/provider-lanes.ts";
import type { Steering } from "./upstream/steering.ts";
import type { Sender, SentRequest } from "./upstream/upstream.ts";

/** Request, answer and chunk of each capability. A streamed answer goes to the sink, and the answer is `undefined`. */
interface Exchanges {
  chat: { request: ChatRequest; answer: ChatCompletion | undefined; sink: ChatSink };
  embeddings: { request: EmbeddingsBody; answer: EmbeddingList; sink: never };
  images: { request: ImagesRequest; answer: GeneratedImages; sink: StreamSink<PartialImage> };
  imageEdits: { request: ImageEditsBody; answer: GeneratedImages; sink: StreamSink<PartialImage> };
  transcription: { request: TranscriptionRequest; answer: Transcript; sink: never };
  translation: { request: TranscriptionRequest; answer: Transcript; sink: never };
  moderation: { request: ModerationRequest; answer: Moderations; sink: never };
  rerank: { request: RerankRequest; answer: Ranking; sink: never };
  speech: { request: SpeechRequest; answer: undefined; sink: StreamSink<Uint8Array<ArrayBuffer>> };
}

export type ExchangeRequest<C extends Capability> = Exchanges[C]["request"];
export type ExchangeAnswer<C extends Capability> = Exchanges[C]["answer"];
export type SinkOf<C extends Capability> = Exchanges[C]["sink"];

/** Receives a streamed answer. The kernel writes to it, the HTTP side sends. */
export interface StreamSink<Chunk> {
  /** The provider has begun to answer: the head may be sent. Called once, before the first chunk. */
  open(): void;
  /** Takes a chunk. Returns a promise when the client is behind, to be awaited before the next chunk. */
  write(chunk: Chunk): Promise<void> | undefined;
}

/** The sink of a chat stream, whose provider may speak the client's own wire format. */
export interface ChatSink extends StreamSink<ChatChunk> {
  /** Takes an event in the client's own wire format; as `write`. */
  pass(event: ServerEvent): Promise<void> | undefined;
}

/** Counts the memory that a call takes. */
export interface CallMemoryBounds {
  /** Whether what came in takes so long to walk through that each walk gets a turn of the event loop of its own. */
  readonly isLarge: boolean;
  /** Counts bytes until the call ends. @throws {GatewayError} When there is no room. */
  reserve(bytes: number): void;
  /** Counts bytes of the answer until it was sent; fewer than 0 are freed. @throws {GatewayError} When there is no room. */
  reserveAnswer(bytes: number): void;
}

/** A client's request as the kernel takes it. It never changes. */
export interface ClientRequest<C extends Capability = Capability> {
  /** Also the `x-request-id` of the response. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** The time of {@link openedAt} by {@link Kernel.now}, for measuring durations. */
  readonly startedMs: number;
  readonly caller: Caller;
  readonly capability: C;
  /** The request in the uniform format. */
  readonly body: ExchangeRequest<C>;
  /** Where a streamed answer goes; absent when the answer is wanted whole. */
  readonly sink?: SinkOf<C> | undefined;
  /** The client's wire format. Only chat has defaults of this API's own. */
  readonly protocol: string;
  /** The client's original body, if a route may speak its wire format. */
  readonly passthrough?: Passthrough | undefined;
  /** The client's original body, whether a route speaks its wire format or not; absent where it is the uniform one. */
  readonly original?: PassthroughRequest | undefined;
  /** The client's own id of the request. It is shown and logged, and never relied on. */
  readonly clientRequestId?: string | undefined;
  /** The client's name for its session, which sticks to a route and a key. */
  readonly session?: string | undefined;
  /** The client's name for requests of this kind, for statistics. */
  readonly tag?: string | undefined;
  /** For whom the client makes it, as it says, or as its token does. Budgets count by it, and by tag and session. */
  readonly endUser?: string | undefined;
  /** The agent of its session that makes it, and the one that started that agent, by the client's word. Nothing is paid by them. */
  readonly agent?: string | undefined;
  readonly parentAgent?: string | undefined;
  /** Keeps a WebSocket to the provider for the next turn; absent: the client has no connection that would outlive this call. */
  readonly providerLane?: ProviderLane | undefined;
  /** It follows a response that it steers. Its body is that one's, with the new input. */
  readonly steering?: Steering | undefined;
  /** Aborted when the client disconnects, which cancels a stream; absent for a request without a client. */
  readonly signal?: AbortSignal | undefined;
  /** A stream goes on when its client leaves, because the answer is stored. */
  readonly outlivesClient?: boolean;
  readonly forbidsStoring?: boolean;
  /** The client leaves prompt caching to the gateway. */
  readonly leavesCaching?: boolean;
  /** The client does not want its prompt marked for a cache. */
  readonly forbidsMarks?: boolean;
  /** Fields of the client's body that no route is sent. */
  readonly leftOut?: readonly string[];
  /** Losses before the kernel saw the request, for the log. */
  readonly warnings?: readonly string[];
  /** Absent: nothing is counted. */
  readonly memory?: CallMemoryBounds;
}

/** Why the gateway itself ended a call. */
export type CancelReason = "client_disconnected" | "timeout" | "draining" | "hold_refused";

/** How long a model that reasons may go on for a client that has left. */
const runOnMsMax = 60_000;
const warningsMax = 20;
const warningCharactersMax = 500;
/** The fields of a request that limit its output. A body that is passed through may have another. */
export const outputLimits: ReadonlySet<string> = new Set(["max_tokens", "max_completion_tokens"]);

/** One call, from its checked request to its log line. */
export class ClientCall<C extends Capability = Capability> {
  readonly request: ClientRequest<C>;
  /** The models that were tried, in order; the last one serves the call, or failed last. */
  readonly runs: ModelRun<C>[] = [];
  cancelReason: CancelReason | undefined = undefined;
  /** Set by {@link endWith}. */
  cancelError: GatewayError | undefined = undefined;
  /** The client has left while the call goes on. */
  clientLeft = false;
  /** Why it was refused before any model was tried. */
  refusal: GatewayError | undefined = undefined;
  /** Warnings of plugins and of what translated the request, for the request log. */
  readonly warnings: string[];

  #ended: AbortController | undefined = undefined;
  #onCancel: () => void = () => undefined;
  #timeout: Timeout | undefined = undefined;
  #runOn: NodeJS.Timeout | undefined = undefined;

  constructor(request: ClientRequest<C>) {
    this.request = request;
    this.warnings = request.warnings === undefined ? [] : [...request.warnings];
    const { signal } = request;
    if (signal?.aborted) this.#onDisconnect();
    else signal?.addEventListener("abort", () => this.#onDisconnect());
  }

  get id(): string {
    return this.request.id;
  }

  /** The model that is tried now, or was tried last; absent before the first. */
  get run(): ModelRun<C> | undefined {
    return this.runs.at(-1);
  }

  /** The attempts at all models. */
  get attempts(): number {
    let attempts = 0;
    for (const run of this.runs) attempts += run.attempts.length;
    return attempts;
  }

  /** The models that were tried in vain before the present one, and why. */
  get failures(): { model: string; code: ErrorCode }[] {
    if (this.runs.length < 2) return [];
    return this.runs.slice(0, -1).flatMap(({ model, error }) => (error ? { model, code: error.code } : []));
  }

  /** 200, the status of the error, or 499 for a client that disconnected. */
  get status(): number {
    return this.run?.status ?? this.refusal?.status ?? 500;
  }

  get errorCode(): string | undefined {
    return this.run === undefined ? this.refusal?.code : this.run.errorCode;
  }

  /** How the call is recorded. Final once it has ended. */
  get state(): "settled" | "released" | "refused" {
    if (this.run?.hold === undefined) return "refused";
    return this.run.outcome.usageSource === "none" ? "released" : "settled";
  }

  /** Aborted when the whole call is cancelled. */
  get signal(): AbortSignal {
    this.#ended ??= new AbortController();
    if (this.cancelReason !== undefined) this.#ended.abort();
    return this.#ended.signal;
  }

  /**
   * Ends the call: whatever it waits for is aborted, and it settles. Only the first reason counts. When the client
   * disconnects, the call continues for a while if only the provider's report says what it costs. That is the case for
   * a model that may reason, since it hides a part of its answer, and for a prompt that only its provider can count. A
   * free model without a declared `reasoning` is not taken for one that may reason: it usually runs on a server of the
   * operator, which should not keep working when no client waits.
   */
  cancel(reason: CancelReason): void {
    const { run } = this;
    const model = run?.modelEntry.model;
    const isHidden = run?.bounds.hidesOutput === true && (model?.premium === true || model?.reasoning === true);
    // Without a deadline the call is over, and only its last bytes were not taken.
    const isReported =
      run !== undefined &&
      run.sent.size > 0 &&
      (isHidden || run.bounds.isOpenEnded === true) &&
      this.#timeout !== undefined;
    if (reason === "client_disconnected" && isReported) {
      // Both the request and the body of its response tell that the client has left.
      this.clientLeft = true;
      this.#runOn ??= setTimeout(() => this.#end(reason), runOnMsMax);
    } else this.#end(reason);
  }

  /**
   * Ends the call because its client disconnected. A whole answer that was already requested continues: the provider
   * bills it anyway, and otherwise a client could avoid paying by disconnecting in time.
   */
  #onDisconnect(): void {
    const { sink, outlivesClient } = this.request;
    if ((sink !== undefined && !outlivesClient) || this.attempts === 0) this.cancel("client_disconnected");
  }

  #end(reason: CancelReason): void {
    if (this.cancelReason !== undefined) return;
    this.cancelReason = reason;
    this.run?.attempt?.abort();
    this.#ended?.abort();
    this.#onCancel();
  }

  /** Cancels the call with the error for its caller. */
  endWith(error: GatewayError): void {
    this.cancelError ??= error;
    this.cancel("hold_refused");
  }

  /** Cancels the call at the given time, by {@link Kernel.now}. Replaces an earlier deadline. */
  setDeadline(timeouts: TimeoutScheduler, atMs: number): void {
    if (this.#timeout === undefined) this.#timeout = timeouts.schedule(atMs, () => this.cancel("timeout"));
    else this.#timeout.atMs = atMs;
  }

  clearDeadline(timeouts: TimeoutScheduler): void {
    if (this.#timeout !== undefined) timeouts.cancel(this.#timeout);
    this.#timeout = undefined;
    clearTimeout(this.#runOn);
  }

  /**
   * The outcome of work, or an error once the call is cancelled, for work that may ignore the signal. Written by hand
   * because `Promise.race` costs five microseconds more per call.
   */
  untilCancelled<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#onCancel = () => reject(cancelledError());
      if (this.cancelReason !== undefined) this.#onCancel();
    });
  }

  /** @throws {UpstreamError} When the call was cancelled: it has settled, and nothing may be counted or sent. */
  throwIfCancelled(): void {
    if (this.cancelReason !== undefined) throw cancelledError();
  }

  /** Keeps a warning for the request log, within bounds. */
  warn(message: string): void {
    if (this.warnings.length < warningsMax) this.warnings.push(message.slice(0, warningCharactersMax));
  }
}

function cancelledError(): UpstreamError {
  return new UpstreamError("bad_response", "The call was cancelled");
}

/** The hold of a stream, which follows its output. */
export interface OutputHold {
  /** Counts output before it is sent. Returns what the stream has to wait for; mostly undefined. */
  spend(bytes: number): Promise<void> | undefined;
  /** Holds all that the answer can be. @throws {GatewayError} When that is not left. */
  coverAll(): Promise<void>;
  /** Takes the tokens that the provider has reported so far, of the prompt and of the output. */
  onReport(promptTokens: number, outputTokens: number): void;
  /** The model has ended: nothing is held any more. */
  stop(): void;
}

/** The most that a run can use, by its request as it is sent. */
export interface RunBounds {
  /** The most of each meter that it can use. */
  readonly upper: Readonly<Meters>;
  /** The most tokens of the prompt by a count of its provider; absent where nobody counted it. */
  readonly countedTokensMax?: number | undefined;
  /**
   * The most tokens of the prompt as it is sent; a provider that searches the web reads it again with what was found. Absent:
   * the prompt is read once.
   */
  readonly sentTokensMax?: number;
  /** The most searches of the web that its provider may run; absent: none. */
  readonly searchesMax?: number;
  /** A long text is spoken in this number of parts, each by a request; absent: in one. */
  readonly parts?: number;
  /** A part of the prompt is to be cached by the provider for an hour or longer. */
  readonly keepsLonger?: boolean;
  /** The client has marked a part of the prompt for a cache. */
  readonly hasMarks?: boolean;
  /** Only its provider's report tells what the prompt costs. */
  readonly isOpenEnded?: boolean;
  /** A part of the output may not be shown, so only its provider's report tells what it costs. */
  readonly hidesOutput?: boolean;
}

/** The bounds of a run that was not bounded yet. */
const unbounded: RunBounds = { upper: {} };

/** Facts of a run's answer other than its usage, as its capability reads them. */
export interface AnswerFacts {
  /** The tier of service that the provider says it served the call by. */
  servedTier: string | undefined;
  /** The finish reason of each choice. */
  finishReasons: string[] | undefined;
  /** The answer ended by a word that is not known. */
  hasUnknownFinish: boolean;
  /** The provider's own word on its prompt cache, for a client that asked. */
  cacheReport: CacheReport | undefined;
}

/** The failure of a run, which its caller sees. */
export interface RunFailure {
  /** Absent where the client left a run that went on to its end, and for an error of the gateway before admission. */
  readonly error: GatewayError | undefined;
  /** The status of the error, or 499 for a client that disconnected. */
  readonly status: number;
  /** The code of the error, or `client_disconnected`. */
  readonly code: string;
}

/** The usage of a run, as it was settled. */
export interface RunOutcome {
  readonly meters: Readonly<Meters>;
  readonly usageSource: UsageSource;
  /** At the price of the account. Absent where the model has no price. */
  readonly costNanodollars: number | undefined;
  /** The amount that the provider is owed; absent: the cost itself. */
  readonly providerCostNanodollars?: number | undefined;
  /** Cost of an implausible report beyond what was charged; absent if there is no such report, or it has no price. */
  readonly unbelievedNanodollars: number | undefined;
  /** The effect of prompt caches on its cost; absent: none that is known. */
  readonly cache?: CacheEffect | undefined;
}

/** The outcome of a run that is not settled. */
const unsettled: RunOutcome = {
  meters: {},
  usageSource: "none",
  costNanodollars: undefined,
  unbelievedNanodollars: undefined,
};

/** The policies of a run, as its other parts see them. */
export interface Guard {
  /** The client's sink behind the policies; absent for a whole answer, and for a stream without text. */
  readonly sink: ChatSink | undefined;
  /** A record for each result of each policy. */
  readonly records: readonly PolicyDetail[];
  /** Texts of the request were replaced. */
  readonly hasReplaced: boolean;
}

/** One model that is tried for a call, with one row in the ledger. */
export class ModelRun<C extends Capability = Capability> {
  readonly call: ClientCall<C>;
  /** The id of its row in the ledger: the call's own, and one made of that for each model after the first. */
  readonly ledgerId: string;
  /** No other model follows. */
  readonly isLast: boolean;
  /** The model is the successor of the requested model, which has been retired. */
  readonly isSuccession: boolean;
  /** The model with the routes that may serve the request. Written by `pipeline.ts`, before validation. */
  modelEntry: ModelEntry;
  /** The price for the account when the run began, whatever changes later; absent: the model has no price. */
  readonly price: CompiledPrice | undefined;
  /** Name of the model in the answer. */
  readonly publicName: string;
  /** The request as this model takes it. Written by `pipeline.ts` once it is validated, and by `admit` once it is lowered. */
  request: ExchangeRequest<C>;
  readonly usageMeter: UsageMeter;
  /** The requests to its routes, in order. Each adds itself. */
  readonly attempts: Attempt[] = [];
  /** Fields of the client's request that none of its attempts sends. */
  readonly leftOut: Set<string>;
  /** Absent: no policy applies. */
  readonly guard: Guard | undefined;

  /** The most that the run can use, and the basis of its hold. Written by `admit`. */
  bounds: RunBounds = unbounded;
  /** Present once it was admitted. Written by `admit`. */
  hold: Hold | undefined = undefined;
  /** Present for a stream whose hold follows its output. Written by `admit`. */
  growingHold: OutputHold | undefined = undefined;
  /** The providers that were paused, if it was not sent because of that. Written by `failover.ts`. */
  paused: readonly string[] | undefined = undefined;
  /** Request fields that were lowered to what is left. Written by `admit`. */
  lowered: Readonly<Record<string, number>> | undefined = undefined;

  /**
   * Requests that providers may have received and have not refused. Its attempts add them; `forgiveUnbegun` removes
   * those that received no answer.
   */
  readonly sent = new Set<SentRequest>();
  /** When the first of them was sent, by {@link Kernel.now}. Written by its attempts. */
  sentMs = 0;
  /**
   * How long its providers worked on a call that was cut, by its client or by the gateway; absent: it was not cut. Written by
   * `recordOwed`.
   */
  cutAfterMs: number | undefined = undefined;
  /** From the request of the client until a provider began to answer. Written by `withFailover`. */
  firstByteMs: number | undefined = undefined;
  /** Facts of the answer other than its usage. Written by the capability that reads the answer. */
  readonly answer: AnswerFacts = {
    servedTier: undefined,
    finishReasons: undefined,
    hasUnknownFinish: false,
    cacheReport: undefined,
  };
  /** Why it was refused, failed, or counts as failed; absent while it has not. Written by `pipeline.ts`. */
  failure: RunFailure | undefined = undefined;
  /** The final usage and its cost; nothing until `settle` writes it, once. */
  outcome: RunOutcome = unsettled;

  /** @param usageMeterOf Creates what counts its usage. */
  constructor(
    call: ClientCall<C>,
    candidate: Pick<Candidate, "modelEntry" | "isSuccession"> & Partial<Pick<Candidate, "name">>,
    {
      usageMeterOf,
      isLast = true,
      guard,
    }: { usageMeterOf(run: ModelRun<C>): UsageMeter; isLast?: boolean; guard?: Guard | undefined },
  ) {
    this.call = call;
    const { length } = call.runs;
    this.ledgerId = length === 0 ? call.id : `${call.id}-${length + 1}`;
    this.isLast = isLast;
    this.guard = guard;
    this.isSuccession = candidate.isSuccession === true;
    this.modelEntry = candidate.modelEntry;
    this.price = priceFor(candidate.modelEntry, call.request.caller);
    this.publicName = publicNameOf(candidate);
    this.request = call.request.body;
    this.leftOut = new Set(call.request.leftOut);
    this.usageMeter = usageMeterOf(this);
    call.runs.push(this);
  }

  get caller(): Caller {
    return this.call.request.caller;
  }

  /** Where its stream goes: through the policies, to the client. */
  get sink(): SinkOf<C> | undefined {
    return (this.guard?.sink as SinkOf<C> | undefined) ?? this.call.request.sink;
  }

  /** Absent where policies apply: they look at the uniform format. */
  get passthrough(): Passthrough | undefined {
    return this.guard === undefined ? this.call.request.passthrough : undefined;
  }

  get isLarge(): boolean {
    return this.call.request.memory?.isLarge === true;
  }

  /** 200, the status of the error, or 499 for a client that disconnected. */
  get status(): number {
    return this.failure?.status ?? 200;
  }

  get error(): GatewayError | undefined {
    return this.failure?.error;
  }

  get errorCode(): string | undefined {
    return this.failure?.code;
  }

  /** The public id of the model. */
  get model(): string {
    return this.modelEntry.model.id;
  }

  /** The present attempt, or the last one; absent before the first. */
  get attempt(): Attempt | undefined {
    return this.attempts.at(-1);
  }

  /** The plugin of the last attempt, which answered or failed; absent when no provider was tried. */
  get plugin(): string | undefined {
    return this.attempt?.route.plugin.name;
  }

  /** The plugin whose provider began to answer; absent until one has. */
  get answeredBy(): string | undefined {
    return this.attempt?.isAnswered === true ? this.plugin : undefined;
  }

  /** The state of marks for the cache of the provider that was tried last; absent: nobody marks such a prompt. */
  get cacheMarks(): CacheMarks | undefined {
    return this.attempt?.cacheMarks;
  }

  /**
   * Number of requests that the hold covers: one for each part, or for each choice, because some providers make one
   * choice per request.
   */
  get requestsHeld(): number {
    return (this.bounds.parts ?? 1) * ((this.request as { n?: number | null }).n ?? 1);
  }

  /** Fields of the client's request that the last attempt left out or could not keep to. */
  get ignored(): ReadonlySet<string> {
    return this.attempt?.ignored ?? this.leftOut;
  }

  /** Keeps what the translation left out of the request that all its attempts send. */
  noteLoss({ message, fields }: Loss): void {
    this.call.warn(message);
    addFieldNames(this.leftOut, fields);
  }

  /**
   * Requests that are paid for: each request that received an answer and, if the call was cut, each one that its
   * provider may still be working on.
   */
  get owedRequests(): SentRequest[] {
    const isCut = this.cutAfterMs !== undefined;
    return [...this.sent].filter(
      ({ isAnswered, isWhole, isTimedOut }) => isAnswered || ((isCut || isTimedOut) && !isWhole),
    );
  }

  /**
   * Counts output before it is sent.
   *
   * @param bytes At least one byte per token.
   * @returns Undefined if it may be sent. Otherwise wait, and send it unless this rejects: the error ends the call.
   * @throws {UpstreamError} When the call was cancelled.
   */
  spend(bytes: number): Promise<void> | undefined {
    this.call.throwIfCancelled();
    return this.growingHold?.spend(bytes);
  }
}

/** One request to one route with one of its keys. A handler may send several to the provider within it. */
export class Attempt implements Sender {
  readonly run: ModelRun;
  readonly route: Route;
  /** Absent for a plugin without keys. */
  readonly key: PoolKey | undefined;
  /** Start time by {@link Kernel.now}. */
  readonly startedMs: number;
  /** Set once it failed. */
  endedMs: number | undefined = undefined;
  /** Why it failed; absent while it has not. */
  error: unknown = undefined;
  /** The provider has begun to answer with content: no other attempt follows. */
  isAnswered = false;
  /** Its route was paused after failures, and this answer ended that. */
  hasResumed = false;
  /** Fields of the client's request that it left out or could not keep to, for the caller. */
  readonly ignored: Set<string>;
  /** The provider did not receive the limit of the output. Kept apart from `ignored`, which has a bounded number of names. */
  leavesOutLimit = false;
  hasSocket = false;
  /** The state of marks for the provider's cache. Written by its handler; the client's own are there from the beginning. */
  cacheMarks: CacheMarks | undefined;
  /** The requests to the provider, in order. */
  readonly sent: SentRequest[] = [];
  readonly #controller = new AbortController();
  readonly #promptCaching: PromptCaching;

  constructor(
    run: ModelRun,
    {
      route,
      key,
      nowMs,
      promptCaching,
    }: Pick<Attempt, "route" | "key"> & { nowMs: number; promptCaching: PromptCaching },
  ) {
    this.run = run;
    this.route = route;
    this.key = key;
    this.startedMs = nowMs;
    this.#promptCaching = promptCaching;
    this.cacheMarks = run.bounds.hasMarks === true ? "client" : undefined;
    this.ignored = new Set(run.leftOut);
    run.attempts.push(this);
  }

  /** Aborted when the attempt or the whole call ends. Every request to the provider carries it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts what it may have left open at its provider. */
  abort(): void {
    this.#controller.abort();
  }

  /** Ends the attempt. Another can follow. */
  fail(error: unknown, nowMs: number): void {
    this.error = error;
    this.endedMs = nowMs;
    this.abort();
  }

  get id(): string {
    return this.run.call.id;
  }

  get owner(): string {
    return this.run.call.request.caller.accountId;
  }

  get providerLane(): ProviderLane | undefined {
    return this.run.call.request.providerLane;
  }

  get steering(): Steering | undefined {
    return this.run.call.request.steering;
  }

  get markRule(): MarkRule | undefined {
    return this.#promptCaching.ruleOf(this.run, this.route.model, this.startedMs);
  }

  get hasSession(): boolean {
    return this.run.call.request.session !== undefined;
  }

  noteCacheMarks(state: CacheMarks): void {
    this.cacheMarks = state;
  }

  readCacheKey(): string | undefined {
    return this.#promptCaching.cacheKeyOf(this.run.call.request);
  }

  get keepsLonger(): boolean {
    return this.run.bounds.keepsLonger === true;
  }

  get request(): unknown {
    return this.run.request;
  }

  get cancelReason(): CancelReason | undefined {
    return this.run.call.cancelReason;
  }

  get isLarge(): boolean {
    return this.run.isLarge;
  }

  get answerSource(): AnswerSource {
    const { call, request, passthrough } = this.run;
    const hasLogprobs = Boolean((request as Partial<ChatRequest>).logprobs) || passthrough?.asksForLogprobs === true;
    return hasLogprobs ? "longAnswer" : answerSourceOf(call.request.capability);
  }

  coverAll(): Promise<void> | undefined {
    return this.run.growingHold?.coverAll();
  }

  onSent(request: SentRequest, nowMs: number): void {
    const { run } = this;
    if (run.sent.size === 0) run.sentMs = nowMs;
    run.sent.add(request);
    this.sent.push(request);
  }

  onRefused(request: SentRequest): void {
    this.run.sent.delete(request);
  }

  reserve(bytes: number): void {
    this.run.call.request.memory?.reserve(bytes);
  }

  reserveAnswer(bytes: number): void {
    this.run.call.request.memory?.reserveAnswer(bytes);
  }

  /** The provider was silent for too long. Ends the attempt while another can follow, otherwise the call. */
  onSilence(): void {
    if (this.isAnswered) this.run.call.cancel("timeout");
    else this.abort();
  }

  /** Keeps a plugin's warning for the request log, without keys, and the names of ignored fields for the caller, within bounds. */
  warn(message: string, ignored: string | readonly string[]): void {
    this.run.call.warn(this.route.keys.hide(message));
    // Code of a plugin may leave the fields out.
    const fields = [ignored ?? []].flat();
    this.leavesOutLimit ||= fields.some((field) => this.#isOutputLimit(field));
    addFieldNames(
      this.ignored,
      fields.filter((field) => this.#isSent(field)),
    );
  }

  #isOutputLimit(field: string): boolean {
    return outputLimits.has(field) || field === this.run.call.request.original?.format.outputLimit;
  }

  /** Whether the caller sent this field: a default of the gateway's own is not a loss. */
  #isSent(field: string): boolean {
    const { request, call } = this.run;
    const { original, passthrough } = call.request;
    const { unknownFields } = request as Partial<TranscriptionRequest>;
    const sentRequest = (original ?? passthrough)?.body ?? request;
    return (
      [field, headOf(field)].some((name) => Object.hasOwn(sentRequest, name)) || unknownFields?.includes(field) === true
    );
  }
}

type AnswerSource = Sender["answerSource"];

/** Capabilities whose whole answers have few values. Others answer with vectors, scores, or words with their times. */
const shortAnswers: ReadonlySet<Capability> = new Set(["chat", "images", "imageEdits", "speech"]);

/** Whether a whole answer may be a long list of numbers, which decides the bounds of its JSON. */
export function answerSourceOf(capability: Capability): AnswerSource {
  return shortAnswers.has(capability) ? "answer" : "longAnswer";
}
