import { maskKey, useKeyNames } from "../../data/keys.ts";
import { capabilityNames } from "../../data/models.ts";
import type { LoggedRequest } from "../../data/requests.ts";
import { formatAge, formatCount, formatMoment, formatMs } from "../../format.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Usd } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";

interface RequestsTableProps {
  requests: readonly LoggedRequest[];
  isAdmin: boolean;
  onShow: (id: string) => void;
}

export function RequestsTable({ requests, isAdmin, onShow }: RequestsTableProps) {
  const keyName = useKeyNames();
  return <Table columns={toColumns({ keyName, isAdmin, onShow })} rows={requests} rowKey={({ id }) => id} />;
}

const toColumns = ({
  keyName,
  isAdmin,
  onShow,
}: Omit<RequestsTableProps, "requests"> & { keyName: (id: string) => string }): readonly Column<LoggedRequest>[] => [
  {
    name: "Request",
    className: "name lead",
    cell: ({ id, model, endpoint, capability, key_id, account, email }) => (
      <>
        <LinkButton look="link cut" title={id} onClick={() => onShow(id)}>
          {model ?? endpoint ?? id}
        </LinkButton>
        <span className="sub cut" title={maskKey(key_id)}>
          {capability !== null && `${capabilityNames[capability]} · `}
          {isAdmin ? (email ?? account) : keyName(key_id)}
        </span>
      </>
    ),
  },
  { name: "Status", cell: (request) => <RequestStatus request={request} /> },
  { name: "Tokens", className: "end", cell: formatTokens },
  { name: "First byte", className: "end wide-only", cell: ({ first_byte_ms }) => formatMs(first_byte_ms) },
  { name: "Duration", className: "end wide-only", cell: ({ duration_ms }) => formatMs(duration_ms) },
  { name: "Cost", className: "end", cell: (request) => <RequestCost request={request} /> },
  { name: "Plugin", className: "wide-only", cell: ({ route }) => route ?? "–" },
  {
    name: "Time",
    className: "end tight",
    cell: ({ at }) => (
      <time dateTime={at ?? undefined} title={formatMoment(at)}>
        {formatAge(at)}
      </time>
    ),
  },
];

export function RequestStatus({ request: { state, status, error_code, requests } }: { request: LoggedRequest }) {
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

/** Input → output; `≈` marks estimated usage. Unknown amounts are a dash. */
function formatTokens(request: LoggedRequest): string {
  const { input_tokens, audio_input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens } = request;
  const written = [cache_write_tokens, cache_write_1h_tokens];
  const input = formatSum([input_tokens, audio_input_tokens, cache_read_tokens, ...written]);
  const output = formatSum([request.output_tokens, request.audio_output_tokens, request.image_output_tokens]);
  if (input === "–" && output === "–") return "–";
  return `${request.usage_source === "estimated" ? "≈ " : ""}${input} → ${output}`;
}

function formatSum(amounts: (number | null)[]): string {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? "–" : formatCount(known.reduce((sum, amount) => sum + amount, 0));
}

export function RequestCost({ request: { premium, quota_tokens, charged_usd } }: { request: LoggedRequest }) {
  if (premium) return charged_usd === null ? "–" : <Usd value={charged_usd} />;
  if (quota_tokens === null) return "–";
  return <span title="Charged to the free quota">{formatCount(quota_tokens)} free</span>;
}
