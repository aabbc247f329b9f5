/**
 * What the embedded store costs a call: `bun test/bench/store.ts` writes calls as a busy gateway does, the holds of a batch
 * together with the ends of the batch before, and prints CPU µs a call (the least of five rounds) and the bytes of a call on the disk, without what
 * reaches it later (the roll-up). Commits are not synced, so that the disk does not matter.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callIdPrefix } from "../../src/contract/index.ts";
import { type EndedCall, type OpenCall, openStore } from "../../src/db/index.ts";
import { addPayers } from "../support/payers.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-store-"));
const file = join(folder, "modelgate.db");
const store = await openStore({ file, synchronous: "normal" });
const from = Date.now();
let made = 0;

const idOfAccount = (number: number) => `0f8fad5b-d9cb-469f-a165-${String(number).padStart(12, "0")}`;
const keyOf = (accountId: string) => accountId.slice(-12);

function createCall(accounts: number): { open: OpenCall; end: EndedCall } {
  made += 1;
  const accountId = idOfAccount((made * 7919) % accounts);
  const open: OpenCall = {
    kind: "open",
    callId: `${callIdPrefix(from + made)}${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`,
    accountId,
    keyId: keyOf(accountId),
    model: "famA-4.1-nano",
    capability: "chat",
    premium: true,
    openedAt: from + made,
    quotaDay: null,
    holdNanodollars: 15_000,
    holdTokens: 0,
    priceVersion: "2026-11-01",
  };
  const end: EndedCall = {
    kind: "end",
    open,
    outcome: "settled",
    settledAt: from + made + 500,
    meters: { inputToken: 300, outputToken: 40 },
    usageSource: "reported",
    costNanodollars: 46_000,
    chargedNanodollars: 46_000,
    quotaTokens: 0,
    plugin: "openai",
    status: 200,
    errorCode: undefined,
    firstByteMs: 180,
    durationMs: 500,
  };
  return { open, end };
}

/** Returns CPU µs a call. */
async function measure(size: number, accounts: number, calls: number): Promise<number> {
  let ends: EndedCall[] = [];
  const before = process.cpuUsage();
  for (let written = 0; written < calls; written += size) {
    const batch = Array.from({ length: size }, () => createCall(accounts));
    await store.writeLedger([...ends, ...batch.map(({ open }) => open)]);
    ends = batch.map(({ end }) => end);
  }
  await store.writeLedger(ends);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

const loads = [
  { size: 11, accounts: 1, calls: 33_000, rounds: [] as number[] },
  { size: 11, accounts: 1000, calls: 33_000, rounds: [] as number[] },
  { size: 1, accounts: 1000, calls: 10_000, rounds: [] as number[] },
];
const ids = Array.from({ length: 1000 }, (_, number) => idOfAccount(number));
await addPayers(store, Object.fromEntries(ids.map((id) => [id, [keyOf(id)]])));
await measure(11, 1000, 5500);
for (let round = 0; round < 5; round++) {
  for (const { size, accounts, calls, rounds } of loads) rounds.push(await measure(size, accounts, calls));
}
for (const { size, accounts, rounds } of loads) {
  const least = Math.min(...rounds).toFixed(1);
  process.stdout.write(`batches of ${size}, accounts: ${accounts}, CPU µs a call: ${least}\n`);
}
await store.close();
process.stdout.write(`bytes a call: ${(statSync(file).size / made).toFixed(0)}\n`);
rmSync(folder, { recursive: true });
process.exit(0);
