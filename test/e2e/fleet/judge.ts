import type { Store } from "../../../src/db/index.ts";
import { readWalletState, verifyLedger } from "../../../src/ledger/index.ts";
import { isChargedAs } from "../kill/expect-true-ledger.ts";
import type { Call, Callers } from "./callers.ts";
import type { Allowance } from "./faults.ts";
import { budgetNanodollars, type Fleet, freeTokensPerDay, type Payer } from "./fleet.ts";
import { numberOf, outputTokensMax, questionOf, usageOf } from "./numbers.ts";

/** What the books of a fleet are compared by, after all is mended and at rest. */
export interface Evidence {
  readonly fleet: Fleet;
  readonly callers: Callers;
  /** What the faults allow. */
  readonly allows: Allowance;
  /** When the last of them was mended. */
  readonly mendedMs: number;
  /** Accounts that went with lost commits. */
  readonly lostAccounts: ReadonlySet<string>;
}

const statusesAlways = [0, 200, 403, 429, 503];
const statusesOfProvider = [500];
const shownMax = 5;

/**
 * Compares the ledger with what the provider served and the clients have:
 *
 * 1. A delivered answer is charged once, to its own account and key, by the provider's figures. Where commits may be lost, this holds for calls
 *    that began after all was mended; of others what is charged is charged so.
 * 2. Nothing is charged that the provider did not serve, nothing twice, nothing to another.
 * 3. A call that ended without a settlement has no charge. No call is open, and no money is held.
 * 4. Wallets, budgets and quotas are never beyond what was there, unless holds may have been released; then by the calls that ran.
 * 5. `ledger verify` finds nothing.
 * 6. Clients get only the documented statuses, and no call hangs.
 *
 * @returns What is not so, and how many calls are charged.
 */
export async function judge(store: Store, evidence: Evidence): Promise<{ broken: string[]; charged: number }> {
  const { fleet, callers, allows, lostAccounts } = evidence;
  const rows = await readCalls(store);
  const books = await fleet.readBooks();
  const settled = rows.filter(({ state }) => state === "settled");
  const broken = [
    ...findUnpaid(rows, evidence),
    ...findForeign(settled, evidence, books),
    ...list("ended without a settlement, and charged", rows, (row) => row.state !== "settled" && hasCharge(row)),
    ...findStatuses(callers.calls, allows),
    ...callers.falselyReady,
  ];
  const open = await store.db.selectFrom("open_calls").select("id").execute();
  if (open.length > 0) broken.push(`${open.length} calls are open`);
  if (allows.failedAttempts === undefined) {
    const twice = [...books].filter(([, times]) => times > 1);
    if (twice.length > 0) broken.push(`The provider was asked twice: calls ${shown(twice.map(([number]) => number))}`);
  }
  if (allows.lostCommits === undefined && books.size > rows.length + open.length) {
    broken.push(`The provider was asked for ${books.size} calls, and ${rows.length + open.length} have a row`);
  }
  broken.push(...(await findOverdrawn(store, settled, evidence)));
  const { differences } = await verifyLedger(store);
  const isLost = (difference: string) =>
    difference.includes("no such account") && [...lostAccounts].some((id) => difference.includes(id));
  broken.push(...differences.filter((each) => !isLost(each)).map((each) => `ledger verify: ${each}`));
  return { broken, charged: settled.length };
}

type Row = Awaited<ReturnType<typeof readCalls>>[number];

/** The ended calls of the ledger. */
export function readCalls({ db }: Store) {
  return db
    .selectFrom("calls")
    .select(["id", "account_id", "key_id", "state", "model", "input_tokens", "output_tokens", "usage_source"])
    .select(["charged_nanodollars", "quota_tokens"])
    .execute();
}

const hasCharge = (row: Row) => Boolean(row.charged_nanodollars || row.quota_tokens);
const shown = (items: readonly unknown[]) =>
  items.length > shownMax
    ? `${items.slice(0, shownMax).join(", ")} and ${items.length - shownMax} more`
    : items.join(", ");

function list(what: string, rows: readonly Row[], isSo: (row: Row) => boolean): string[] {
  const bad = rows.filter(isSo);
  return bad.length === 0 ? [] : [`${bad.length} calls ${what}: ${shown(bad.map(({ id }) => id))}`];
}

type Delivered = Pick<Evidence, "callers" | "allows" | "mendedMs">;

/** Delivered calls that have no charge and should have one. */
export function findUnsettled(rows: readonly Row[], { callers, allows, mendedMs }: Delivered): Call[] {
  const settled = new Set(rows.filter(({ state }) => state === "settled").map(({ id }) => id));
  return callers.calls.filter((call) => {
    const mayBeLost = allows.lostCommits === true && call.begunMs < mendedMs;
    return call.isDelivered && !mayBeLost && !settled.has(call.id as string);
  });
}

function findUnpaid(rows: readonly Row[], evidence: Delivered): string[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const unsettled = findUnsettled(rows, evidence).map(({ number, payer, id }) => {
    return `${number} of ${payer.name} (${id}: ${byId.get(id as string)?.state ?? "no row"})`;
  });
  const wrong = evidence.callers.calls.flatMap(({ number, payer, id, isDelivered }) => {
    const row = isDelivered ? byId.get(id as string) : undefined;
    if (row?.state !== "settled" || (isChargedAs(row, usageOf(number)) && isOf(row, payer))) return [];
    return [`${number} of ${payer.name} (${id}: by other figures, or to another)`];
  });
  const bad = [...unsettled, ...wrong];
  return bad.length === 0 ? [] : [`${bad.length} delivered calls are not charged as served: ${shown(bad)}`];
}

const isOf = (row: Row, payer: Payer) => row.account_id === payer.accountId && row.key_id === payer.keyId;

/** Charges that are nobody's call, another's, a second one, or by figures that are not the provider's. */
function findForeign(
  settled: readonly Row[],
  { callers, allows }: Evidence,
  books: ReadonlyMap<number, number>,
): string[] {
  const byNumber = new Map(callers.calls.map((call) => [call.number, call]));
  const byId = new Map(callers.calls.flatMap((call) => (call.id === undefined ? [] : [[call.id, call] as const])));
  const charged = new Set<number>();
  const bad = settled.flatMap((row) => {
    const say = (what: string) => [`${row.id} ${what}`];
    if (row.usage_source !== "reported") {
      if (allows.estimates !== true) return say("is an estimate");
      const call = byId.get(row.id);
      const isKnown = call === undefined ? callers.calls.some(({ payer }) => isOf(row, payer)) : isOf(row, call.payer);
      return isKnown ? [] : say("is an estimate that another pays");
    }
    const number = numberOf(row.input_tokens as number, row.output_tokens as number);
    const call = byNumber.get(number);
    if (call === undefined || !books.has(number)) return say("was not served");
    if (charged.has(number)) return say(`is call ${number}, which is charged twice`);
    charged.add(number);
    if (!isOf(row, call.payer)) return say(`is call ${number} of ${call.payer.name}, and ${row.account_id} pays it`);
    return isChargedAs(row, usageOf(number)) ? [] : say(`is call ${number}, by other figures`);
  });
  return bad.length === 0 ? [] : [`${bad.length} charges are wrong: ${shown(bad)}`];
}

function findStatuses(calls: readonly Call[], allows: Allowance): string[] {
  const statuses = [
    ...statusesAlways,
    ...(allows.failedAttempts ? statusesOfProvider : []),
    ...(allows.unknownKeys ? [401] : []),
  ];
  const bad = calls.filter(({ status, code }) => !statuses.includes(status) || code === "hangs");
  const words = new Set(bad.map(({ status, code }) => `${status} ${code}`));
  return bad.length === 0 ? [] : [`${bad.length} calls were told ${[...words].join(", ")}`];
}

/** The most that a call is charged: an estimate counts some tokens more than the provider. */
const promptTokensMax = 2 * questionOf(0).length;

async function findOverdrawn(store: Store, settled: readonly Row[], { callers, allows }: Evidence): Promise<string[]> {
  const broken: string[] = [];
  const payers = new Map(callers.calls.map(({ payer }) => [payer.keyId, payer]));
  for (const payer of payers.values()) {
    const isLost =
      (await store.db.selectFrom("accounts").select("id").where("id", "=", payer.accountId).execute()).length === 0;
    if (isLost) continue;
    const { balanceNanodollars, heldNanodollars } = await readWalletState(store, payer.accountId);
    const own = settled.filter((row) => isOf(row, payer));
    const chargedNanodollars = own.reduce((sum, row) => sum + (row.charged_nanodollars ?? 0), 0);
    const quotaTokens = own.reduce((sum, row) => sum + (row.quota_tokens ?? 0), 0);
    // Each of two faults may release the hold of one call for each of its callers.
    const released = allows.releasedHolds === true ? 2 * callers.countOf(payer) : 0;
    const beyondNanodollars = released * (promptTokensMax * 2000 + outputTokensMax * 8000);
    const beyondTokens = released * (promptTokensMax + outputTokensMax);
    if (heldNanodollars !== 0) broken.push(`${heldNanodollars} nanodollars of ${payer.name} are held`);
    if (balanceNanodollars < -beyondNanodollars)
      broken.push(`The wallet of ${payer.name} has ${balanceNanodollars} nanodollars`);
    if (payer.hasBudget && chargedNanodollars > budgetNanodollars + beyondNanodollars)
      broken.push(`${chargedNanodollars} nanodollars of a budget of ${budgetNanodollars} are spent`);
    if (callers.isOfOneDay && quotaTokens > freeTokensPerDay + beyondTokens)
      broken.push(`${quotaTokens} of ${freeTokensPerDay} free tokens are used by ${payer.name}`);
  }
  return broken;
}
