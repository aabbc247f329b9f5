import type { AdmissionRequest, Caller, CallsState, LimitState } from "../contract/index.ts";
import type { CallEnded, CallOpened } from "../db/index.ts";
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
  take(admission: AdmissionRequest, now: number): Counted | Promise<Counted>;
  /** The hold of a call is written. */
  opened(open: CallOpened): void;
  /** Counts a call out as if it had never come. */
  undo(admission: AdmissionRequest, now: number): void | Promise<void>;
  /** The end of a call is written. */
  end(admission: AdmissionRequest, end: CallEnded, now: number): void | Promise<void>;
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

  take(admission: AdmissionRequest, now: number): Counted {
    const { limits, keyLimits } = admission.caller;
    const account = this.#accounts.getOrMake(admission.caller.accountId, now);
    const key = keyLimits === undefined ? undefined : keyOf(account, admission.caller.keyId, now);
    if (key !== undefined && keyLimits !== undefined) {
      key.rate.check(admission.limitTokens, keyLimits, "key", now);
      expectRoom(key.running, keyLimits.concurrentCalls, "key");
    }
    account.rate.check(admission.limitTokens, limits, "account", now);
    expectRoom(account.running, limits.concurrentCalls, "account");
    this.#count(admission, 1, now);
    return { limits: this.state(admission.caller, now) };
  }

  /** Counts a call in that others have judged, and takes over what they keep. */
  takeJudged(admission: AdmissionRequest, ofAccount: Backlogs, ofKey: Backlogs, now: number): LimitState {
    this.#count(admission, 1, now);
    this.restore(admission.caller, ofAccount, ofKey, now);
    return this.state(admission.caller, now);
  }

  restore({ accountId, keyId, keyLimits }: Caller, ofAccount: Backlogs, ofKey: Backlogs, now: number): void {
    const account = this.#accounts.getOrMake(accountId, now);
    account.rate.restore(ofAccount, now);
    if (keyLimits !== undefined) keyOf(account, keyId, now).rate.restore(ofKey, now);
  }

  opened(): void {}

  undo(admission: AdmissionRequest, now: number): void {
    this.#count(admission, -1, now);
  }

  end(admission: AdmissionRequest, end: CallEnded, now: number): void {
    const { accountId, keyId, limits, keyLimits } = admission.caller;
    const account = this.#accounts.getOrMake(accountId, now);
    const laterTokens = laterTokensOf(admission, end);
    account.running -= 1;
    account.rate.add(0, laterTokens, limits, now);
    if (keyLimits === undefined) return;
    const key = keyOf(account, keyId, now);
    key.running -= 1;
    key.rate.add(0, laterTokens, keyLimits, now);
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
    const { accountId, keyId, limits, keyLimits } = caller;
    const account = this.#accounts.getOrMake(accountId, now);
    account.running += calls;
    account.rate.add(calls, calls * limitTokens, limits, now);
    if (keyLimits === undefined) return;
    const key = keyOf(account, keyId, now);
    key.running += calls;
    key.rate.add(calls, calls * limitTokens, keyLimits, now);
  }
}

/** Of the calls of an account and of its key with a bound of its own, those of which fewer may still begin. */
export function narrowerCalls({ limits, keyLimits }: Caller, { ofAccount, ofKey }: RunningCalls): CallsState {
  const account = { limit: limits.concurrentCalls, running: ofAccount };
  if (keyLimits?.concurrentCalls === undefined) return account;
  const key = { limit: keyLimits.concurrentCalls, running: ofKey };
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
