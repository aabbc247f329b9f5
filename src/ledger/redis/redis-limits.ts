import { clearInterval, setInterval } from "node:timers";
import { type AdmissionRequest, type Caller, GatewayError, type LimitState } from "../../contract/index.ts";
import { type EndedCall, type HoldAmounts, type OpenCall, type Store, startOfDay } from "../../db/index.ts";
import { accountNotRead, additionalTokens } from "../holds.ts";
import { callsExceeded, quotaExceeded, requestsExceeded, tokensExceeded } from "../limit-errors.ts";
import {
  type Backlogs,
  type CallLimits,
  type LimitReservation,
  ProcessLimits,
  type RunningCalls,
  toBacklogs,
} from "../limits.ts";
import { RedisConnection } from "./redis-connection.ts";

/** Options of {@link openRedisLimits}. */
export interface RedisLimitsOptions {
  /** That the nodes share; SQL's sums of what quotas were drawn are the truth. */
  store: Store;
  /** `redis://user:password@host:port/number`, or `rediss:` for TLS; nodes of a cluster by comma. */
  url: string;
  /** Milliseconds since 1970; absent: the clock of Redis for what is kept there, the system's for the rest. */
  now?: (() => number) | undefined;
  /** Milliseconds after which a call that its node no longer renews stops counting; default 30 000. */
  leaseMs?: number;
  /** How long one answer of Redis may take; default 80. */
  answerMsMax?: number;
  /** Accounts kept in memory, for while Redis is away; default 20 000. */
  accountsMax?: number;
  /** Called when Redis goes down or comes back. */
  report?: (event: string, fields: Record<string, unknown>) => void;
}

/** Limits that several nodes share. */
export interface RedisLimits extends CallLimits {
  /** Sentences about what is worse than it should be while calls are served; empty when all is well. */
  problems(): string[];
}

const leaseMsDefault = 30_000;
/** Keeps the whole call overhead below a quarter of a second. */
const answerMsMaxDefault = 80;
const accountsMaxDefault = 20_000;
/** Redis does nothing else meanwhile, so no script takes longer than a millisecond or two. */
const callsPerRenewal = 200;
/** Renewals under way at once, so that no answer has to wait for many others. */
const renewalsAtOnce = 32;

/** Connects, and begins to renew the calls that run here. */
export async function connectRedisLimits(options: RedisLimitsOptions): Promise<RedisLimits> {
  const identity = await options.store.setting("ledger_id", () => crypto.randomUUID().slice(0, 8));
  const limits = new RedisCallLimits(options, `modelgate:${identity}:limits:`);
  await limits.start();
  return limits;
}

/**
 * Limits that all nodes count in Redis. While Redis is down each node counts alone from its last known state, and the
 * database decides about the free quota. A call that runs is renewed there by its node, so that those of a dead one soon count
 * no more; what Redis loses only loosens limits until then.
 */
class RedisCallLimits implements RedisLimits {
  readonly #store: Store;
  readonly #now: (() => number) | undefined;
  readonly #leaseMs: number;
  readonly #prefix: string;
  readonly #report: NonNullable<RedisLimitsOptions["report"]>;
  readonly #connection: RedisConnection;
  /** All calls of this node are counted here too. */
  readonly #localLimits: ProcessLimits;
  readonly #running = new Map<string, OpenCall>();
  /** SQL's sums of accounts that are being read. */
  readonly #loading = new Map<string, Promise<string[]>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: RedisLimitsOptions, prefix: string) {
    const { store, url, now, leaseMs = leaseMsDefault, report = () => undefined } = options;
    this.#store = store;
    this.#now = now;
    this.#leaseMs = leaseMs;
    this.#prefix = prefix;
    this.#report = report;
    this.#localLimits = new ProcessLimits(options.accountsMax ?? accountsMaxDefault);
    this.#connection = new RedisConnection({
      url,
      answerMsMax: options.answerMsMax ?? answerMsMaxDefault,
      onDown: (error) => report("redis_down", { error }),
      onRecovered: async () => {
        await this.#renew();
        report("redis_up", {});
      },
    });
    this.#timer = setInterval(() => {
      // A failure is the connection's to tell.
      if (this.#connection.isHealthy) this.#renew().catch(() => undefined);
    }, leaseMs / 3);
    this.#timer.unref();
  }

  async start(): Promise<void> {
    try {
      await this.#connection.start();
    } catch (error) {
      clearInterval(this.#timer);
      throw error;
    }
    if (!this.#connection.isHealthy) this.#report("redis_down", { error: this.#connection.reason });
  }

  async take(admission: AdmissionRequest, now: number): Promise<LimitReservation> {
    if (this.#connection.isHealthy) {
      try {
        return await this.#takeShared(admission, now);
      } catch (error) {
        // Any other error has already marked Redis as unhealthy.
        if (error instanceof GatewayError) throw error;
      }
    }
    return this.#localLimits.take(admission, now);
  }

  /** Decides by what this node knows: a request to Redis would cost each call a round trip. */
  check(caller: Caller, now: number): void {
    this.#localLimits.check(caller, now);
  }

  opened(open: OpenCall): void {
    this.#running.set(open.callId, open);
  }

  extend(admission: AdmissionRequest, moreTokens: number, now: number): undefined | Promise<HoldAmounts | undefined> {
    this.#localLimits.extend(admission, moreTokens, now);
    if (!this.#connection.isHealthy) return undefined;
    const extended = this.#extendShared(admission, moreTokens, now);
    // The tokens of a premium call are only counted, and nothing waits for that.
    return admission.premium ? undefined : extended;
  }

  async release(admission: AdmissionRequest, now: number): Promise<void> {
    this.#localLimits.release(admission, now);
    await this.#settle(admission, ["-1", "0"], [-1, -admission.limitTokens]);
  }

  async end(admission: AdmissionRequest, end: EndedCall, now: number): Promise<void> {
    const { callId, quotaDay } = end.open;
    this.#running.delete(callId);
    this.#localLimits.end(admission, end, now);
    const drawn = quotaDay === null ? ["-1", "0"] : [String(quotaDay), String(end.quotaTokens)];
    await this.#settle(admission, drawn, [0, additionalTokens(admission, end)]);
  }

  async state(caller: Caller, now: number): Promise<LimitState> {
    const reply = await this.#read(caller, ["rate", `rate ${caller.keyId}`]);
    if (reply !== undefined)
      this.#localLimits.restore(caller, readBacklogs(reply[0], now), readBacklogs(reply[1], now), now);
    return this.#localLimits.state(caller, now);
  }

  async running(caller: Caller): Promise<RunningCalls> {
    const reply = await this.#read(caller, ["running", `running ${caller.keyId}`]);
    if (reply === undefined) return this.#localLimits.running(caller);
    return { ofAccount: Number(reply[0] ?? 0), ofKey: Number(reply[1] ?? 0) };
  }

  problems(): string[] {
    if (this.#connection.isHealthy) return [];
    const { message } = this.#connection.reason;
    return [
      `Redis cannot be used (${message}): each gateway enforces rate limits by itself, and the free quota is computed from PostgreSQL`,
    ];
  }

  close(): void {
    clearInterval(this.#timer);
    this.#connection.close();
  }

  async #takeShared(admission: AdmissionRequest, now: number): Promise<LimitReservation> {
    const { accountId } = admission.caller;
    const key = this.#keyOf(accountId);
    const args = [this.#time(), ...toAdmitArguments(admission, this.#leaseMs)];
    let answer = await this.#connection.run("admit", key, [...args, "", ""]);
    if (answer[0] === "load") {
      answer = await this.#connection.run("admit", key, [...args, ...(await this.#load(accountId))]);
    }
    if (answer[0] !== "ok") throw toLimitError(answer, admission, now);
    const [hold, day, available, ...backlogs] = answer.slice(1).map(Number) as [number, number, number, ...number[]];
    const [requestsMs, tokensMs, keyRequestsMs = 0, keyTokensMs = 0] = backlogs as [number, number, ...number[]];
    const ofKey = { requestsMs: keyRequestsMs, tokensMs: keyTokensMs };
    const limits = this.#localLimits.countAdmitted(admission, { requestsMs, tokensMs }, ofKey, now);
    if (admission.premium) return { limits };
    return { limits, quota: { ...toQuotaHold(hold, day), available } };
  }

  /** Undefined if Redis cannot decide. */
  async #extendShared(admission: AdmissionRequest, moreTokens: number, now: number): Promise<HoldAmounts | undefined> {
    const key = this.#keyOf(admission.caller.accountId);
    const args = [this.#time(), ...toExtendArguments(admission, moreTokens)];
    const answer = await this.#connection.run("extend", key, args).catch(() => ["unknown"]);
    if (answer[0] === "unknown") return undefined;
    if (answer[0] !== "ok") throw toLimitError(answer, admission, now);
    return toQuotaHold(Number(answer[1]), Number(answer[2]));
  }

  /** The latest day whose quota was drawn on, and how much; those who want the same meanwhile get the same answer. */
  #load(accountId: string): Promise<string[]> {
    let loading = this.#loading.get(accountId);
    if (loading === undefined) {
      loading = this.#readQuota(accountId).finally(() => this.#loading.delete(accountId));
      this.#loading.set(accountId, loading);
    }
    return loading;
  }

  async #readQuota(accountId: string): Promise<string[]> {
    try {
      const { quotaDay, usedTokens } = await this.#store.readBalance(accountId);
      return [String(quotaDay ?? 0), String(usedTokens)];
    } catch (error) {
      throw accountNotRead(error);
    }
  }

  /** `drawn` names a day and its tokens, `more` what came beside what was counted at admission. */
  async #settle(admission: AdmissionRequest, drawn: string[], [requests, tokens]: [number, number]): Promise<void> {
    if (!this.#connection.isHealthy) return;
    const args = [this.#time(), admission.callId, ...drawn, ...toAddedArguments(admission, requests, tokens)];
    // If this fails, the call counts in Redis until its lease ends; SQL has its usage.
    await this.#connection.run("settle", this.#keyOf(admission.caller.accountId), args).catch(() => undefined);
  }

  /** Renews all running calls of this node. */
  async #renew(): Promise<void> {
    const renewals: { accountId: string; calls: OpenCall[] }[] = [];
    for (const [accountId, calls] of Map.groupBy(this.#running.values(), (open) => open.accountId)) {
      for (let at = 0; at < calls.length; at += callsPerRenewal) {
        renewals.push({ accountId, calls: calls.slice(at, at + callsPerRenewal) });
      }
    }
    for (let at = 0; at < renewals.length; at += renewalsAtOnce) {
      await Promise.all(renewals.slice(at, at + renewalsAtOnce).map((renewal) => this.#renewCalls(renewal)));
    }
  }

  async #renewCalls({ accountId, calls }: { accountId: string; calls: OpenCall[] }): Promise<void> {
    // Some may have ended since.
    const running = calls.filter(({ callId }) => this.#running.has(callId));
    const args = running.flatMap(({ callId, keyId, quotaDay, holdTokens }) => {
      return [callId, keyId, String(quotaDay ?? -1), String(holdTokens)];
    });
    if (running.length === 0) return;
    await this.#connection.run("renew", this.#keyOf(accountId), [this.#time(), String(this.#leaseMs), ...args]);
  }

  /** Absent while Redis cannot be used. */
  async #read({ accountId }: Caller, fields: string[]): Promise<(string | null)[] | undefined> {
    if (!this.#connection.isHealthy) return undefined;
    return this.#connection.read(this.#keyOf(accountId), fields).catch(() => undefined);
  }

  #time(): string {
    return this.#now === undefined ? "" : String(this.#now());
  }

  /** In braces what Redis Cluster hashes. */
  #keyOf(accountId: string): string {
    return `${this.#prefix}{${accountId}}`;
  }
}

/** The arguments of `admit` after the time. */
function toAdmitArguments(admission: AdmissionRequest, leaseMs: number): string[] {
  const { limits, keyLimits, keyId } = admission.caller;
  const ofAccount = toBacklogs(1, admission.limitTokens, limits);
  const ofKey = toBacklogs(1, admission.limitTokens, keyLimits ?? {});
  return [
    admission.callId,
    String(leaseMs),
    keyId,
    ...[ofAccount.requestsMs, ofAccount.tokensMs, limits.concurrentCalls].map(toArgument),
    ...[ofKey.requestsMs, ofKey.tokensMs, keyLimits?.concurrentCalls].map(toArgument),
    ...toQuotaArguments(admission),
  ];
}

/** The arguments of `extend` after the time. */
function toExtendArguments(admission: AdmissionRequest, moreTokens: number): string[] {
  const { limits, keyLimits, keyId } = admission.caller;
  return [
    admission.callId,
    toArgument(toBacklogs(0, moreTokens, limits).tokensMs),
    keyId,
    toArgument(toBacklogs(0, moreTokens, keyLimits ?? {}).tokensMs),
    ...toQuotaArguments(admission),
  ];
}

/** What `settle` adds to the rate limits of the account and of the key. */
function toAddedArguments({ caller }: AdmissionRequest, requests: number, tokens: number): string[] {
  const ofAccount = toBacklogs(requests, tokens, caller.limits);
  const ofKey = toBacklogs(requests, tokens, caller.keyLimits ?? {});
  return [
    ...[ofAccount.requestsMs, ofAccount.tokensMs].map(toArgument),
    caller.keyId,
    ...[ofKey.requestsMs, ofKey.tokensMs].map(toArgument),
  ];
}

/** What a call draws from the free quota; empty for a premium call. */
function toQuotaArguments({ premium, holdTokens, minTokens, caller }: AdmissionRequest): string[] {
  return premium ? ["", "", ""] : [holdTokens, minTokens, caller.freeTokensPerDay].map(toArgument);
}

function toArgument(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function toQuotaHold(holdTokens: number, quotaDay: number): HoldAmounts {
  return { quotaDay, holdNanodollars: 0, holdTokens, periodStart: null };
}

/** Why the script refused a call, as the caller is told. */
function toLimitError([limit, ...words]: string[], admission: AdmissionRequest, now: number): Error {
  const { limits, keyLimits, freeTokensPerDay } = admission.caller;
  const owner = words[0] === "key" ? "key" : "account";
  const bounds = owner === "key" ? (keyLimits ?? limits) : limits;
  const waitMs = Number(words[1]);
  switch (limit) {
    case "requests":
      return requestsExceeded(bounds.requestsPerMinute as number, waitMs, owner);
    case "tokens": {
      const tokens = { limit: bounds.tokensPerMinute as number, limitTokens: admission.limitTokens };
      return tokensExceeded(tokens, waitMs, owner);
    }
    case "calls":
      return callsExceeded(bounds.concurrentCalls as number, owner);
    case "quota": {
      const [usedTokens, heldTokens, day] = words.map(Number) as [number, number, number];
      const quota = { limitTokens: freeTokensPerDay, usedTokens, heldTokens, resetsAt: startOfDay(day + 1) };
      return quotaExceeded(admission, quota, now);
    }
    default:
      return new Error(`Redis answered ${limit} to an admission`);
  }
}

/** What a field `rate` has left by now; where Redis's clock differs from this one's it is off by as much. */
function readBacklogs(field: string | null | undefined, now: number): Backlogs {
  const [requestsMs, tokensMs, drainedAt] = (field ?? "0 0 0").split(" ").map(Number) as [number, number, number];
  const elapsedMs = Math.max(0, now - drainedAt);
  return { requestsMs: Math.max(0, requestsMs - elapsedMs), tokensMs: Math.max(0, tokensMs - elapsedMs) };
}
