import type { CompiledQuery } from "kysely";
import { compiledOnce, type Store, shown } from "../store/index.ts";

/**
 * The latest calls of an account, newest first; `before` (milliseconds since 1970) goes further back, `beforeId` with it
 * among calls of that very millisecond. For showing: a call of the last moment may be missing, and be there when asked
 * again.
 */
export async function readRecentCalls(
  { db }: Store,
  accountId: string,
  { limit, before = Number.MAX_SAFE_INTEGER, beforeId = "" }: CallsPage,
): Promise<RecentCall[]> {
  const parameters = [accountId, before, before, beforeId, limit];
  return (await db.executeQuery<RecentCall>({ ...compiledFor(db), parameters })).rows;
}

/** Every open page asks this. */
const compiledFor = compiledOnce(compile);

function compile(db: Store["db"]) {
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
      "images",
      "audio_ms",
      "characters",
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
    .where("account_id", "=", "")
    .where("opened_at", "<=", 0)
    .where((where) => where.or([where("opened_at", "<", 0), where("id", "<", "")]))
    .orderBy("opened_at", "desc")
    .orderBy("id", "desc")
    .limit(0)
    .modifyEnd(shown)
    .compile();
}

/** Which of the calls. */
export interface CallsPage {
  readonly limit: number;
  readonly before?: number | undefined;
  readonly beforeId?: string | undefined;
}

/** One of {@link readRecentCalls}. */
export type RecentCall = ReturnType<typeof compile> extends CompiledQuery<infer Row> ? Row : never;
