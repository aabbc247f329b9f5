import {
  type Caller,
  type Capability,
  type ErrorCode,
  type GatewayError,
  type Hold,
  type Meters,
  type TranscriptionRequest,
  UpstreamFault,
  type UsageSource,
} from "../contract/index.ts";
import type { RequestOf, SinkOf } from "./exchange.ts";
import type { GrowingHold } from "./growing-hold.ts";
import type { UsageMeter } from "./normalize/usage.ts";
import type { Passthrough } from "./passthrough.ts";
import type { Candidates, ModelEntry, Route } from "./routing/registry.ts";
import type { SentRequest } from "./upstream/served.ts";
import type { Timeout, TimeoutScheduler } from "./upstream/timeouts.ts";

/** Why the gateway itself ended a call. */
export type CancelReason = "client_disconnected" | "timeout" | "draining" | "hold_refused";

/** An attempt that failed. */
export interface FailedAttempt {
  readonly route: string;
  readonly duration_ms: number;
  /** The kind of an upstream fault, or the code of the gateway's own error. */
  readonly error: string;
  /** The HTTP status of the provider; absent: it sent none. */
  readonly status?: number | undefined;
  /** The provider's own words, which may name the operator's account: for administrators. */
  readonly message: string;
}

/** How long a model that reasons may go on for a client that has left. */
const runOnMsMax = 60_000;
const warningsMax = 20;
const warningCharactersMax = 500;

/**
 * One call, from authentication to its log line. Created for a caller, given its request by {@link setRequest}, filled
 * in by `runCall`, and read for headers, log, metrics and billing.
 */
export class CallContext<C extends Capability = Capability> {
  /** Also the `x-request-id` of the response. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly openedAt: number;
  /** The same moment by {@link Kernel.now}, to measure from. */
  readonly startedMs: number;
  readonly caller: Caller;
  /** The client's own id of the request. It is shown and logged, and never relied on. */
  clientRequestId: string | undefined = undefined;

  /** Set by {@link setRequest}. */
  capability!: C;
  request!: RequestOf<C>;
  /** Where a streamed answer goes; absent when the answer is wanted whole. */
  sink: SinkOf<C> | undefined = undefined;

  /** The models that the client listed, the first to be tried first; absent for a single one. */
  asked: readonly string[] | undefined = undefined;
  /** The models that may serve it, in order. Found by `runCall`, or before it where a protocol has to know. */
  candidates: Candidates | undefined = undefined;
  /** The models that were tried in vain, and why. */
  readonly failures: { model: string; code: ErrorCode }[] = [];
  /** Set by `runCall` before it calls a handler. */
  modelEntry!: ModelEntry;
  usageMeter!: UsageMeter;
  /** What the client speaks. Only chat has defaults of this API's own. */
  protocol = "chat";
  /** What the client sent in a wire format of its own, where a route may speak that. */
  passthrough: Passthrough | undefined = undefined;
  /** The public id of the model, once it is known to exist. */
  model: string | undefined = undefined;
  /** It answers for the model that was asked for, which has ended. */
  isSuccession = false;
  clientForbidsStoring = false;
  /** What the client calls its session, which sticks to a route and a key. A claim: it decides nothing else. */
  session: string | undefined = undefined;
  /** What the client calls requests of this kind, for statistics. */
  tag: string | undefined = undefined;
  /** The most tokens of the prompt by a count of the provider's; absent where there is none. */
  countedTokensMax: number | undefined = undefined;
  /** Whether the request asks a provider to keep a part of the prompt for an hour. */
  keepsHour = false;
  /** Present once the call was admitted. */
  hold: Hold | undefined = undefined;
  /** Present for a stream whose hold follows its output. */
  growingHold: GrowingHold | undefined = undefined;
  /** The tier of service that the provider says it served the call by. */
  servedTier: string | undefined = undefined;
  /** The most that the call can use, by which it was admitted. */
  upper: Meters | undefined = undefined;
  /** Request fields that were lowered to what is left. */
  lowered: Readonly<Record<string, number>> | undefined = undefined;

  /** The name of the plugin that answered. */
  route: string | undefined = undefined;
  /** The route of the current attempt, then the one that answered. */
  currentRoute: Pick<Route, "circuitBreaker" | "health" | "keys"> | undefined = undefined;
  /** The index of its key in the pool of the route. */
  keyIndex: number | undefined = undefined;
  attempts = 0;
  /** Those of the models that were tried before. */
  attemptsBefore = 0;

  status = 200;
  errorCode: string | undefined = undefined;
  /** The error's sentence for the caller; set for an admitted call. */
  errorMessage: string | undefined = undefined;
  /** The attempts that failed, in order; absent: none. */
  failedAttempts: FailedAttempt[] | undefined = undefined;
  cancelReason: CancelReason | undefined = undefined;
  /** Set by {@link endWith}. */
  cancelError: GatewayError | undefined = undefined;
  /** The client has left while the call goes on. */
  clientLeft = false;
  /** Requests that providers may have received and have not refused. */
  readonly sent = new Set<SentRequest>();
  /** When the first of them was sent, by {@link Kernel.now}. */
  sentMs = 0;
  /** How long its providers worked on a call that was cut, by its client or by the gateway; absent: it was not cut. */
  cutAfterMs: number | undefined = undefined;
  /** Only its provider's report tells what the prompt costs. */
  isOpenEnded = false;
  firstByteMs: number | undefined = undefined;
  /** The final usage and its cost; set when the call is settled. */
  meters: Meters = {};
  usageSource: UsageSource = "none";
  costNanodollars: number | undefined = undefined;
  /** The finish reason of each choice. */
  finishReasons: string[] | undefined = undefined;
  /** Warnings of plugins, for the log. */
  readonly warnings: string[] = [];
  /** Request fields that the current attempt left out or could not keep to, for the caller. */
  readonly ignored = new Set<string>();
  /** Those of them that no route is sent. */
  readonly #leftOut: string[] = [];

  #controller = new AbortController();
  #onCancel: () => void = () => undefined;
  #timeout: Timeout | undefined = undefined;
  #runOn: NodeJS.Timeout | undefined = undefined;

  constructor(id: string, openedAt: number, caller: Caller, startedMs: number = openedAt) {
    this.id = id;
    this.openedAt = openedAt;
    this.startedMs = startedMs;
    this.caller = caller;
  }

  /** Sets what is asked for. Returns the same call, with the type of its capability. */
  setRequest<D extends C>(capability: D, request: RequestOf<D>, sink?: SinkOf<D> | undefined): CallContext<D> {
    const call = this as unknown as CallContext<D>;
    call.capability = capability;
    call.request = request;
    call.sink = sink;
    return call;
  }

  /** The id of its row in the ledger: its own, and one made of that for each model after the first. */
  get ledgerId(): string {
    const { length } = this.failures;
    return length === 0 ? this.id : `${this.id}-${length + 1}`;
  }

  /** How the call is recorded. Final once it has ended. */
  get state(): "settled" | "released" | "refused" {
    if (this.hold === undefined) return "refused";
    return this.usageSource === "none" ? "released" : "settled";
  }

  /** A request is about to be sent. */
  onSent(request: SentRequest, nowMs: number): void {
    if (this.sent.size === 0) this.sentMs = nowMs;
    this.sent.add(request);
  }

  /**
   * Requests that are paid for: those of which an answer came, and of a call that was cut also those that may still be worked
   * on.
   */
  get owedRequests(): SentRequest[] {
    const isCut = this.cutAfterMs !== undefined;
    return [...this.sent].filter(
      ({ isAnswered, isWhole, isTimedOut }) => isAnswered || ((isCut || isTimedOut) && !isWhole),
    );
  }

  /** Whether what came in takes so long to walk through that each walk gets a turn of the event loop of its own. */
  get isLarge(): boolean {
    return false;
  }

  /** Aborted when the current attempt or the whole call ends. Every request to a provider carries it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Ends the call: whatever it waits for is aborted, and it settles. Only the first reason counts. A call goes on for a while
   * when its client has left where only the provider's report tells what it costs: of a model that reasons, which hides a
   * part of its answer, and of a prompt that only its provider can count.
   */
  cancel(reason: CancelReason): void {
    // Without a deadline the call is over, and only its last bytes were not taken.
    const isHidden =
      this.sent.size > 0 && (this.modelEntry.model.reasoning || this.isOpenEnded) && this.#timeout !== undefined;
    if (reason === "client_disconnected" && isHidden) {
      // Both the request and the body of its response tell that the client has left.
      this.clientLeft = true;
      this.#runOn ??= setTimeout(() => this.#end(reason), runOnMsMax);
    } else this.#end(reason);
  }

  #end(reason: CancelReason): void {
    if (this.cancelReason !== undefined) return;
    this.cancelReason = reason;
    this.#controller.abort();
    this.#onCancel();
  }

  /** Cancels the call with the error for its caller. */
  endWith(error: GatewayError): void {
    this.cancelError ??= error;
    this.cancel("hold_refused");
  }

  /** Cancels the call at the given time, milliseconds since 1970. Replaces an earlier deadline. */
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
   * The outcome of work, or a fault once the call is cancelled, for work that may ignore the signal. Written by hand
   * because `Promise.race` costs five microseconds more per call.
   */
  untilCancelled<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#onCancel = () => reject(cancelledFault());
      if (this.cancelReason !== undefined) this.#onCancel();
    });
  }

  /** @throws {UpstreamFault} When the call was cancelled: it has settled, and nothing may be counted or sent. */
  throwIfCancelled(): void {
    if (this.cancelReason !== undefined) throw cancelledFault();
  }

  /** A provider was silent for too long. Ends the attempt while another can follow, otherwise the call. */
  timeout(signal: AbortSignal): void {
    if (this.route !== undefined) this.cancel("timeout");
    else if (signal === this.#controller.signal) this.#controller.abort();
  }

  /** Aborts what a failed attempt may have left open, and gives the next attempt a signal of its own. */
  resetSignal(): void {
    this.#controller.abort();
    this.ignored.clear();
    for (const field of this.#leftOut) this.ignored.add(field);
    if (this.cancelReason === undefined) this.#controller = new AbortController();
  }

  /** Aborts what an ended call may have left open at its providers. */
  abort(): void {
    this.#controller.abort();
  }

  /**
   * Counts output before it is sent, in bytes at the least as many as it has tokens.
   *
   * @returns Undefined if it may be sent. Otherwise wait, and send it unless this rejects: the error ends the call.
   * @throws {UpstreamFault} When the call was cancelled.
   */
  spend(bytes: number): Promise<void> | undefined {
    this.throwIfCancelled();
    return this.growingHold?.spend(bytes);
  }

  /** Counts memory that is taken for the call until it ends. @throws {GatewayError} When there is no room. */
  reserveMemory(_bytes: number): void {}

  /** The same for its answer, until that was sent; fewer bytes than 0 are freed. @throws {GatewayError} When there is no room. */
  reserveAnswer(_bytes: number): void {}

  /** Names a field of the client's body to it that no route is sent. */
  leaveOut(field: string): void {
    this.#leftOut.push(field);
    this.ignored.add(field);
  }

  /** Keeps a plugin's warning for the log and the names of ignored fields for the caller, within bounds. */
  warn(sentence: string, ignored: string | readonly string[] = []): void {
    if (this.warnings.length < warningsMax) this.warnings.push(sentence.slice(0, warningCharactersMax));
    for (const field of [ignored].flat())
      if (this.ignored.size < warningsMax && this.#isShowable(field)) this.ignored.add(field);
  }

  /** Whether the caller sent this field (a default of the gateway's own is not a loss), under a name that a header can hold. */
  #isShowable(field: string): boolean {
    const request = this.request as Partial<TranscriptionRequest>;
    const body = this.passthrough === undefined ? request : this.passthrough.body;
    const isSent = Object.hasOwn(body, field) || request.unknownFields?.includes(field) === true;
    return isSent && /^[\w.-]{1,64}(\[\])?$/.test(field);
  }
}

function cancelledFault(): UpstreamFault {
  return new UpstreamFault("bad_response", "The call was cancelled");
}
