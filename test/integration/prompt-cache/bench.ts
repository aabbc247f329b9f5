import { expect } from "bun:test";
import type { CacheMissKind } from "../../../src/contract/index.ts";
import { type CachedProtocol, type CacheProvider, startCacheProvider } from "../../support/cache-provider.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

export type Json = Record<string, unknown>;

const paths: Readonly<Record<CachedProtocol, string>> = {
  chat: "/chat/completions",
  messages: "/messages",
  responses: "/responses",
};
export const claude = "claude-sonnet-5";
export const gpt = "gpt-5.6";
const minuteMs = 60_000;

/** What the row of a call says of the cache. */
export interface CacheRow {
  cache_miss: CacheMissKind | null;
  cache_miss_place: string | null;
  cache_missed_tokens: number | null;
  cache_lost_nanodollars: number | null;
  cache_saved_nanodollars: number | null;
}

export interface CacheBench {
  gateway: InProcessGateway;
  readonly provider: CacheProvider;
  /** The last answer that the client got. */
  lastAnswer: Json;
  pass(minutes: number): void;
  /** Asks by another key from now on: the gateway stops marking for one whose marks lose money. */
  changeKey(): Promise<void>;
  /** Asks in a session, and gives what the row says. */
  ask(protocol: CachedProtocol, body: Json, session?: string): Promise<CacheRow & { id: string }>;
  stop(): Promise<void>;
}

/** A gateway whose OpenAI and Anthropic are one loopback server that keeps exact prefixes. */
export async function startCacheBench(): Promise<CacheBench> {
  let passedMs = 0;
  const now = () => Date.now() + passedMs;
  const provider = startCacheProvider(now);
  const gateway = await startInProcess({ now, env: { ...provider.env } });
  const bench: CacheBench = {
    gateway,
    provider,
    lastAnswer: {},
    pass(minutes) {
      passedMs += minutes * minuteMs;
    },
    async changeKey() {
      const { id: accountId } = await gateway.store.db.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
      gateway.key = (await gateway.app.accounts.createKey({ accountId, name: "another" })).key;
    },
    async ask(protocol, body, session = "agent-1") {
      const response = await fetch(gateway.baseUrl + paths[protocol], {
        method: "POST",
        headers: {
          authorization: `Bearer ${gateway.key}`,
          "content-type": "application/json",
          ...(session !== "" && { "session-id": session }),
        },
        body: JSON.stringify(body),
      });
      bench.lastAnswer = (await response.json()) as Json;
      expect([response.status, bench.lastAnswer.error ?? undefined]).toEqual([200, undefined]);
      const id = response.headers.get("x-request-id") ?? "";
      // The row is written before the last byte is sent.
      const row = await gateway.store.db
        .selectFrom("calls")
        .select([
          ...(["cache_miss", "cache_miss_place", "cache_missed_tokens"] as const),
          ...(["cache_lost_nanodollars", "cache_saved_nanodollars"] as const),
        ])
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      return { ...row, id };
    },
    async stop() {
      await gateway.stop();
      await provider.stop();
    },
  };
  return bench;
}
