import { formatCount, formatMs } from "../../format.ts";
import { Age, Usd } from "../../kit/page.tsx";
import type { Column } from "../../kit/table.tsx";
import { amountsOf } from "../models/meters.ts";
import type { LoggedRequest } from "./api.ts";

/** The fields that calls and requests share. */
type CallRow = Pick<
  LoggedRequest,
  | "at"
  | "state"
  | "status"
  | "error_code"
  | "plugin"
  | "first_byte_ms"
  | "duration_ms"
  | "premium"
  | "charged_usd"
  | "quota_tokens"
  | "usage_source"
> &
  Partial<LoggedRequest> & { requests?: number };

/** The columns after the name of a call. */
export const callColumns: readonly Column<CallRow>[] = [
  { name: "Status", cell: (call) => <CallStatus call={call} /> },
  { name: "Tokens", className: "end", cell: formatTokens },
  {
    name: "Time to first token",
    className: "end has-long-name wide-only",
    cell: ({ first_byte_ms }) => formatMs(first_byte_ms),
  },
  { name: "Duration", className: "end wide-only", cell: ({ duration_ms }) => formatMs(duration_ms) },
  { name: "Cost", className: "end", cell: (call) => <CallCost call={call} isAligned /> },
  { name: "Provider", className: "wide-only", cell: ({ plugin }) => plugin ?? "–" },
  {
    name: "Time",
    className: "end tight",
    cell: ({ at }) => (at === null ? "–" : <Age at={at} />),
  },
];

/** A row of refused requests can stand for several. */
export function CallStatus({ call: { state, status, error_code, requests = 1 } }: { call: CallRow }) {
  if (state === "open") {
    return (
      <span className="badge is-accent">
        <span className="dot" />
        running
      </span>
    );
  }
  const tone = status === null || status === 499 ? "is-warn" : status < 400 ? "is-good" : "is-bad";
  const label = status === 499 ? "stopped" : [status ?? state, error_code].filter((part) => part !== null).join(" ");
  return (
    <span>
      <span className={`badge ${tone}`}>{label}</span>
      {requests > 1 && <span className="faint"> × {formatCount(requests)}</span>}
    </span>
  );
}

/** Input → output; `≈` marks estimated usage. */
function formatTokens(call: CallRow): string {
  const input = formatSum(amountsOf(call, "prompt"));
  const output = formatSum(amountsOf(call, "answer"));
  if (input === "–" && output === "–") return "–";
  return `${call.usage_source === "estimated" ? "≈ " : ""}${input} → ${output}`;
}

/** Unknown amounts are shown as a dash, not as 0. */
function formatSum(amounts: (number | null)[]): string {
  const figures = amounts.filter((amount) => amount !== null);
  return figures.length === 0 ? "–" : formatCount(figures.reduce((sum, amount) => sum + amount, 0));
}

/** `isAligned` in a column of costs. */
function CallCost({
  call: { premium, quota_tokens, charged_usd },
  isAligned = false,
}: {
  call: CallRow;
  isAligned?: boolean;
}) {
  if (premium) return charged_usd === null ? "–" : <Usd value={charged_usd} isAligned={isAligned} />;
  if (quota_tokens === null) return "–";
  return <span title="Charged to the free quota">{formatCount(quota_tokens)} free tokens</span>;
}
