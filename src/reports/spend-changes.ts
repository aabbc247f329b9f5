import { figureColumns, type Store } from "../db/index.ts";
import { readGroups, type StatisticsGroup } from "./statistics.ts";

const costPlace = figureColumns.indexOf("cost_nanodollars");

/** The cost of an account or model in a period, and in the period of the same length before it. */
export interface SpendChange {
  readonly id: string;
  readonly spendNanodollars: number;
  readonly beforeNanodollars: number;
}

interface SpendPeriod {
  /** Hours since 1970. */
  readonly from: number;
  readonly hours: number;
  /** Hours that the database sums before they are added here: 1, or 24 for whole days. */
  readonly step: 1 | 24;
  /** Maximum number of groups: those that cost the most in both periods together. */
  readonly limit: number;
}

/** Reads the accounts or models that cost the most in a period and the period before it. */
export async function readSpendChanges(
  store: Store,
  group: Extract<StatisticsGroup, "account" | "model">,
  { from, hours, step, limit }: SpendPeriod,
): Promise<SpendChange[]> {
  const starts = Array.from({ length: (2 * hours) / step }, (_, place) => from - hours + place * step);
  const options = { group, rank: "cost", limit, charted: limit } as const;
  const { groups } = await readGroups(store, { filter: {}, hours: step, starts }, options);
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

/** Returns the changes that are not zero, the largest first. */
export function pickMovers<Change extends SpendChange>(changes: readonly Change[], limit: number): Change[] {
  const sizeOf = ({ spendNanodollars, beforeNanodollars }: SpendChange) =>
    Math.abs(spendNanodollars - beforeNanodollars);
  return changes
    .filter((change) => sizeOf(change) > 0)
    .sort((one, other) => sizeOf(other) - sizeOf(one))
    .slice(0, limit);
}
