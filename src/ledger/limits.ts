import type { AdmissionRequest, Caller, CallsState, KeyLimits, LimitState, Limits } from "../contract/index.ts";
import type { EndedCall, GrantedHold, HoldAmounts, OpenCall } from "../db/index.ts";
import { additionalTokens } from "./holds.ts";
import { IdleMap } from "./idle-map.ts";
import { callsExceeded, requestsExceeded, tokensExceeded } from "./limit-errors.ts";

/** What a call that was counted in has left of its limits. */
export interface LimitReservation {
  limits: LimitState;
  /** Its hold on the daily free quota; undefined if the database decides about that. */
  quota?: GrantedHold | undefined;
}

/** How many calls run, of an account and of one of its keys. */
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
  opened(open: OpenCall): void;
  /**
   * Counts more tokens of a running call, and decides what else it holds of the free quota.
   *
   * @returns Its hold on the quota; undefined where the database decides about that.
   * @throws {GatewayError} `quota_exceeded`
   */
  extend(admission: AdmissionRequest, moreTokens: number, now: number): undefined | Promise<HoldAmounts | undefined>;
  /** Counts a call out as if it had never come. */
  release(admission: AdmissionRequest, now: number): void | Promise<void>;
  /** The end of a call is written. */
  end(admission: AdmissionRequest, end: EndedCall, now: number): void | Promise<void>;
  state(caller: Caller, now: number): LimitState | Promise<LimitState>;
  running(caller: Caller): RunningCalls | Promise<RunningCalls>;
  close(): void;
}

/** What is added to what an account and its key use. */
interface Amounts {
  running: number;
  requests: number;
  tokens: number;
}

/** Keys per account above which idle ones are evicted. */
const keysMax = 1000;

/** What an account, or a key with limits of its own, uses. */
class LimitUsage {
  readonly rate = new RateLimit();
  running = 0;
  keys: IdleMap<LimitUsage> | undefined;

  isIdle(now: number): boolean {
    return this.running === 0 && this.rate.isEmpty(now) && this.keys?.isIdle(now) !== false;
  }
}

/** The limits of one process. Each method runs in one go, which is what makes counting in atomic. */
export class ProcessLimits implements CallLimits {
  readonly #accounts: IdleMap<LimitUsage>;

  constructor(accountsMax: number) {
    this.#accounts = new IdleMap(accountsMax, () => new LimitUsage());
  }

  take(admission: AdmissionRequest, now: number): LimitReservation {
    const { limits, keyLimits } = admission.caller;
    const account = this.#accounts.getOrMake(admission.caller.accountId, now);
    const key = keyLimits === undefined ? undefined : keyOf(account, admission.caller.keyId, now);
    if (key !== undefined && keyLimits !== undefined) {
      key.rate.check(admission.limitTokens, keyLimits, "key", now);
      checkConcurrency(key.running, keyLimits.concurrentCalls, "key");
    }
    account.rate.check(admission.limitTokens, limits, "account", now);
    checkConcurrency(account.running, limits.concurrentCalls, "account");
    this.#count(admission, 1, now);
    return { limits: this.state(admission.caller, now) };
  }

  /** Counts a call that Redis has admitted, and takes over the figures kept there. */
  countAdmitted(admission: AdmissionRequest, ofAccount: Backlogs, ofKey: Backlogs, now: number): LimitState {
    this.#count(admission, 1, now);
    this.restore(admission.caller, ofAccount, ofKey, now);
    return this.state(admission.caller, now);
  }

  restore({ accountId, keyId, keyLimits }: Caller, ofAccount: Backlogs, ofKey: Backlogs, now: number): void {
    const account = this.#accounts.getOrMake(accountId, now);
    account.rate.restore(ofAccount, now);
    if (keyLimits !== undefined) keyOf(account, keyId, now).rate.restore(ofKey, now);
  }

  check({ accountId, keyId, limits, keyLimits }: Caller, now: number): void {
    const account = this.#accounts.get(accountId);
    const ofKey = { requestsPerMinute: keyLimits?.requestsPerMinute };
    account?.keys?.get(keyId)?.rate.check(0, ofKey, "key", now);
    account?.rate.check(0, { requestsPerMinute: limits.requestsPerMinute }, "account", now);
  }

  opened(): void {}

  extend({ caller }: AdmissionRequest, moreTokens: number, now: number): undefined {
    this.#add(caller, { running: 0, requests: 0, tokens: moreTokens }, now);
  }

  release(admission: AdmissionRequest, now: number): void {
    this.#count(admission, -1, now);
  }

  end(admission: AdmissionRequest, end: EndedCall, now: number): void {
    this.#add(admission.caller, { running: -1, requests: 0, tokens: additionalTokens(admission, end) }, now);
  }

  state({ accountId, keyId, limits, keyLimits }: Caller, now: number): LimitState {
    const account = this.#accounts.getOrMake(accountId, now);
    const state = account.rate.state(limits, now);
    return keyLimits === undefined ? state : keyOf(account, keyId, now).rate.narrow(state, keyLimits, now);
  }

  running({ accountId, keyId }: Caller): RunningCalls {
    const account = this.#accounts.get(accountId);
    const key = account?.keys?.get(keyId);
    return { ofAccount: account === undefined ? 0 : account.running, ofKey: key === undefined ? 0 : key.running };
  }

  close(): void {}

  #count({ caller, limitTokens }: AdmissionRequest, calls: 1 | -1, now: number): void {
    this.#add(caller, { running: calls, requests: calls, tokens: calls * limitTokens }, now);
  }

  #add(caller: Caller, { running, requests, tokens }: Amounts, now: number): void {
    const { accountId, keyId, limits, keyLimits } = caller;
    const account = this.#accounts.getOrMake(accountId, now);
    account.running += running;
    account.rate.add(requests, tokens, limits, now);
    if (keyLimits === undefined) return;
    const key = keyOf(account, keyId, now);
    key.running += running;
    key.rate.add(requests, tokens, keyLimits, now);
  }
}

/** The concurrent calls of the account or of its key, whichever has fewer left. */
export function narrowerCalls({ limits, keyLimits }: Caller, { ofAccount, ofKey }: RunningCalls): CallsState {
  const account = { limit: limits.concurrentCalls, running: ofAccount };
  if (keyLimits?.concurrentCalls === undefined) return account;
  const key = { limit: keyLimits.concurrentCalls, running: ofKey };
  if (account.limit === undefined) return key;
  return key.limit - key.running <= account.limit - account.running ? key : account;
}

function keyOf(account: LimitUsage, keyId: string, now: number): LimitUsage {
  account.keys ??= new IdleMap(keysMax, () => new LimitUsage());
  return account.keys.getOrMake(keyId, now);
}

function checkConcurrency(running: number, callsMax: number | undefined, owner: "account" | "key"): void {
  if (callsMax !== undefined && running >= callsMax) throw callsExceeded(callsMax, owner);
}

const minuteMs = 60_000;

/** Rounding errors in sums of fractions of a minute are smaller than this. */
const toleranceMs = 0.001;

/** Limits per minute of an account or of one of its keys; an absent one does not apply. */
export type Rates = Pick<KeyLimits, "requestsPerMinute" | "tokensPerMinute">;

/** The used part of limits per minute, as milliseconds until all of it is free again. */
export interface Backlogs {
  requestsMs: number;
  tokensMs: number;
}

/**
 * The requests and tokens per minute that an account or one of its keys has used, by GCRA: each unit adds its share of a
 * minute to a backlog, which drains in real time. The backlog is measured in time instead of units, so that callers with
 * different limits can share it.
 */
class RateLimit {
  #requestsMs = 0;
  #tokensMs = 0;
  #drainedAt = 0;

  /** Replaces the backlogs by those that are stored elsewhere. */
  restore({ requestsMs, tokensMs }: Backlogs, now: number): void {
    this.#requestsMs = requestsMs;
    this.#tokensMs = tokensMs;
    this.#drainedAt = now;
  }

  /** @throws {GatewayError} `rate_limit_exceeded` when a call with this many tokens does not fit now. */
  check(tokens: number, { requestsPerMinute, tokensPerMinute }: Rates, owner: "account" | "key", now: number): void {
    this.#drain(now);
    if (requestsPerMinute !== undefined) {
      const waitMs = waitMsFor(this.#requestsMs, 1, requestsPerMinute);
      if (waitMs > 0) throw requestsExceeded(requestsPerMinute, waitMs, owner);
    }
    if (tokensPerMinute === undefined) return;
    const waitMs = waitMsFor(this.#tokensMs, tokens, tokensPerMinute);
    if (waitMs > 0) throw tokensExceeded({ limit: tokensPerMinute, limitTokens: tokens }, waitMs, owner);
  }

  /** Adds requests and tokens, also beyond the limit; negative numbers are returned to it. */
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

  /** The limits of an account, each replaced by the one of its key if less is left of that. */
  narrow(account: LimitState, { requestsPerMinute, tokensPerMinute }: Rates, now: number): LimitState {
    this.#drain(now);
    const narrowed = { ...account };
    if (requestsPerMinute !== undefined) {
      const remaining = remainingUnits(this.#requestsMs, requestsPerMinute);
      if (remaining <= account.remainingRequests) {
        narrowed.limitRequests = requestsPerMinute;
        narrowed.remainingRequests = remaining;
        narrowed.resetRequestsMs = this.#requestsMs;
      }
    }
    if (tokensPerMinute !== undefined) {
      const remaining = remainingUnits(this.#tokensMs, tokensPerMinute);
      if (remaining <= account.remainingTokens) {
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

/** What requests and tokens add to the backlogs; `undefined` without a limit. */
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
