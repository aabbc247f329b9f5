import { clearInterval, setInterval } from "node:timers";
import {
  type BoundsState,
  type Caller,
  type Claim,
  GatewayError,
  type Hold,
  type LimitState,
  type QuotaState,
  type Settlement,
  type WalletState,
} from "../../contract/index.ts";
import type { AbandonedCall, EndWrite, OpenWrite, Store } from "../../store/index.ts";
import { endOf, tokensOf } from "../call-end.ts";
import { checkClaim, openWriteOf } from "../call-open.ts";
import { CommitQueue } from "../commit-queue.ts";
import { startOfDay } from "../day.ts";
import { expectEnded } from "../expect-ended.ts";
import { type Recovery, recoveryOf } from "../recover.ts";
import { booksUnavailable } from "../refusals.ts";
import { boundsOf, type Figures, type KeyFigures, keyOf } from "./figures.ts";
import { LimitsByAccount } from "./limits-by-account.ts";
import { accountsWithCalls } from "./read-written.ts";
import { RedisBooks } from "./redis-books.ts";
import { RedisDoor } from "./redis-door.ts";
import type { RedisLedger, RedisLedgerOptions } from "./redis-ledger-options.ts";
import { SqlBooks } from "./sql-books.ts";

/** A call on its way. */
interface Running {
  readonly claim: Claim;
  open: OpenWrite | undefined;
  end: EndWrite | undefined;
  /** Resolves when Redis was told of the end, or could not be. */
  told: Promise<void> | undefined;
}

/**
 * Makes the ledger that shares limits, holds and quotas with other nodes by Redis, and writes every call to the store.
 * It is SQL that is true: Redis is seeded from it, and while Redis cannot be used, holds are taken in SQL.
 *
 * @throws {RedisRefused} When Redis holds something else, or refuses its user.
 */
export async function createRedisLedger(options: RedisLedgerOptions): Promise<RedisLedger> {
  const identity = await options.store.setting("ledger_id", () => crypto.randomUUID().slice(0, 8));
  const ledger = new NodeLedger(options, `modelgate:${identity}:`);
  await ledger.start();
  return ledger;
}

class NodeLedger implements RedisLedger {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #report: NonNullable<RedisLedgerOptions["report"]>;
  readonly #door: RedisDoor;
  readonly #redis: RedisBooks;
  readonly #sql: SqlBooks;
  readonly #queue: CommitQueue;
  readonly #calls = new Map<string, Running>();
  readonly #limits = new LimitsByAccount();
  /** Accounts of which Redis missed something. */
  readonly #missed = new Set<string>();
  readonly #beats: NodeJS.Timeout;
  readonly #abandoned: AbandonedCall[] = [];
  #closed = false;

  constructor(options: RedisLedgerOptions, prefix: string) {
    const { store, url, now, leaseMs = 30_000, answerMsMax = 80, report = () => undefined } = options;
    this.#store = store;
    this.#now = now ?? Date.now;
    this.#report = report;
    this.#door = new RedisDoor({
      url,
      answerMsMax,
      onBack: () => this.#back(),
      onGone: (error) => report("redis_gone", { error }),
    });
    this.#redis = new RedisBooks({
      door: this.#door,
      store,
      now,
      leaseMs,
      prefix,
      isRunning: (callId) => this.#calls.has(callId),
      onAbandoned: (calls) => this.#abandoned.push(...calls),
    });
    this.#queue = new CommitQueue(store, (end) => this.#endWritten(end), options.onCommit);
    this.#sql = new SqlBooks(store, this.#queue);
    this.#beats = setInterval(() => void this.#beatQuietly(), leaseMs / 3);
    this.#beats.unref();
  }

  async start(): Promise<void> {
    try {
      await this.#door.start();
    } catch (error) {
      clearInterval(this.#beats);
      throw error;
    }
    if (!this.#door.open) this.#report("redis_gone", { error: this.#door.reason });
  }

  async admit(claim: Claim): Promise<Hold> {
    const { callId } = claim;
    if (this.#closed) throw booksUnavailable("The gateway is shutting down; try again");
    checkClaim(claim);
    if (this.#calls.has(callId)) throw new Error(`Cannot admit call ${callId}: it is already running`);
    const call: Running = { claim, open: undefined, end: undefined, told: undefined };
    this.#calls.set(callId, call);
    try {
      call.open = (await this.#admitByRedis(claim)) ?? (await this.#admitBySql(claim));
    } catch (error) {
      this.#calls.delete(callId);
      throw error;
    }
    const { holdNanodollars, holdTokens } = call.open;
    const limits = this.#limits.state(claim.caller, this.#now());
    return { callId, heldNanodollars: holdNanodollars, heldTokens: holdTokens, limits };
  }

  async settle(settlement: Settlement): Promise<void> {
    const call = this.#calls.get(settlement.callId);
    if (call?.open === undefined) return expectEnded(this.#store, settlement.callId);
    call.end ??= endOf(call.open, settlement, this.#now());
    const failures = await this.#queue.add(call.end);
    if (failures?.has(call.end)) {
      const sentence = "The charge of the call could not be written yet; it is kept and tried again";
      throw booksUnavailable(sentence, failures.get(call.end));
    }
    await call.told;
  }

  async walletOf(accountId: string): Promise<WalletState> {
    const { balanceNanodollars, heldNanodollars } = await this.#figuresOf(accountId);
    return { balanceNanodollars, heldNanodollars };
  }

  async quotaOf({ accountId, freeTokensPerDay }: Pick<Caller, "accountId" | "freeTokensPerDay">): Promise<QuotaState> {
    const { usedTokens, heldTokens, day } = await this.#figuresOf(accountId);
    return { limitTokens: freeTokensPerDay, usedTokens, heldTokens, resetsAt: startOfDay(day + 1) };
  }

  async limitsOf(caller: Caller): Promise<LimitState> {
    try {
      if (this.#door.open) {
        const backlogs = await this.#redis.read(caller.accountId, keyOf(caller));
        this.#limits.restore(caller, backlogs, this.#now());
      }
    } catch {
      // The door is shut by now and has said why; what this node last saw is told instead.
    }
    return this.#limits.state(caller, this.#now());
  }

  async boundsOf(caller: Caller): Promise<BoundsState> {
    const { running, ofKey } = await this.#figuresOf(caller.accountId, keyOf(caller));
    return boundsOf(caller, running, ofKey);
  }

  /** The open calls of other nodes are theirs: only what nobody renews any more is ended. */
  recover(): Promise<Recovery> {
    return this.beat();
  }

  async beat(): Promise<Recovery> {
    if (this.#door.open) {
      await this.#renew();
      // Reading an account that holds something expired seeds it, which ends the calls of dead processes.
      for (const row of await accountsWithCalls(this.#store))
        if (this.#door.open) await this.#redis.read(row.account_id);
    }
    await this.#store.forgetDead();
    return recoveryOf(this.#abandoned.splice(0));
  }

  async sync(): Promise<number> {
    this.#store.outsideChange();
    if (this.#queue.unwritten.size > 0) await this.#queue.flush();
    return this.#queue.unwritten.size;
  }

  troubles(): string[] {
    if (this.#door.open) return [];
    const { message } = this.#door.reason;
    return [
      `Redis cannot be used (${message}): until it can, each node keeps limits per minute alone, and holds are taken in SQL`,
    ];
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#beats);
    await this.#queue.flush();
    await Promise.all([...this.#calls.values()].map((call) => call.told));
    this.#door.close();
    const ids = [...this.#queue.unwritten].map((end) => end.open.callId);
    if (ids.length > 0) throw new Error(`Cannot write the charges of ${ids.length} calls: ${ids.join(", ")}`);
  }

  /** Absent when Redis cannot be used. */
  async #admitByRedis(claim: Claim): Promise<OpenWrite | undefined> {
    if (!this.#door.open) return undefined;
    const { accountId } = claim.caller;
    let open: OpenWrite;
    try {
      if (this.#missed.size > 0) await this.#back();
      const taken = await this.#redis.admit(claim, this.#now());
      // Others take their holds in SQL by now, which has not got this one.
      if (!this.#door.open) throw this.#door.reason;
      this.#limits.restore(claim.caller, taken, this.#now());
      open = openWriteOf(claim, taken);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      this.#miss(accountId);
      return undefined;
    }
    const failures = await this.#queue.add(open);
    if (!failures?.has(open)) return open;
    await this.#redis.undo(claim).catch(() => this.#miss(accountId));
    throw booksUnavailable("The call could not be written down, so it was not made; try again", failures.get(open));
  }

  async #admitBySql(claim: Claim): Promise<OpenWrite> {
    this.#limits.check(claim, this.#now());
    this.#limits.add(1, claim.limitTokens, claim.caller, this.#now());
    try {
      return await this.#sql.admit(claim, this.#now());
    } catch (error) {
      this.#limits.add(-1, -claim.limitTokens, claim.caller, this.#now());
      if (error instanceof GatewayError) throw error;
      throw booksUnavailable("The call could not be written down, so it was not made; try again", error);
    } finally {
      this.#miss(claim.caller.accountId);
    }
  }

  #endWritten(end: EndWrite): void {
    const call = this.#calls.get(end.open.callId);
    // Of a hold that was not to be: Redis may have been seeded with it while it was not known whether it stands.
    if (call?.end !== end) this.#miss(end.open.accountId);
    else call.told = this.#tell(call.claim, end);
    if (call?.end === end) this.#calls.delete(end.open.callId);
  }

  /** Only after SQL has it: what Redis is seeded with in between has the charge already, or still the hold. */
  async #tell(claim: Claim, end: EndWrite): Promise<void> {
    const { accountId } = claim.caller;
    const tokens = end.state === "settled" ? tokensOf(end.meters) : undefined;
    const moreTokens = tokens === undefined ? 0 : tokens - claim.limitTokens;
    this.#limits.add(0, moreTokens, claim.caller, this.#now());
    try {
      if (this.#door.open) await this.#redis.end(claim, end, moreTokens);
      else this.#miss(accountId);
    } catch {
      this.#miss(accountId);
    }
  }

  async #figuresOf(accountId: string, keyId?: string): Promise<Figures & { ofKey: KeyFigures | undefined }> {
    try {
      if (this.#door.open) return await this.#redis.read(accountId, keyId);
    } catch {
      this.#miss(accountId);
    }
    return this.#sql.figures(accountId, keyId, this.#now()).catch((error) => {
      throw booksUnavailable("The account could not be read; try again", error);
    });
  }

  /** Redis does not know what was just done: at its next use the account is seeded. */
  #miss(accountId: string): void {
    this.#missed.add(accountId);
    if (this.#door.open) void this.#back().catch(() => undefined);
  }

  async #back(): Promise<void> {
    while (this.#missed.size > 0) {
      const accounts = [...this.#missed];
      await Promise.all(accounts.map((accountId) => this.#redis.forget(accountId)));
      for (const accountId of accounts) this.#missed.delete(accountId);
    }
    if (!this.#door.open) this.#report("redis_in_use", {});
  }

  async #renew(): Promise<void> {
    const open = [...this.#calls].filter(([, call]) => call.open !== undefined);
    const byAccount = Map.groupBy(open, ([, call]) => call.claim.caller.accountId);
    const idsOf = (calls: typeof open) => calls.map(([callId]) => callId);
    await Promise.all([...byAccount].map(([account, calls]) => this.#redis.renew(account, idsOf(calls))));
  }

  async #beatQuietly(): Promise<void> {
    try {
      const recovery = await this.beat();
      if (recovery.released > 0) this.#report("calls_recovered", { ...recovery });
    } catch (error) {
      this.#report("beat_failed", { error });
    }
  }
}
