import type { Cluster, Redis } from "ioredis";
import { LRUCache } from "lru-cache";
import { type StoredTurn, type TurnStore, turnLifetimeMs } from "../../contract/index.ts";
import { readLedgerId, type Store } from "../../db/index.ts";
import { TimeoutError, withTimeout } from "../with-timeout.ts";
import { createClient } from "./redis-connection.ts";

/** Commands that may wait for an answer; with more, turns are neither read nor kept. */
const waitingMax = 256;
/** Redis is not asked again for so long after a failure. */
const pauseMs = 1000;
const timeoutMsDefault = 250;
/** Overhead in Redis of a session and of each of its conversations, in bytes. */
const entryBytes = 200;

/** Options of {@link openRedisTurns}. */
export interface RedisTurnsOptions {
  readonly store: Store;
  readonly url: string;
  /** How long an answer may take, in milliseconds; default 250. */
  readonly timeoutMs?: number | undefined;
  /**
   * Bytes of the turns that this process keeps there. Limits are in the same Redis, which must never be full: the sessions that were
   * silent longest go.
   */
  readonly bytesMax: number;
}

/** Turns that all nodes share: a balancer may spread a session over them. */
export interface RedisTurns extends TurnStore {
  close(): void;
}

/** Opens the turns that nodes share. If Redis cannot be reached, none are kept until it can. */
export async function openRedisTurns({ store, url, timeoutMs, bytesMax }: RedisTurnsOptions): Promise<RedisTurns> {
  const prefix = `modelgate:${await readLedgerId(store)}:turns:`;
  return new SharedTurns(url, prefix, { timeoutMs: timeoutMs ?? timeoutMsDefault, bytesMax });
}

/**
 * A session is a hash with a field for each of its conversations: two nodes can write different conversations of one session at
 * once. The connection is its own: what is large here makes no limit wait. Whatever fails costs an explanation, and no call.
 */
class SharedTurns implements RedisTurns {
  readonly #client: Redis | Cluster;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  /** The bytes of each conversation of the sessions that this process has written. */
  readonly #sizes: LRUCache<string, ReadonlyMap<string, number>>;
  #waiting = 0;
  #pausedUntilMs = 0;

  constructor(url: string, prefix: string, { timeoutMs, bytesMax }: { timeoutMs: number; bytesMax: number }) {
    this.#sizes = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: (sizes) => sizes.values().reduce((sum, bytes) => sum + entryBytes + bytes, entryBytes),
      ttl: turnLifetimeMs,
      dispose: (_, session, reason) => {
        if (reason === "evict") void this.#ask(() => this.#client.unlink(this.#prefix + session));
      },
    });
    this.#client = createClient(url);
    this.#prefix = prefix;
    this.#timeoutMs = timeoutMs;
    this.#client.on("error", () => this.#pause());
    void this.#client.connect().catch(() => this.#pause());
  }

  read(session: string): Promise<readonly StoredTurn[] | undefined> {
    return this.#ask(async () => {
      const fields = await this.#client.hgetallBuffer(this.#prefix + session);
      return Object.entries(fields).map(([id, bytes]) => ({ id, bytes }));
    });
  }

  write(session: string, { id, bytes }: StoredTurn, dropped: readonly string[]): void {
    const key = this.#prefix + session;
    const sizes = new Map(this.#sizes.get(session)).set(id, bytes.byteLength);
    for (const one of dropped) sizes.delete(one);
    this.#sizes.set(session, sizes);
    void this.#ask(() => {
      const writes = this.#client.multi().hset(key, id, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      if (dropped.length > 0) writes.hdel(key, ...dropped);
      return writes.pexpire(key, turnLifetimeMs).exec();
    });
  }

  close(): void {
    this.#client.disconnect();
  }

  /** Returns the answer; `undefined` if it does not come in time, or while Redis is paused. */
  async #ask<Answer>(send: () => Promise<Answer>): Promise<Answer | undefined> {
    const isReady = this.#client.status === "ready" && performance.now() >= this.#pausedUntilMs;
    if (!isReady || this.#waiting >= waitingMax) return undefined;
    this.#waiting += 1;
    try {
      return await withTimeout(send(), this.#timeoutMs);
    } catch (error) {
      this.#pause();
      // Its other commands are given up with the connection.
      if (error instanceof TimeoutError) this.#client.disconnect(true);
      return undefined;
    } finally {
      this.#waiting -= 1;
    }
  }

  #pause(): void {
    this.#pausedUntilMs = performance.now() + pauseMs;
  }
}
