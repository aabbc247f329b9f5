import type { Store } from "../../db/index.ts";
import { lowDays, readFigures, readLowWallets, readSpendChanges, readSum } from "../../reports/index.ts";

/** Groups whose spend is compared. */
const comparedMax = 50;
const walletsMax = 5;

interface DigestSpan {
  /** The hour after the last one, counted from 1970. */
  readonly until: number;
  readonly hours: number;
  readonly now: number;
}

/** Reads the figures of a period, and of the period before it, from the sums of hours and days. */
export async function readDigestFigures(store: Store, { until, hours, now }: DigestSpan) {
  const from = until - hours;
  const [current, before] = [await readSums(store, from, until), await readSums(store, from - hours, from)];
  const period = { from, hours, step: 1, limit: comparedMax } as const;
  return {
    current,
    before,
    accounts: await readSpendChanges(store, "account", period),
    models: await readSpendChanges(store, "model", period),
    wallets: (await readLowWallets(store, now, walletsMax)).filter(({ daysLeft }) => daysLeft < lowDays),
  };
}

async function readSums(store: Store, from: number, until: number) {
  const sums = readFigures(await readSum(store, {}, { from, until }));
  return {
    spendNanodollars: sums.cost_nanodollars,
    requests: sums.requests + sums.failures + sums.refused,
    errors: sums.failed + sums.refused,
  };
}
