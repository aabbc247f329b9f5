import type { WrittenCall } from "../billing/index.ts";

/** The usage of a call, by what is known. */
const usageColumns = [
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "images",
  "audio_ms",
  "characters",
] as const;

/** A call as `ledger export` tells it; what is not known is `null`, and left out of `usage`. */
export function callJson(call: WrittenCall) {
  const known = usageColumns.filter((column) => call[column] !== null);
  return { ...factsOf(call), usage: Object.fromEntries(known.map((column) => [column, call[column]])) };
}

const factNames = Object.keys(factsOf({} as WrittenCall));

/** The first line of the CSV: the fields of the JSON, usage in a column each. */
export const csvHeader = [...factNames, ...usageColumns].join(",");

/** What is not known is empty. */
export function callCsv(call: WrittenCall): string {
  return [...Object.values(factsOf(call)), ...usageColumns.map((column) => call[column])].map(cellOf).join(",");
}

function factsOf(call: WrittenCall) {
  return {
    id: call.id,
    account: call.account_id,
    key: call.key_id,
    model: call.model,
    capability: call.capability,
    premium: call.premium === 1,
    route: call.route,
    state: call.state,
    usage_source: call.usage_source,
    cost_nanodollars: call.cost_nanodollars,
    charged_nanodollars: call.charged_nanodollars,
    quota_tokens: call.quota_tokens,
    price_version: call.price_version,
    status: call.status,
    error_code: call.error_code,
    opened_at: timeOf(call.opened_at),
    ended_at: timeOf(call.settled_at),
    first_byte_ms: call.first_byte_ms,
    duration_ms: call.duration_ms,
  };
}

function timeOf(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}

/** RFC 4180. */
function cellOf(value: string | number | boolean | null): string {
  if (value === null) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
