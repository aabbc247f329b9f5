import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AdmissionRequest, Settlement } from "../../src/contract/index.ts";
import { openStore } from "../../src/db/index.ts";
import { creditWallet, ProcessLedger } from "../../src/ledger/index.ts";
import { openRedisLimits } from "../../src/ledger/redis/redis-limits.ts";

/**
 * Prints what admit and settle cost together, CPU and wall µs a call, by concurrency, until all of it stands in the
 * tables. `bun test/bench/ledger.ts [calls] [redis://…] [postgres://…]`: with a URL, over that server; the database must be
 * empty. A Redis stands beside a PostgreSQL.
 */
const words = process.argv.slice(2);
const callsPerRound = Number(words.find((word) => /^\d+$/.test(word)) ?? 50_000);
const redisUrl = words.find((word) => /^rediss?:/.test(word));
const url = words.find((word) => /^postgres/.test(word));
const folder = mkdtempSync(join(tmpdir(), "modelgate-bench-"));
const store = await openStore(url === undefined ? { file: join(folder, "bench.db") } : { url });
const limits = redisUrl === undefined ? undefined : await openRedisLimits({ store, url: redisUrl });
const ledger = new ProcessLedger({ store, limits });

let made = 0;
for (const accounts of [1, 100]) {
  const ids = Array.from({ length: accounts }, (_, index) => `acc_${accounts}_${index}`);
  for (const id of ids) await fund(id);
  for (const premium of [true, false]) {
    for (const concurrency of [1, 8, 32, 64]) {
      await round(concurrency, 2000, ids, premium);
      const cpu = process.cpuUsage();
      const start = performance.now();
      await round(concurrency, callsPerRound, ids, premium);
      const wall = ((performance.now() - start) * 1000) / callsPerRound;
      const used = process.cpuUsage(cpu);
      const perCall = (used.user + used.system) / callsPerRound;
      console.log(
        `${accounts} accounts, ${premium ? "premium" : "free"}, ${concurrency} at once: ${perCall.toFixed(2)} µs CPU, ${wall.toFixed(2)} µs wall a call`,
      );
    }
  }
}
await ledger.close();
await store.close();
rmSync(folder, { recursive: true });

async function fund(accountId: string): Promise<void> {
  await store.db
    .insertInto("accounts")
    .values({
      id: accountId,
      email: accountId,
      name: null,
      free_tokens_per_day: null,
      requests_per_minute: null,
      tokens_per_minute: null,
      concurrent_calls: null,
      created_at: 0,
    })
    .execute();
  await creditWallet(store, { accountId, nanodollars: 1_000_000_000_000_000, note: "bench" });
}

async function round(concurrency: number, calls: number, ids: string[], premium: boolean): Promise<void> {
  let left = calls;
  const worker = async (books: ProcessLedger) => {
    while (left-- > 0) await one(books, ids, premium);
  };
  await Promise.all(Array.from({ length: concurrency }, () => worker(ledger)));
  // A read of the ledger first applies what waits.
  await store.db.selectFrom("calls").select("id").limit(1).execute();
}

async function one(books: ProcessLedger, ids: string[], premium: boolean): Promise<void> {
  const callId = `req_${Date.now().toString(36)}${(made++).toString(36).padStart(6, "0")}0123456789`;
  await books.admit(createAdmission(callId, ids[made % ids.length] as string, premium));
  await books.settle(createSettlement(callId));
}

function createAdmission(callId: string, accountId: string, premium: boolean): AdmissionRequest {
  const limits = { requestsPerMinute: 1e9, tokensPerMinute: 1e12 };
  return {
    callId,
    caller: { accountId, keyId: "k1234567", limits, freeTokensPerDay: 1e15 },
    model: "famA-4.1-nano",
    capability: "chat",
    premium,
    minNanodollars: 0,
    minTokens: 0,
    holdNanodollars: 500_000,
    holdTokens: 500,
    limitTokens: 120,
    priceVersion: "0123456789abcdef",
    openedAt: Date.now(),
  };
}

function createSettlement(callId: string): Settlement {
  return {
    callId,
    outcome: "settled",
    plugin: "openai",
    meters: { inputToken: 120, outputToken: 80 },
    usageSource: "reported",
    costNanodollars: 44_000,
    quotaTokens: 200,
    status: 200,
    firstByteMs: 12,
    durationMs: 40,
  };
}
