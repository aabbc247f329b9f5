import { figureColumns, type Store } from "../db/index.ts";
import { readFigures, readGroups, readSum, type StatisticsGroup } from "./statistics.ts";
import { lowDays, readLowWallets } from "./wallet-pace.ts";

const costPlace = figureColumns.indexOf("cost_nanodollars");
/** Groups that are compared: those that cost the most. */
const comparedMax = 50;
const walletsMax = 5;

export interface DigestSpan {
  /** The hour after the last one, counted from 1970. */
  readonly until: number;
  readonly hours: number;
  readonly now: number;
}

/** Reads the figures of some hours, and of as many before these, from the sums of hours and days. */
export async function readDigestFigures(store: Store, { until, hours, now }: DigestSpan) {
  const from = until - hours;
  const [current, before] = [await readSums(store, from, until), await readSums(store, from - hours, from)];
  return {
    current,
    before,
    accounts: await readSpenders(store, "account", { from, until }),
    models: await readSpenders(store, "model", { from, until }),
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

/** The accounts or models that cost the most in the hours and as many before them, with the cost of each. */
async function readSpenders(
  store: Store,
  group: Extract<StatisticsGroup, "account" | "model">,
  { from, until }: { from: number; until: number },
) {
  const hours = until - from;
  const starts = Array.from({ length: 2 * hours }, (_, place) => from - hours + place);
  const options = { group, rank: "cost", limit: comparedMax, charted: comparedMax } as const;
  const { groups } = await readGroups(store, { filter: {}, hours: 1, starts }, options);
  return groups
    .filter(({ value }) => value !== "")
    .map(({ value: id, byHour = new Map<number, readonly number[]>() }) => {
      let [spendNanodollars, beforeNanodollars] = [0, 0];
      for (const [hour, figures] of byHour) {
        if (hour >= from) spendNanodollars += figures[costPlace] ?? 0;
        else beforeNanodollars += figures[costPlace] ?? 0;
      }
      return { id, spendNanodollars, beforeNanodollars };
    });
}
