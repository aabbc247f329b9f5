import { clearInterval, setInterval } from "node:timers";
import { type AdmissionRequest, type Caller, GatewayError, type LimitState } from "../../contract/index.ts";
import {
  dayOf,
  type EndedCall,
  type HoldAmounts,
  type OpenCall,
  readLedgerId,
  type Store,
  startOfDay,
} from "../../db/index.ts";
import { accountNotRead, additionalTokens } from "../call-records.ts";
import { callsExceeded, type LimitOwner, quotaExceeded, requestsExceeded, tokensExceeded } from "../limit-errors.ts";
import {
  type Backlogs,
  type CallLimits,
  type LimitReservation,
  limitsOf,
  ProcessLimits,
  type RunningCalls,
  toBacklogs,
} from "../limits.ts";
import { RedisConnection } from "./redis-connection.ts";

/** Options of {@link openRedisLimits}. */
export interface RedisLimitsOptions {
  /** The store shared by the nodes; the amounts of quota used in SQL are authoritative. */
  store: Store;
  /** `redis://user:password@host:port/number`, or `rediss:` for TLS; nodes of a cluster by comma. */
  url: string;
  /** Milliseconds since 1970; absent: the clock of Redis for data in Redis, the system's clock for the rest. */
  now?: (() => number) | undefined;
  /** Milliseconds after which a call that its node no longer renews stops counting; default 30 000. */
  leaseMs?: number;
  /** How long a call waits for Redis in all, and any answer of it may take, in milliseconds; default 250. */
  timeoutMs?: number | undefined;
  /** Accounts kept in memory, for while Redis is away; default 20 000. */
  accountsMax?: number;
  /** Called when Redis goes down or comes back. */
  report?: (event: string, fields: Record<string, unknown>) => void;
}

/** A call that runs here, with the owners of its limits other than the account. */
interface RunningCall {
  readonly open: OpenCall;
  readonly owners: string;
}

/** Limits that several nodes share. */
export interface RedisLimits extends CallLimits {
  /** Messages about degradations while calls are served; empty when all is well. */
  problems(): string[];
}

const leaseMsDefault = 30_000;
const timeoutMsDefault = 250;
const accountsMaxDefault = 20_000;
/**
 * Number of calls that one script renews. Redis runs nothing else during a script, so it should take no longer than a
 * millisecond or two.
 */
const callsPerRenewal = 200;
/** Renewals under way at once: with more, each answer would wait for many others. */
const renewalsAtOnce = 32;

/**
 * Opens the limits that nodes share, and begins to renew the calls that run here. If Redis cannot be reached, it is
 * tried again in the background, and each node keeps limits alone until it answers.
 *
 * @throws {RedisRefused} When Redis holds something else, or refuses its user.
 */
export async function openRedisLimits(options: RedisLimitsOptions): Promise<RedisLimits> {
  const limits = new RedisCallLimits(options, `modelgate:${await readLedgerId(options.store)}:limits:`);
  await limits.start();
  return limits;
}

/**
 * Limits that all nodes count in Redis. While Redis is down, each node counts alone from its last known state, and the
 * database decides about the free quota. A node renews its running calls in Redis, so calls of a dead node soon stop
 * counting. Data lost by Redis only loosens limits until the next renewal.
 */
class RedisCallLimits implements RedisLimits {
  readonly #store: Store;
  readonly #now: (() => number) | undefined;
  readonly #leaseMs: number;
  readonly #timeoutMs: number;
  /** How long running calls have waited for Redis so far, in milliseconds. */
  readonly #waits = new Map<string, number>();
  readonly #prefix: string;
  readonly #report: NonNullable<RedisLimitsOptions["report"]>;
  readonly #connection: RedisConnection;
  /** All calls of this node are counted here too. */
  readonly #localLimits: ProcessLimits;
  readonly #running = new Map<string, RunningCall>();
  /** SQL's sums of accounts that are being read. */
  readonly #loading = new Map<string, Promise<string[]>>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: RedisLimitsOptions, prefix: string) {
    const { store, url, now, leaseMs = leaseMsDefault, report = () => undefined } = options;
    this.#store = store;
    this.#now = now;
    this.#leaseMs = leaseMs;
    this.#timeoutMs = options.timeoutMs ?? timeoutMsDefault;
    this.#prefix = prefix;
    this.#report = report;
    this.#localLimits = new ProcessLimits(options.accountsMax ?? accountsMaxDefault);
    this.#connection = new RedisConnection({
      url,
      answerMsMax: this.#timeoutMs,
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
        if (error instanceof GatewayError) {
          this.#waits.delete(admission.callId);
          throw error;
        }
      }
    }
    return this.#localLimits.take(admission, now);
  }

  /** Decides by this node's own figures: a request to Redis would cost each call a round trip. */
  check(caller: Caller, now: number): void {
    this.#localLimits.check(caller, now);
  }

  opened({ caller, model }: AdmissionRequest, open: OpenCall): void {
    const owners = limitsOf(caller, model).map((owner) => toOwnerText(caller, owner));
    this.#running.set(open.callId, { open, owners: owners.join("") });
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

  async state(caller: Caller, now: number, model?: string): Promise<LimitState> {
    const fields = limitsOf(caller, model).map((owner) => `rate${toOwnerText(caller, owner)}`);
    const reply = await this.#read(caller, fields);
    if (reply !== undefined) {
      const backlogs = reply.map((field) => readBacklogs(field, now));
      this.#localLimits.restore(caller, model, backlogs, now);
    }
    return this.#localLimits.state(caller, now, model);
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
    const admit = (loaded: readonly string[]) => {
      const call = [admission.callId, String(this.#leaseMs), ...toQuotaArguments(admission), ...loaded];
      return this.#ask(admission, "admit", [this.#time(), ...call, ...toLimitArguments(admission)]);
    };
    let answer = await admit(["", ""]);
    if (answer[0] === "load") answer = await admit(await this.#load(accountId));
    if (answer[0] !== "ok") throw toLimitError(answer, admission, now);
    const [hold, day, available, ...figures] = answer.slice(1).map(Number) as [number, number, number, ...number[]];
    const backlogs: Backlogs[] = [];
    for (let at = 0; at < figures.length; at += 2) {
      backlogs.push({ requestsMs: figures[at] as number, tokensMs: figures[at + 1] as number });
    }
    const limits = this.#localLimits.countAdmitted(admission, backlogs, now);
    if (admission.premium) return { limits };
    return { limits, quota: { ...toQuotaHold(hold, day), available } };
  }

  /** Undefined if Redis cannot decide. */
  async #extendShared(admission: AdmissionRequest, moreTokens: number, now: number): Promise<HoldAmounts | undefined> {
    const args = [this.#time(), ...toExtendArguments(admission, moreTokens)];
    const answer = await this.#ask(admission, "extend", args).catch(() => ["unknown"]);
    if (answer[0] === "unknown") return undefined;
    if (answer[0] !== "ok") throw toLimitError(answer, admission, now);
    return toQuotaHold(Number(answer[1]), Number(answer[2]));
  }

  /** Reads the latest day with used quota, and the amount used; concurrent readers share one answer. */
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
      const today = dayOf(this.#now === undefined ? Date.now() : this.#now());
      const { quotaDay, usedTokens } = await this.#store.readBalance(accountId, today);
      return [String(quotaDay ?? 0), String(usedTokens)];
    } catch (error) {
      throw accountNotRead(error);
    }
  }

  /** `drawn` is a day and its tokens; the last parameter adds to the requests and tokens counted at admission. */
  async #settle(admission: AdmissionRequest, drawn: string[], [requests, tokens]: [number, number]): Promise<void> {
    const args = [this.#time(), admission.callId, ...drawn, ...toAddedArguments(admission, requests, tokens)];
    // If this fails, the call counts in Redis until its lease ends; SQL has its usage.
    if (this.#connection.isHealthy) await this.#ask(admission, "settle", args).catch(() => undefined);
    this.#waits.delete(admission.callId);
  }

  /** Runs a script for a call. All that a call waits for together may take no longer than one of them. */
  async #ask(
    { callId, caller, premium }: AdmissionRequest,
    script: "admit" | "extend" | "settle",
    args: string[],
  ): Promise<string[]> {
    const waitedMs = this.#waits.get(callId) ?? 0;
    const startedMs = performance.now();
    try {
      const restMs = Math.max(0, this.#timeoutMs - waitedMs);
      return await this.#connection.run(script, this.#keyOf(caller.accountId), args, restMs);
    } finally {
      const isWaitedFor = script === "admit" || (script === "extend" && !premium);
      if (isWaitedFor) this.#waits.set(callId, waitedMs + performance.now() - startedMs);
    }
  }

  /** Renews all running calls of this node. */
  async #renew(): Promise<void> {
    const renewals: { accountId: string; calls: RunningCall[] }[] = [];
    for (const [accountId, calls] of Map.groupBy(this.#running.values(), ({ open }) => open.accountId)) {
      for (let at = 0; at < calls.length; at += callsPerRenewal) {
        renewals.push({ accountId, calls: calls.slice(at, at + callsPerRenewal) });
      }
    }
    for (let at = 0; at < renewals.length; at += renewalsAtOnce) {
      await Promise.all(renewals.slice(at, at + renewalsAtOnce).map((renewal) => this.#renewCalls(renewal)));
    }
  }

  async #renewCalls({ accountId, calls }: { accountId: string; calls: RunningCall[] }): Promise<void> {
    // Some may have ended since.
    const running = calls.filter(({ open }) => this.#running.has(open.callId));
    const args = running.flatMap(({ open: { callId, quotaDay, holdTokens }, owners }) => {
      return [callId, String(quotaDay ?? -1), String(holdTokens), owners];
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

  /** Redis Cluster hashes only the part in braces. */
  #keyOf(accountId: string): string {
    return `${this.#prefix}{${accountId}}`;
  }
}

/** An owner of limits, as the scripts name it. */
function toOwnerText({ keyId }: Caller, { owner, model }: LimitOwner): string {
  const ofAll = owner === "key" ? ` ${keyId}` : "";
  if (model === undefined) return ofAll;
  // A name from a catalogue may have any characters.
  return `${ofAll === "" ? " " : ofAll}:${encodeURIComponent(model)}`;
}

/**
 * The last arguments of `admit`: each owner, the amounts that the request and its tokens add to its backlogs, and its
 * concurrent calls.
 */
function toLimitArguments({ caller, model, limitTokens }: AdmissionRequest): string[] {
  return limitsOf(caller, model).flatMap((counted) => {
    const { requestsMs, tokensMs } = toBacklogs(1, limitTokens, counted.limits);
    const figures = [requestsMs, tokensMs, counted.limits.concurrentCalls].map(toArgument);
    return [toOwnerText(caller, counted), ...figures];
  });
}

/** The arguments of `extend` after the time. */
function toExtendArguments(admission: AdmissionRequest, moreTokens: number): string[] {
  const { caller, model, callId } = admission;
  const ofOwners = limitsOf(caller, model).flatMap((counted) => {
    return [toOwnerText(caller, counted), toArgument(toBacklogs(0, moreTokens, counted.limits).tokensMs)];
  });
  return [callId, ...toQuotaArguments(admission), ...ofOwners];
}

/** The last arguments of `settle`: each owner, and the amounts added to its backlogs. */
function toAddedArguments({ caller, model }: AdmissionRequest, requests: number, tokens: number): string[] {
  return limitsOf(caller, model).flatMap((counted) => {
    const { requestsMs, tokensMs } = toBacklogs(requests, tokens, counted.limits);
    return [toOwnerText(caller, counted), ...[requestsMs, tokensMs].map(toArgument)];
  });
}

/** The hold of a call on the free quota; empty for a premium call. */
function toQuotaArguments({ premium, holdTokens, minTokens, caller }: AdmissionRequest): string[] {
  return premium ? ["", "", ""] : [holdTokens, minTokens, caller.freeTokensPerDay].map(toArgument);
}

function toArgument(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}

function toQuotaHold(holdTokens: number, quotaDay: number): HoldAmounts {
  return { quotaDay, holdNanodollars: 0, holdTokens };
}

/** The error for a refusal by the script, as returned to the caller. */
function toLimitError([name, ...words]: string[], admission: AdmissionRequest, now: number): Error {
  const { caller, model, modelName, limitTokens } = admission;
  if (name === "quota") {
    const [usedTokens, heldTokens, day] = words.map(Number) as [number, number, number];
    const limit = caller.freeTokensPerDay;
    return quotaExceeded(admission, { limitTokens: limit, usedTokens, heldTokens, resetsAt: startOfDay(day + 1) }, now);
  }
  const [place, waitMs] = words.map(Number) as [number, number];
  const counted = limitsOf(caller, model, modelName)[place];
  const { requestsPerMinute, tokensPerMinute, concurrentCalls } = counted?.limits ?? {};
  if (name === "requests" && requestsPerMinute !== undefined)
    return requestsExceeded(requestsPerMinute, waitMs, counted);
  if (name === "tokens" && tokensPerMinute !== undefined) {
    return tokensExceeded({ limit: tokensPerMinute, limitTokens }, waitMs, counted);
  }
  if (name === "calls" && concurrentCalls !== undefined) return callsExceeded(concurrentCalls, counted);
  return new Error(`Redis answered ${name} to an admission`);
}

/** The rest of a field `rate` by now; where Redis's clock differs from this one's it is off by as much. */
function readBacklogs(field: string | null | undefined, now: number): Backlogs {
  const [requestsMs, tokensMs, drainedAt] = (field ?? "0 0 0").split(" ").map(Number) as [number, number, number];
  const elapsedMs = Math.max(0, now - drainedAt);
  return { requestsMs: Math.max(0, requestsMs - elapsedMs), tokensMs: Math.max(0, tokensMs - elapsedMs) };
}
