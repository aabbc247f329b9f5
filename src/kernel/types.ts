import type { Capability, ErrorCode, Ledger, Meters, TurnStore } from "../contract/index.ts";
import type { AnswerUsage } from "../provider/index.ts";
import type { Attempt, ClientCall, ExchangeAnswer, ExchangeRequest, ModelRun, RunBounds } from "./call.ts";
import type { KeyedHash } from "./prompt-cache/keyed-hash.bun.ts";
import type { PromptCaching } from "./prompt-caching.ts";
import type { Registry } from "./routing/registry.ts";
import type { Network } from "./upstream/network.ts";

/** Writes lines for the operator. `fields` are small and never hold a secret or a prompt. */
export interface Log {
  debug(event: string, fields?: Record<string, unknown>): void;
  info(event: string, fields?: Record<string, unknown>): void;
  warn(event: string, fields?: Record<string, unknown>): void;
  error(event: string, fields?: Record<string, unknown>): void;
}

/** Dependencies of every call. `registry` is read once at the start of a call, which ends on the one it began with. */
export interface Kernel {
  registry: Registry;
  readonly ledger: Ledger;
  readonly network: Network;
  readonly log: Log;
  /** Milliseconds of a clock that never jumps, for deadlines, durations and circuits; not a date. */
  readonly now: () => number;
  readonly promptCaching: PromptCaching;
  /** Counts and traces calls; absent when metrics and traces are off. */
  readonly observer?: CallObserver | undefined;
  /** From 0 to below 1, to draw among equal routes; absent: `Math.random`. */
  readonly random?: (() => number) | undefined;
  /** Tells why prompts were not read from caches; absent: nothing is kept for that. */
  readonly promptTurns?: PromptTurns | undefined;
  /** Waits before a retry; absent: by a timer. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** The last turns of sessions, as hashes. */
export interface PromptTurns {
  readonly store: TurnStore;
  readonly hash: KeyedHash;
  /** The first value of every hash, the same in all processes that share the store. */
  readonly secret: bigint;
}

/**
 * Observes calls, for metrics and traces. It is called between the steps of a call, so it neither throws nor waits, and
 * it must not read prompts and answers.
 */
export interface CallObserver {
  /** An attempt ended: the provider began to answer, or the attempt failed with its error. */
  attempted(attempt: Attempt): void;
  /** A call ended and is final. Only the headers of its HTTP request are of use. */
  ended(call: ClientCall, httpRequest: Request): void;
  /** An error was answered, with or without a call. `unrun`: it ended a call that never ran, such as one whose key could not be checked. */
  refused(code: ErrorCode, unrun?: UnrunCall): void;
}

/** Combines two observers into one. */
export function combineObservers(one: CallObserver, other: CallObserver): CallObserver {
  return {
    attempted(attempt) {
      one.attempted(attempt);
      other.attempted(attempt);
    },
    ended(call, httpRequest) {
      one.ended(call, httpRequest);
      other.ended(call, httpRequest);
    },
    refused(code, unrun) {
      one.refused(code, unrun);
      other.refused(code, unrun);
    },
  };
}

/** A call that the gateway ended with an error before it ran. */
export interface UnrunCall {
  readonly capability: Capability;
  readonly status: number;
}

/** How the hold of a stream follows its output, in tokens of all its choices. */
export interface Growth {
  /**
   * A part of the output may not be shown. The hold then covers all output from the beginning; only tokens per minute
   * are claimed by the step.
   */
  readonly isHidden: boolean;
  readonly stepTokens: number;
  boundOf(outputTokens: number): Meters;
  outputTokensMax(): number;
}

/** A request as a model takes it; absent: as it came. */
export type ValidRequest<C extends Capability> = ExchangeRequest<C> | undefined;

/** A request that was lowered to what its caller can pay, with its bounds. */
export interface LoweredRequest<C extends Capability> {
  readonly request: ExchangeRequest<C>;
  /** The fields that were lowered. */
  readonly fields: Readonly<Record<string, number>>;
  readonly bounds: RunBounds;
}

/** How one capability is validated, bounded, executed and counted. */
export interface CapabilityHandler<C extends Capability> {
  /**
   * Checks a request before anything is held. Returns it as this model takes it, where that differs.
   *
   * @throws {GatewayError} `invalid_request` for what this model does not take.
   */
  validate(run: ModelRun<C>, kernel: Kernel): ValidRequest<C> | Promise<ValidRequest<C>>;
  /**
   * The most that the request can use, for the hold.
   *
   * @param countedTokensMax What {@link countPrompt} returned; absent where it was not called.
   */
  upperBound(run: ModelRun<C>, countedTokensMax?: number): RunBounds;
  /** The least that must be payable, where the request of a bounded run can be lowered; absent: the upper bound. */
  lowerBound?(run: ModelRun<C>): Meters;
  /**
   * For a stream whose hold can follow its output: the step by which the hold is extended, and the bound of the request
   * for a number of output tokens, also once the request is lowered. Absent: the whole upper bound is held.
   */
  growth?(run: ModelRun<C>): Growth | undefined;
  /** The request of a bounded run, lowered to what is left, which is at least the lower bound. */
  lower?(run: ModelRun<C>, covers: (meters: Meters) => boolean): LoweredRequest<C>;
  /** Tokens counted against the rate limit at admission, where the upper bound is not in tokens. */
  promptTokens?(run: ModelRun<C>): number;
  /**
   * Has the provider count a prompt that only the model's context bounds, for a lower upper bound. Returns the most tokens
   * of it, or `undefined` where it cannot be counted; absent: the bound is what it is.
   */
  countPrompt?(kernel: Kernel, run: ModelRun<C>): Promise<number | undefined>;
  /** Usage reported by one request of the call, in meters; `undefined` for a report that cannot be used. */
  toReport(run: ModelRun<C>, usage: AnswerUsage): Meters | undefined;
  /** Counts what went in and, by the output of the usage meter, came out. */
  estimate(run: ModelRun<C>, kernel: Kernel): Promise<Meters>;
  /** Asks the provider. Resolves with the whole answer, or with `undefined` once the sink has all of it. */
  execute(kernel: Kernel, run: ModelRun<C>): Promise<ExchangeAnswer<C>>;
}
