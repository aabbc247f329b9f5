import type { Store } from "../store/index.ts";

/** The latest calls of an account, newest first; `before` (milliseconds since 1970) goes further back. */
export function readRecentCalls(
  { db }: Store,
  accountId: string,
  { limit, before = Number.MAX_SAFE_INTEGER }: { limit: number; before?: number | undefined },
) {
  return db
    .selectFrom("calls")
    .select([
      "id",
      "key_id",
      "model",
      "capability",
      "premium",
      "state",
      "opened_at",
      "input_tokens",
      "cache_read_tokens",
      "cache_write_tokens",
      "output_tokens",
      "usage_source",
      "cost_nanodollars",
      "charged_nanodollars",
      "quota_tokens",
      "route",
      "status",
      "error_code",
      "first_byte_ms",
      "duration_ms",
    ])
    .where("account_id", "=", accountId)
    .where("opened_at", "<", before)
    .orderBy("opened_at", "desc")
    .limit(limit)
    .execute();
}

/** One of {@link readRecentCalls}. */
export type RecentCall = Awaited<ReturnType<typeof readRecentCalls>>[number];
