import { usageColumns } from "../../contract/index.ts";
import { type Bucket, findBucketIndex } from "./buckets.ts";

/** Figures of usage. */
export const usageFigures = [
  "requests",
  "failures",
  ...usageColumns,
  "cost_nanodollars",
  "charged_nanodollars",
  "quota_tokens",
] as const;
export type UsageFigures = Record<(typeof usageFigures)[number], number>;

/** The figures of one model in one hour, or in the day that begins with it. */
export interface UsageRow extends UsageFigures {
  /** Hours since 1970. */
  hour: number;
  model: string;
}

/** Figures with what each model, or other group, has of them, by its name. */
export interface UsageSum {
  readonly figures: UsageFigures;
  readonly byModel: ReadonlyMap<string, UsageFigures>;
}

/** Figures in buckets, and all of them together. */
export interface UsageSums {
  readonly totals: UsageSum;
  readonly buckets: readonly (Bucket & UsageSum)[];
}

/** Sorts rows into buckets. A bucket without a row is all zeros; a row outside of all buckets is left out. */
export function sumUsage(buckets: readonly Bucket[], rows: Iterable<UsageRow>): UsageSums {
  const totals = emptySum();
  const sums = buckets.map((bucket) => ({ ...bucket, ...emptySum() }));
  for (const row of rows) {
    const index = findBucketIndex(buckets, row.hour);
    if (index === undefined) continue;
    addTo(totals, row);
    addTo(sums[index] as MutableUsageSum, row);
  }
  return { totals, buckets: sums };
}

interface MutableUsageSum extends UsageSum {
  readonly byModel: Map<string, UsageFigures>;
}

function addTo({ figures, byModel }: MutableUsageSum, row: UsageRow): void {
  let modelFigures = byModel.get(row.model);
  if (modelFigures === undefined) {
    modelFigures = zeros();
    byModel.set(row.model, modelFigures);
  }
  for (const name of usageFigures) {
    figures[name] += row[name];
    modelFigures[name] += row[name];
  }
}

function emptySum(): MutableUsageSum {
  return { figures: zeros(), byModel: new Map() };
}

function zeros(): UsageFigures {
  return Object.fromEntries(usageFigures.map((name) => [name, 0])) as UsageFigures;
}
