import type { BookWrite, EndWrite, OpenWrite } from "../book-write.ts";
import type { Lane } from "./lane.ts";

/** `40P01` and `40001`: nothing was written, and trying again helps. */
const transient = /^40/;

/** Writes a batch in one round trip and one transaction; returns the guarded holds that were left out. */
export async function writeBatch(
  lane: Lane,
  nodeId: string,
  batch: readonly BookWrite[],
): Promise<ReadonlySet<OpenWrite> | undefined> {
  const { ends, opens, late } = sort(batch);
  const statement = {
    name: "write_books",
    text: "select write_books($1, $2, $3, $4) as refused",
    values: [nodeId, jsonOf(ends, endRow), jsonOf(opens, openRow), jsonOf(late, endRow)],
  };
  const { rows } = await lane.query<{ refused: string[] | null }>(statement).catch((error) => {
    if (!transient.test(String((error as { code?: unknown }).code))) throw error;
    return lane.query<{ refused: string[] | null }>(statement);
  });
  const refused = rows[0]?.refused;
  if (refused === null || refused === undefined) return undefined;
  return new Set(opens.filter((open) => refused.includes(open.callId)));
}

/** Of several ends of one call the first stands. An end whose call is opened in the same batch comes after it. */
function sort(batch: readonly BookWrite[]): { ends: EndWrite[]; opens: OpenWrite[]; late: EndWrite[] } {
  const opens = batch.filter((write) => write.kind === "open");
  const opened = new Set(opens.map((open) => open.callId));
  const ended = new Set<string>();
  const ends: EndWrite[] = [];
  const late: EndWrite[] = [];
  for (const write of batch) {
    if (write.kind === "open" || ended.has(write.open.callId)) continue;
    ended.add(write.open.callId);
    (opened.has(write.open.callId) ? late : ends).push(write);
  }
  return { ends, opens, late };
}

function jsonOf<Write>(writes: readonly Write[], rowOf: (write: Write) => unknown): string | null {
  return writes.length === 0 ? null : JSON.stringify(writes.map(rowOf));
}

function openRow(open: OpenWrite) {
  return {
    id: open.callId,
    account_id: open.accountId,
    key_id: open.keyId,
    model: open.model,
    capability: open.capability,
    price_version: open.priceVersion,
    premium: open.premium ? 1 : 0,
    opened_at: open.openedAt,
    quota_day: open.quotaDay,
    hold_nanodollars: open.holdNanodollars,
    hold_tokens: open.holdTokens,
    guarded: open.guard !== undefined,
    quota_limit: open.guard?.quotaLimit,
    // Left out of the text of a call that has none.
    budget_month: open.budgetMonth ?? undefined,
    partial: open.partial ? 1 : undefined,
    budget_limit: open.guard?.budgetLimit,
  };
}

function endRow({ open, meters, ...end }: EndWrite) {
  return {
    id: open.callId,
    state: end.state,
    usage_source: end.usageSource,
    route: end.route,
    error_code: end.errorCode,
    settled_at: end.settledAt,
    cost_nanodollars: end.costNanodollars,
    charged_nanodollars: end.chargedNanodollars,
    quota_tokens: end.quotaTokens,
    status: end.status,
    first_byte_ms: end.firstByteMs,
    duration_ms: end.durationMs,
    input_tokens: meters.inputToken,
    cache_read_tokens: meters.cacheReadToken,
    cache_write_tokens: meters.cacheWriteToken,
    output_tokens: meters.outputToken,
    images: meters.image,
    audio_ms: meters.audioMs,
    characters: meters.character,
    call_units: meters.call,
  };
}
