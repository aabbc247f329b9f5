import { type RawBuilder, sql } from "kysely";
import type { Store } from "../../db/index.ts";
import { type UsageFigures, usageFigures } from "./sum-usage.ts";

/** Filter of usage of the whole gateway; an absent list does not filter. */
export interface UsageRowsQuery {
  /** How long the buckets are. */
  readonly hours: 1 | 24;
  /** The first hour of each bucket, counted from 1970. */
  readonly starts: readonly number[];
  /** Whether accounts, and API keys, are told apart; models always are. */
  readonly byAccount: boolean;
  readonly byKey: boolean;
  readonly accountIds?: readonly string[] | undefined;
  readonly keyIds?: readonly string[] | undefined;
  readonly models?: readonly string[] | undefined;
}

/** Figures of one bucket. Names that are not told apart are empty. */
export interface UsageOfBucket extends UsageFigures {
  /** The first hour of the bucket. */
  readonly hour: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
}

/** Rows that are read at once; more of them than that are an error of whoever asks. */
const rowsMax = 50_000;

/**
 * Usage of all accounts, or of some, by bucket, model and what else is told apart. Sums of hours are there for as long as calls
 * are.
 *
 * @returns `undefined` when there are too many rows.
 */
export async function readUsageRows(
  { db }: Pick<Store, "db">,
  { hours, starts, byAccount, byKey, accountIds, keyIds, models }: UsageRowsQuery,
): Promise<UsageOfBucket[] | undefined> {
  if (starts.length === 0) return [];
  const isOf = (column: string, values: readonly string[] | undefined): RawBuilder<unknown>[] =>
    values === undefined ? [] : [sql`${sql.ref(column)} in (${values.length === 0 ? sql`null` : sql.join(values)})`];
  const isSplit = byAccount || byKey || accountIds !== undefined || keyIds !== undefined;
  // The same calls stand there by account and key, and once more of all accounts together.
  const owner = accountIds === undefined ? [isSplit ? sql`account_id > ''` : sql`account_id = ''`] : [];
  const conditions = [
    sql`hours = ${sql.lit(hours)} and kind = 'call'`,
    sql`hour in (${sql.join(starts.map((start) => sql.lit(start)))})`,
    ...owner,
    ...isOf("account_id", accountIds),
    ...isOf("key_id", keyIds),
    ...isOf("model", models),
    // Refused requests, which used nothing, have no model that is known to exist.
    sql`requests + failures > 0`,
  ];
  const [account, key] = [byAccount ? sql.ref("account_id") : sql`''`, byKey ? sql.ref("key_id") : sql`''`];
  const sums = sql.raw(usageFigures.map((name) => `cast(sum(${name}) as bigint) as ${name}`).join(", "));
  const { rows } = await sql<UsageOfBucket>`select hour, model, ${account} as "accountId", ${key} as "keyId", ${sums}
    from usage where ${sql.join(conditions, sql` and `)} group by 1, 2, 3, 4 limit ${sql.lit(rowsMax + 1)}`.execute(db);
  return rows.length > rowsMax ? undefined : rows;
}
