import type { AdmissionRequest, Caller, CallsState, LimitState, Limits, RateLimits } from "../contract/index.ts";
import type { EndedCall, GrantedHold, HoldAmounts, OpenCall } from "../db/index.ts";
import { additionalTokens } from "./call-records.ts";
import { IdleMap } from "./idle-map.ts";
import { callsExceeded, type LimitOwner, requestsExceeded, tokensExceeded } from "./limit-errors.ts";

/** The remaining limits after a call was counted. */
export interface LimitReservation {
  limits: LimitState;
  /** Its hold on the daily free quota; undefined if the database decides about that. */
  quota?: GrantedHold | undefined;
}

/** Number of running calls of an account and of one of its keys. */
export interface RunningCalls {
  ofAccount: number;
  ofKey: number;
}

/** All limits except money: rates per minute, concurrent calls and, if nodes share them, the free quota. */
export interface CallLimits {
  /**
   * Counts a call in.
   *
   * @throws {GatewayError} Naming the one limit that blocks; nothing is counted then.
   */
  take(admission: AdmissionRequest, now: number): LimitReservation | Promise<LimitReservation>;
  /** @throws {GatewayError} `rate_limit_exceeded` when no request is left, as far as this process knows. */
  check(caller: Caller, now: number): void;
  /** The hold of a call is written. */
  opened(admission: AdmissionRequest, open: OpenCall): void;
  /**
   * Counts more tokens of a running call, and decides about its further hold on the free quota.
   *
   * @returns Its hold on the quota; undefined where the database decides about that.
   * @throws {GatewayError} `quota_exceeded`
   */
  extend(admission: AdmissionRequest, moreTokens: number, now: number): undefined | Promise<HoldAmounts | undefined>;
  /** Reverses the count of a call as if it had never come. */
  release(admission: AdmissionRequest, now: number): void | Promise<void>;
  /** The end of a call is written. */
  end(admission: AdmissionRequest, end: EndedCall, now: number): void | Promise<void>;
  /** @param model A model whose own limits are checked too; absent: no model. */
  state(caller: Caller, now: number, model?: string): LimitState | Promise<LimitState>;
  running(caller: Caller): RunningCalls | Promise<RunningCalls>;
  close(): void;
}

/** Limits that a call counts against: of its key or its account, for all calls or for the calls of one model. */
export interface CountedLimits extends LimitOwner {
  readonly limits: RateLimits;
}

/**
 * Returns all limits that bind a call, in the order of checking. The limits of the account for all calls come last.
 *
 * @param modelName The model's name as the caller knows it, for errors.
 */
export function limitsOf(
  { limits, keyLimits, modelLimits }: Caller,
  model: string | undefined,
  modelName = model,
): CountedLimits[] {
  const ofModel = model === undefined ? undefined : modelLimits?.get(model);
  const all: CountedLimits[] = [];
  if (ofModel?.key !== undefined) all.push({ owner: "key", model, modelName, limits: ofModel.key });
  if (keyLimits !== undefined) all.push({ owner: "key", limits: keyLimits });
  if (ofModel?.account !== undefined) all.push({ owner: "account", model, modelName, limits: ofModel.account });
  all.push({ owner: "account", limits });
  return all;
}

/** Additions to the use of an account by its calls. */
interface Amounts {
  running: number;
  requests: number;
  tokens: number;
}

/** Keys per account, and models with a limit per account or key, above which idle ones are evicted. */
const usagesMax = 1000;

/** Use by the calls of an account or a key, or of a model of either. */
class LimitUsage {
  readonly rate = new RateLimit();
  running = 0;
  /** Usage of the keys of an account that have limits of their own. */
  keys: IdleMap<LimitUsage> | undefined;
  /** Usage of the models that have limits of their own there. */
  models: IdleMap<LimitUsage> | undefined;

  isIdle(now: number): boolean {
    if (this.running !== 0 || !this.rate.isEmpty(now)) return false;
    return this.keys?.isIdle(now) !== false && this.models?.isIdle(now) !== false;
  }

  ofKey(keyId: string, now: number): LimitUsage {
    this.keys ??= new IdleMap(usagesMax, () => new LimitUsage());
    return this.keys.getOrMake(keyId, now);
  }

  ofModel(model: string, now: number): LimitUsage {
    this.models ??= new IdleMap(usagesMax, () => new LimitUsage());
    return this.models.getOrMake(model, now);
  }
}

/** Limits that a call counts against, with their usage. */
interface UsedLimits extends CountedLimits {
  readonly usage: LimitUsage;
}

/** The limits of one process. Each method runs synchronously, which makes counting atomic. */
export class ProcessLimits implements CallLimits {
  readonly #accounts: IdleMap<LimitUsage>;

  constructor(accountsMax: number) {
    this.#accounts = new IdleMap(accountsMax, () => new LimitUsage());
  }

  take({ caller, model, modelName, limitTokens }: AdmissionRequest, now: number): LimitReservation {
    const all = this.#find(caller, model, now, modelName);
    for (const one of all) {
      one.usage.rate.check(limitTokens, one.limits, one, now);
      checkConcurrency(one.usage.running, one.limits.concurrentCalls, one);
    }
    add(all, { running: 1, requests: 1, tokens: limitTokens }, now);
    return { limits: toState(all, caller.limits, now) };
  }

  /**
   * Counts a call that Redis has admitted, and takes over the figures kept there.
   *
   * @param backlogs Those of {@link limitsOf} the call, in the same order.
   */
  countAdmitted(
    { caller, model, limitTokens }: AdmissionRequest,
    backlogs: readonly Backlogs[],
    now: number,
  ): LimitState {
    const all = this.#find(caller, model, now);
    add(all, { running: 1, requests: 1, tokens: limitTokens }, now);
    restore(all, backlogs, now);
    return toState(all, caller.limits, now);
  }

  restore(caller: Caller, model: string | undefined, backlogs: readonly Backlogs[], now: number): void {
    restore(this.#find(caller, model, now), backlogs, now);
  }

  check({ accountId, keyId, limits, keyLimits }: Caller, now: number): void {
    const account = this.#accounts.get(accountId);
    const ofKey = { requestsPerMinute: keyLimits?.requestsPerMinute };
    account?.keys?.get(keyId)?.rate.check(0, ofKey, { owner: "key" }, now);
    account?.rate.check(0, { requestsPerMinute: limits.requestsPerMinute }, { owner: "account" }, now);
  }

  opened(): void {}

  extend({ caller, model }: AdmissionRequest, moreTokens: number, now: number): undefined {
    add(this.#find(caller, model, now), { running: 0, requests: 0, tokens: moreTokens }, now);
  }

  release({ caller, model, limitTokens }: AdmissionRequest, now: number): void {
    add(this.#find(caller, model, now), { running: -1, requests: -1, tokens: -limitTokens }, now);
  }

  end(admission: AdmissionRequest, end: EndedCall, now: number): void {
    const tokens = additionalTokens(admission, end);
    add(this.#find(admission.caller, admission.model, now), { running: -1, requests: 0, tokens }, now);
  }

  state(caller: Caller, now: number, model?: string): LimitState {
    return toState(this.#find(caller, model, now), caller.limits, now);
  }

  running({ accountId, keyId }: Caller): RunningCalls {
    const account = this.#accounts.get(accountId);
    const key = account?.keys?.get(keyId);
    return { ofAccount: account === undefined ? 0 : account.running, ofKey: key === undefined ? 0 : key.running };
  }

  close(): void {}

  #find(caller: Caller, model: string | undefined, now: number, modelName?: string): UsedLimits[] {
    const account = this.#accounts.getOrMake(caller.accountId, now);
    return limitsOf(caller, model, modelName).map(({ owner, model, modelName, limits }) => {
      const ofAll = owner === "key" ? account.ofKey(caller.keyId, now) : account;
      return { owner, model, modelName, limits, usage: model === undefined ? ofAll : ofAll.ofModel(model, now) };
    });
  }
}

/** Adds to the usage, also beyond the limits; negative numbers reduce it. */
function add(all: readonly UsedLimits[], { running, requests, tokens }: Amounts, now: number): void {
  for (const { usage, limits } of all) {
    usage.running += running;
    usage.rate.add(requests, tokens, limits, now);
  }
}

function restore(all: readonly UsedLimits[], backlogs: readonly Backlogs[], now: number): void {
  for (const [at, { usage }] of all.entries()) usage.rate.restore(backlogs[at] as Backlogs, now);
}

/** The narrowest of the limits, beginning with the account's for all calls. */
function toState(all: readonly UsedLimits[], ofAccount: Limits, now: number): LimitState {
  return all.reduceRight<LimitState | undefined>((state, { usage: { rate }, limits }) => {
    return state === undefined ? rate.state(ofAccount, now) : rate.narrow(state, limits, now);
  }, undefined) as LimitState;
}

/** The concurrent calls of the account or of its key, whichever has less room. */
export function narrowerCalls({ limits, keyLimits }: Caller, { ofAccount, ofKey }: RunningCalls): CallsState {
  const account = { limit: limits.concurrentCalls, running: ofAccount };
  if (keyLimits?.concurrentCalls === undefined) return account;
  const key = { limit: keyLimits.concurrentCalls, running: ofKey };
  if (account.limit === undefined) return key;
  return key.limit - key.running <= account.limit - account.running ? key : account;
}

function checkConcurrency(running: number, callsMax: number | undefined, whose: LimitOwner): void {
  if (callsMax !== undefined && running >= callsMax) throw callsExceeded(callsMax, whose);
}

const minuteMs = 60_000;

/** Rounding errors in sums of fractions of a minute are smaller than this. */
const toleranceMs = 0.001;

/** Limits per minute; an absent one does not apply. */
type Rates = Pick<RateLimits, "requestsPerMinute" | "tokensPerMinute">;

/** The used part of limits per minute, as milliseconds until all of it is free again. */
export interface Backlogs {
  requestsMs: number;
  tokensMs: number;
}

/**
 * The requests and tokens per minute that calls have used, by GCRA: each unit adds its share of a minute to a backlog,
 * which drains in real time. The backlog is measured in time instead of units, so callers with different limits can
 * share it.
 */
class RateLimit {
  #requestsMs = 0;
  #tokensMs = 0;
  #drainedAt = 0;

  /** Replaces the backlogs with the backlogs stored elsewhere. */
  restore({ requestsMs, tokensMs }: Backlogs, now: number): void {
    this.#requestsMs = requestsMs;
    this.#tokensMs = tokensMs;
    this.#drainedAt = now;
  }

  /** @throws {GatewayError} `rate_limit_exceeded` when a call with this many tokens does not fit now. */
  check(tokens: number, { requestsPerMinute, tokensPerMinute }: Rates, whose: LimitOwner, now: number): void {
    this.#drain(now);
    if (requestsPerMinute !== undefined) {
      const waitMs = waitMsFor(this.#requestsMs, 1, requestsPerMinute);
      if (waitMs > 0) throw requestsExceeded(requestsPerMinute, waitMs, whose);
    }
    if (tokensPerMinute === undefined) return;
    const waitMs = waitMsFor(this.#tokensMs, tokens, tokensPerMinute);
    if (waitMs > 0) throw tokensExceeded({ limit: tokensPerMinute, limitTokens: tokens }, waitMs, whose);
  }

  /** Adds requests and tokens, also beyond the limit; negative numbers reduce the backlog. */
  add(requests: number, tokens: number, rates: Rates, now: number): void {
    this.#drain(now);
    const { requestsMs, tokensMs } = toBacklogs(requests, tokens, rates);
    if (requestsMs !== undefined) this.#requestsMs = Math.max(0, this.#requestsMs + requestsMs);
    if (tokensMs !== undefined) this.#tokensMs = Math.max(0, this.#tokensMs + tokensMs);
  }

  isEmpty(now: number): boolean {
    this.#drain(now);
    return this.#requestsMs === 0 && this.#tokensMs === 0;
  }

  state({ requestsPerMinute, tokensPerMinute }: Limits, now: number): LimitState {
    this.#drain(now);
    return {
      limitRequests: requestsPerMinute,
      remainingRequests: remainingUnits(this.#requestsMs, requestsPerMinute),
      resetRequestsMs: this.#requestsMs,
      limitTokens: tokensPerMinute,
      remainingTokens: remainingUnits(this.#tokensMs, tokensPerMinute),
      resetTokensMs: this.#tokensMs,
    };
  }

  /** Limits of wider owners, each replaced by this one if less is left of it. */
  narrow(wider: LimitState, { requestsPerMinute, tokensPerMinute }: Rates, now: number): LimitState {
    this.#drain(now);
    const narrowed = { ...wider };
    if (requestsPerMinute !== undefined) {
      const remaining = remainingUnits(this.#requestsMs, requestsPerMinute);
      if (remaining <= wider.remainingRequests) {
        narrowed.limitRequests = requestsPerMinute;
        narrowed.remainingRequests = remaining;
        narrowed.resetRequestsMs = this.#requestsMs;
      }
    }
    if (tokensPerMinute !== undefined) {
      const remaining = remainingUnits(this.#tokensMs, tokensPerMinute);
      if (remaining <= wider.remainingTokens) {
        narrowed.limitTokens = tokensPerMinute;
        narrowed.remainingTokens = remaining;
        narrowed.resetTokensMs = this.#tokensMs;
      }
    }
    return narrowed;
  }

  /** When the clock steps back, nothing drains, and draining continues from the new time. */
  #drain(now: number): void {
    const elapsedMs = now - this.#drainedAt;
    if (elapsedMs > 0) {
      this.#requestsMs = Math.max(0, this.#requestsMs - elapsedMs);
      this.#tokensMs = Math.max(0, this.#tokensMs - elapsedMs);
    }
    this.#drainedAt = now;
  }
}

/** Additions of requests and tokens to the backlogs; `undefined` without a limit. */
export function toBacklogs(
  requests: number,
  tokens: number,
  { requestsPerMinute, tokensPerMinute }: Rates,
): { requestsMs: number | undefined; tokensMs: number | undefined } {
  return {
    requestsMs: requestsPerMinute === undefined ? undefined : (requests * minuteMs) / requestsPerMinute,
    tokensMs: tokensPerMinute === undefined ? undefined : (tokens * minuteMs) / tokensPerMinute,
  };
}

/** Milliseconds until `units` fit; 0 when they fit now. Units beyond the limit fit when nothing is used. */
function waitMsFor(backlogMs: number, units: number, limit: number): number {
  const waitMs = backlogMs + (Math.min(units, limit) * minuteMs) / limit - minuteMs;
  return waitMs <= toleranceMs ? 0 : waitMs;
}

/** Whole units that fit now. */
function remainingUnits(backlogMs: number, limit: number): number {
  const units = Math.floor(((minuteMs - backlogMs + toleranceMs) * limit) / minuteMs);
  return Math.min(limit, Math.max(0, units));
}
