import { figureColumns, type Store, type UsageSum } from "../../src/db/index.ts";
import { UsageRollup } from "../../src/reports/index.ts";

/** Sums of calls of an account and a model in a bucket, as the roll-up writes them. */
export interface UsageGiven extends Partial<Record<UsageSum, number>> {
  readonly accountId: string;
  /** The first one of the bucket, counted from 1970. */
  readonly hour: number;
  /** How long the bucket is; default both the hour and its day. */
  readonly hours?: 1 | 24;
  readonly model: string;
}

/** Writes sums by hand. */
export async function insertUsage(store: Store, given: readonly UsageGiven[]): Promise<void> {
  const rows = given.flatMap(({ accountId, hour, hours, model, ...sums }) =>
    (hours === undefined ? ([1, 24] as const) : [hours]).map((length) => ({
      key: [length, "call", hour - (hour % length), accountId, "key1", model, "openai", 200, ""],
      figures: figureColumns.map((name) => sums[name as UsageSum] ?? 0),
    })),
  );
  await store.addUsage(rows);
}

/** Counts all calls that have ended, as a gateway does once a minute. */
export async function rollUp(store: Store, now: () => number = Date.now): Promise<void> {
  const fail = (_event: string, { error }: Record<string, unknown>) => {
    throw error;
  };
  await new UsageRollup({ store, retentionDays: 90, now, log: { warn: fail } }).flush();
}
