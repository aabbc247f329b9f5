import { usageColumns } from "../../contract/index.ts";
import type { WrittenCall } from "../../reports/index.ts";
import { toIsoTime } from "../lib/format.ts";

/** The fields of an exported call except its usage; unknown ones are `null`. */
export function toFields(call: WrittenCall) {
  return {
    id: call.id,
    account: call.account_id,
    key: call.key_id,
    model: call.model,
    capability: call.capability,
    premium: call.premium === 1,
    plugin: call.plugin,
    state: call.state,
    usage_source: call.usage_source,
    cost_nanodollars: call.cost_nanodollars,
    provider_cost_nanodollars: call.provider_cost_nanodollars,
    provider_price_version: call.provider_price_version,
    markup_basis_points: call.markup_basis_points,
    charged_nanodollars: call.charged_nanodollars,
    quota_tokens: call.quota_tokens,
    price_version: call.price_version,
    session: call.session,
    agent: call.agent,
    parent_agent: call.parent_agent,
    status: call.status,
    error_code: call.error_code,
    opened_at: toIsoTime(call.opened_at),
    ended_at: toIsoTime(call.settled_at),
    first_byte_ms: call.first_byte_ms,
    duration_ms: call.duration_ms,
    cache_saved_nanodollars: call.cache_saved_nanodollars,
    cache_miss: call.cache_miss,
    cache_miss_place: call.cache_miss_place,
    cache_missed_tokens: call.cache_missed_tokens,
    cache_lost_nanodollars: call.cache_lost_nanodollars,
  };
}

/** Unknown usage is left out of `usage`. */
export function toJson(call: WrittenCall) {
  const columns = usageColumns.filter((column) => call[column] !== null);
  return { ...toFields(call), usage: Object.fromEntries(columns.map((column) => [column, call[column]])) };
}
