import { clearInterval, setInterval } from "node:timers";
import { type AdmissionRequest, type Caller, GatewayError, type LimitState } from "../../contract/index.ts";
import type { CallEnded, CallOpened, Store } from "../../db/index.ts";
import { type LimitReservation, ProcessLimits, type RunningCalls } from "../call-limits.ts";
import { additionalTokens, type Held } from "../call-record.ts";
import { accountNotRead } from "../embedded-holds.ts";
import { RedisConnection } from "./redis-connection.ts";
import type { RedisLimits, RedisLimitsOptions } from "./redis-limits-options.ts";
import {
  readBacklogs,
  toAddedArguments,
  toAdmitArguments,
  toExtendArguments,
  toHeld,
  toLimitError,
} from "./script-arguments.ts";

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
  readonly #running = new Map<string, CallOpened>();
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

  opened(open: CallOpened): void {
    this.#running.set(open.callId, open);
  }

  extend(admission: AdmissionRequest, moreTokens: number, now: number): undefined | Promise<Held | undefined> {
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

  async end(admission: AdmissionRequest, end: CallEnded, now: number): Promise<void> {
    const { callId, quotaDay } = end.open;
    this.#running.delete(callId);
    this.#localLimits.end(admission, end, now);
    const drawn = quotaDay === null ? ["-1", "0"] : [String(quotaDay), String(end.quotaTokens)];
    await this.#settle(admission, drawn, [0, additionalTokens(admission, end)]);
  }

  async state(caller: Caller, now: number): Promise<LimitState> {
    const found = await this.#read(caller, ["rate", `rate ${caller.keyId}`]);
    if (found !== undefined)
      this.#localLimits.restore(caller, readBacklogs(found[0], now), readBacklogs(found[1], now), now);
    return this.#localLimits.state(caller, now);
  }

  async running(caller: Caller): Promise<RunningCalls> {
    const found = await this.#read(caller, ["running", `running ${caller.keyId}`]);
    if (found === undefined) return this.#localLimits.running(caller);
    return { ofAccount: Number(found[0] ?? 0), ofKey: Number(found[1] ?? 0) };
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
    return { limits, quota: { ...toHeld(hold, day), available } };
  }

  /** Undefined if Redis cannot decide. */
  async #extendShared(admission: AdmissionRequest, moreTokens: number, now: number): Promise<Held | undefined> {
    const key = this.#keyOf(admission.caller.accountId);
    const args = [this.#time(), ...toExtendArguments(admission, moreTokens)];
    const answer = await this.#connection.run("extend", key, args).catch(() => ["unknown"]);
    if (answer[0] === "unknown") return undefined;
    if (answer[0] !== "ok") throw toLimitError(answer, admission, now);
    return toHeld(Number(answer[1]), Number(answer[2]));
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
    const renewals: { accountId: string; calls: CallOpened[] }[] = [];
    for (const [accountId, calls] of Map.groupBy(this.#running.values(), (open) => open.accountId)) {
      for (let at = 0; at < calls.length; at += callsPerRenewal) {
        renewals.push({ accountId, calls: calls.slice(at, at + callsPerRenewal) });
      }
    }
    for (let at = 0; at < renewals.length; at += renewalsAtOnce) {
      await Promise.all(renewals.slice(at, at + renewalsAtOnce).map((renewal) => this.#renewCalls(renewal)));
    }
  }

  async #renewCalls({ accountId, calls }: { accountId: string; calls: CallOpened[] }): Promise<void> {
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
