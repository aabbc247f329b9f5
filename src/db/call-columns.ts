import { meterNames, meterTable } from "../contract/index.ts";
import type { CallEnded, CallOpened } from "./ledger-write.ts";

type Value = string | number | null;

/** A column of `open_calls` or `calls`: its type in SQL, and what of a record it has. */
export interface CallColumn<Of> {
  readonly type: "text" | "bigint";
  readonly read: (record: Of) => Value;
}

type Columns<Of> = Readonly<Record<string, CallColumn<Of>>>;

/**
 * The columns that a hold is written with. Both engines write calls by these maps, and the functions of PostgreSQL are made
 * from them.
 */
export const openColumns: Columns<CallOpened> = {
  id: { type: "text", read: (open) => open.callId },
  account_id: { type: "text", read: (open) => open.accountId },
  key_id: { type: "text", read: (open) => open.keyId },
  model: { type: "text", read: (open) => open.model },
  capability: { type: "text", read: (open) => open.capability },
  premium: { type: "bigint", read: (open) => (open.premium ? 1 : 0) },
  opened_at: { type: "bigint", read: (open) => open.openedAt },
  price_version: { type: "text", read: (open) => open.priceVersion },
  session: { type: "text", read: (open) => open.session ?? null },
  quota_day: { type: "bigint", read: (open) => open.quotaDay },
  budget_month: { type: "bigint", read: (open) => open.budgetMonth },
  hold_nanodollars: { type: "bigint", read: (open) => open.holdNanodollars },
  hold_tokens: { type: "bigint", read: (open) => open.holdTokens },
};

/** What an extension of a hold changes. */
export const extensionColumns = ["quota_day", "budget_month", "hold_nanodollars", "hold_tokens"] as const;

/** The columns that the end of a call is written with. */
export const callColumns: Columns<CallEnded> = {
  ...Object.fromEntries(
    Object.entries(openColumns).map(([name, { type, read }]) => [
      name,
      { type, read: ({ open }: CallEnded) => read(open) },
    ]),
  ),
  state: { type: "text", read: (end) => end.state },
  settled_at: { type: "bigint", read: (end) => end.settledAt },
  ...Object.fromEntries(
    meterNames.map((name) => [
      meterTable[name].column,
      { type: "bigint", read: ({ meters }: CallEnded) => meters[name] ?? null },
    ]),
  ),
  usage_source: { type: "text", read: (end) => end.usageSource },
  cost_nanodollars: { type: "bigint", read: (end) => end.costNanodollars },
  charged_nanodollars: { type: "bigint", read: (end) => end.chargedNanodollars },
  quota_tokens: { type: "bigint", read: (end) => end.quotaTokens },
  route: { type: "text", read: (end) => end.route },
  status: { type: "bigint", read: (end) => end.status },
  error_code: { type: "text", read: (end) => end.errorCode },
  first_byte_ms: { type: "bigint", read: (end) => end.firstByteMs },
  duration_ms: { type: "bigint", read: (end) => end.durationMs },
  protocol: { type: "text", read: (end) => end.protocol ?? null },
  client_request_id: { type: "text", read: (end) => end.clientRequestId ?? null },
  detail: { type: "text", read: (end) => end.detail ?? null },
  tag: { type: "text", read: (end) => end.tag ?? null },
};
