import type { Caller, CallsState, Claim, LimitState } from "../contract/index.ts";
import type { EndWrite, OpenWrite } from "../db/index.ts";
import { type Held, laterTokensOf } from "./call-record.ts";
import { IdleMap } from "./idle-map.ts";
import { callsExceeded } from "./limit-errors.ts";
import { type Backlogs, RateLimit } from "./rate-limit.ts";

/** What a call that was counted in has left of its limits. */
export interface Counted {
  limits: LimitState;
  /** What it holds of the daily free quota, where these limits judge that too; absent: the database does. */
  quota?: Held | undefined;
}

/** How many calls run, of an account and of one of its keys. */
export interface RunningCalls {
  ofAccount: number;
  ofKey: number;
}

/** All that limits a call beside money: rates per minute, calls at once and, where nodes share them, the free quota. */
export interface CallLimits {
  /**
   * Counts a call in.
   *
   * @throws {GatewayError} Naming the one limit that blocks; nothing is counted then.
   */
  take(claim: Claim, now: number): Counted | Promise<Counted>;
  /** The hold of a call is written. */
  opened(open: OpenWrite): void;
  /** Counts a call out as if it had never come. */
  undo(claim: Claim, now: number): void | Promise<void>;
  /** The end of a call is written. */
  end(claim: Claim, end: EndWrite, now: number): void | Promise<void>;
  state(caller: Caller, now: number): LimitState | Promise<LimitState>;
  running(caller: Caller): RunningCalls | Promise<RunningCalls>;
  close(): void;
}

/** Keys of an account beside which idle ones are forgotten. */
const keysMax = 1000;

/** What an account, or a key with limits of its own, uses. */
class Use {
  readonly rate = new RateLimit();
  running = 0;
  keys: IdleMap<Use> | undefined;

  isIdle(now: number): boolean {
    return this.running === 0 && this.rate.isEmpty(now) && this.keys?.isIdle(now) !== false;
  }
}

/** The limits of one process. Each method runs in one go, which is what makes counting in atomic. */
export class ProcessLimits implements CallLimits {
  readonly #accounts: IdleMap<Use>;

  constructor(accountsMax: number) {
    this.#accounts = new IdleMap(accountsMax, () => new Use());
  }

  take(claim: Claim, now: number): Counted {
    const { limits, own } = claim.caller;
    const account = this.#accounts.getOrMake(claim.caller.accountId, now);
    const key = own === undefined ? undefined : keyOf(account, claim.caller.keyId, now);
    if (key !== undefined && own !== undefined) {
      key.rate.check(claim.limitTokens, own, "key", now);
      expectRoom(key.running, own.concurrentCalls, "key");
    }
    account.rate.check(claim.limitTokens, limits, "account", now);
    expectRoom(account.running, limits.concurrentCalls, "account");
    this.#count(claim, 1, now);
    return { limits: this.state(claim.caller, now) };
  }

  /** Counts a call in that others have judged, and takes over what they keep. */
  takeJudged(claim: Claim, ofAccount: Backlogs, ofKey: Backlogs, now: number): LimitState {
    this.#count(claim, 1, now);
    this.restore(claim.caller, ofAccount, ofKey, now);
    return this.state(claim.caller, now);
  }

  restore({ accountId, keyId, own }: Caller, ofAccount: Backlogs, ofKey: Backlogs, now: number): void {
    const account = this.#accounts.getOrMake(accountId, now);
    account.rate.restore(ofAccount, now);
    if (own !== undefined) keyOf(account, keyId, now).rate.restore(ofKey, now);
  }

  opened(): void {}

  undo(claim: Claim, now: number): void {
    this.#count(claim, -1, now);
  }

  end(claim: Claim, end: EndWrite, now: number): void {
    const { accountId, keyId, limits, own } = claim.caller;
    const account = this.#accounts.getOrMake(accountId, now);
    const laterTokens = laterTokensOf(claim, end);
    account.running -= 1;
    account.rate.add(0, laterTokens, limits, now);
    if (own === undefined) return;
    const key = keyOf(account, keyId, now);
    key.running -= 1;
    key.rate.add(0, laterTokens, own, now);
  }

  state({ accountId, keyId, limits, own }: Caller, now: number): LimitState {
    const account = this.#accounts.getOrMake(accountId, now);
    const state = account.rate.state(limits, now);
    return own === undefined ? state : keyOf(account, keyId, now).rate.narrow(state, own, now);
  }

  running({ accountId, keyId }: Caller): RunningCalls {
    const account = this.#accounts.get(accountId);
    const key = account?.keys?.get(keyId);
    return { ofAccount: account === undefined ? 0 : account.running, ofKey: key === undefined ? 0 : key.running };
  }

  close(): void {}

  #count({ caller, limitTokens }: Claim, calls: 1 | -1, now: number): void {
    const { accountId, keyId, limits, own } = caller;
    const account = this.#accounts.getOrMake(accountId, now);
    account.running += calls;
    account.rate.add(calls, calls * limitTokens, limits, now);
    if (own === undefined) return;
    const key = keyOf(account, keyId, now);
    key.running += calls;
    key.rate.add(calls, calls * limitTokens, own, now);
  }
}

/** Of the calls of an account and of its key with a bound of its own, those of which fewer may still begin. */
export function narrowerCalls({ limits, own }: Caller, { ofAccount, ofKey }: RunningCalls): CallsState {
  const account = { limit: limits.concurrentCalls, running: ofAccount };
  if (own?.concurrentCalls === undefined) return account;
  const key = { limit: own.concurrentCalls, running: ofKey };
  if (account.limit === undefined) return key;
  return key.limit - key.running <= account.limit - account.running ? key : account;
}

function keyOf(account: Use, keyId: string, now: number): Use {
  account.keys ??= new IdleMap(keysMax, () => new Use());
  return account.keys.getOrMake(keyId, now);
}

function expectRoom(running: number, callsMax: number | undefined, owner: "account" | "key"): void {
  if (callsMax !== undefined && running >= callsMax) throw callsExceeded(callsMax, owner);
}
