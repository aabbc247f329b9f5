import { join } from "node:path";
import { compilePrice, costNanodollars, type Meters, makeCallId } from "../../src/contract/index.ts";
import { type OpenCall, openStore, type Store } from "../../src/db/index.ts";
import { createAccounts } from "../../src/keys/index.ts";
import { creditWallet } from "../../src/ledger/index.ts";
import { createVoucher } from "../../src/modules/payments/vouchers.ts";
import { ownerEmail } from "../support/gateway.ts";
import { randomBelow } from "../support/random.ts";
import { modelOf } from "../unit/catalogue/models.ts";

const dayMs = 86_400_000;
/** Two periods of the pages, so that there is a period before. */
const days = 62;
const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };

/** The called models, with their share of ten calls. */
const shares = [
  ["famA-4o-mini", 4],
  ["famC-sonnet-4-6", 2],
  ["famA-5.1", 2],
  ["famB-2.5-flash", 1],
  ["famA/oss-120b", 1],
] as const;
const calledModels = shares.flatMap(([model, share]) => Array.from({ length: share }, () => model));

/** Fills a home directory with two months of usage, so that the pages have data to show. */
export async function writePast(home: string): Promise<void> {
  const store = await openStore({ file: join(home, "modelgate.db") });
  try {
    const start = Date.now() - days * dayMs;
    const accounts = createAccounts({ store, defaults, now: Date.now });
    const owner = await accounts.create({ email: ownerEmail, name: "Ada Lovelace" });
    const accountId = owner.id;
    const budget = { budgetNanodollars: 25_000_000_000 };
    const website = await accounts.createKey({ accountId, name: "website", bounds: budget });
    const job = await accounts.createKey({ accountId, name: "nightly job", allowedModels: ["famA-4o-mini"] });
    const old = await accounts.createKey({ accountId, name: "laptop", expiresAt: Date.now() + 20 * dayMs });
    await accounts.revokeKey(old.id);
    await creditWallet(store, { accountId, nanodollars: 40e9, note: "Welcome" }, () => start);
    await creditWallet(store, { accountId, nanodollars: 25e9, note: "Invoice 2026-117" }, () => start + 18 * dayMs);
    await createVoucher(store, { nanodollars: 10e9 }, Date.now());
    const callers = [website, website, website, job].map(({ id: keyId }) => ({ accountId, keyId }));
    for (const [email, name] of [
      ["grace@example.org", "Grace Hopper"],
      ["alan@example.org", "Alan Turing"],
      ["barbara@example.org", "Barbara Liskov"],
    ] as const) {
      const member = await accounts.create({ email, name });
      await creditWallet(store, { accountId: member.id, nanodollars: 12e9, note: "Welcome" }, () => start);
      const key = await accounts.createKey({
        accountId: member.id,
        name: "notebook",
        expiresAt: Date.now() + callers.length * dayMs,
      });
      callers.push({ accountId: member.id, keyId: key.id });
    }
    await writeCalls(store, callers);
  } finally {
    await store.close();
  }
}

/** Who makes a call. */
type CallingKey = Pick<OpenCall, "accountId" | "keyId">;

/** Writes calls of each day, by turns of these keys. */
async function writeCalls(store: Store, callers: readonly CallingKey[]): Promise<void> {
  const below = randomBelow(7);
  const random = () => below(1_000_000) / 1_000_000;
  const now = Date.now();
  for (let day = days; day >= 0; day--) {
    // Fewer calls on weekends, and more from week to week.
    const weekday = new Date(now - day * dayMs).getUTCDay();
    const count = Math.round((weekday % 6 === 0 ? 12 : 30) * (1 + (days - day) / days) * (0.7 + random() * 0.6));
    const latest = now - day * dayMs;
    const calls = Array.from({ length: count }, (_, place) => {
      const openedAt = Math.floor(latest - (day === 0 ? random() * 5_400_000 : random() * dayMs));
      return createCall(callers[place % callers.length] as CallingKey, openedAt, random);
    });
    await store.writeLedger(calls.flat());
  }
}

function createCall(who: CallingKey, openedAt: number, random: () => number) {
  const model = modelOf(calledModels[Math.floor(random() * calledModels.length)] as string);
  const { premium, price } = model;
  const open: OpenCall = {
    kind: "open",
    callId: makeCallId(openedAt),
    ...who,
    model: model.id,
    capability: model.capability,
    premium,
    openedAt,
    quotaDay: premium ? null : Math.floor(openedAt / dayMs),
    holdNanodollars: 0,
    holdTokens: 0,
    priceVersion: undefined,
    session: `session-${Math.floor(random() * 20)}`,
  };
  const meters: Meters = {
    inputToken: 200 + Math.floor(random() * 2800),
    outputToken: 80 + Math.floor(random() * 900),
  };
  const costs = price === undefined ? undefined : costNanodollars(compilePrice(price), meters);
  const failed = random() < 0.02;
  const firstByteMs = 180 + Math.floor(random() * 500);
  return [
    open,
    {
      kind: "end",
      open,
      outcome: failed ? "released" : "settled",
      settledAt: openedAt + 2000,
      meters: failed ? {} : meters,
      usageSource: failed ? "none" : "reported",
      costNanodollars: failed ? undefined : costs,
      chargedNanodollars: premium && !failed ? (costs ?? 0) : 0,
      quotaTokens: premium || failed ? 0 : (meters.inputToken ?? 0) + (meters.outputToken ?? 0),
      plugin: model.ownedBy,
      status: failed ? 500 : 200,
      errorCode: failed ? "upstream_timeout" : undefined,
      tag: premium ? "support bot" : undefined,
      firstByteMs: failed ? undefined : firstByteMs,
      durationMs: firstByteMs + Math.floor(random() * 4000),
    },
  ] as const;
}
