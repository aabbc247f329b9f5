import { useState } from "react";
import { Link } from "wouter";
import { type Call, callsPageSize, getOlderCalls, type useCalls } from "../../data/calls.ts";
import { maskKey, useKeyNames } from "../../data/keys.ts";
import { capabilityNames } from "../../data/models.ts";
import { formatAge, formatCount, formatMoment, formatMs } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { Section, Usd } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** The page stays short until older calls are wanted. */
const firstShown = 10;

/** The latest calls with status, duration and cost. */
export function CallsCard({ calls }: { calls: ReturnType<typeof useCalls> }) {
  return (
    <Section title="Recent calls" actions={<Link href="/requests">All requests</Link>}>
      <Loaded state={calls} lines={6}>
        {({ data }) => <Calls latest={data} />}
      </Loaded>
    </Section>
  );
}

/** The latest calls, followed by the older ones that were loaded. */
function Calls({ latest }: { latest: readonly Call[] }) {
  const [older, setOlder] = useState<readonly Call[]>([]);
  const [isAll, setAll] = useState(false);
  const [isExpanded, setExpanded] = useState(false);
  // New calls shift the latest page, so it overlaps with the older ones; drop the duplicates.
  const known = new Set(latest.map(({ id }) => id));
  // Without overlap there is a gap between the two, so the older ones are dropped.
  const isJoined = older.some(({ id }) => known.has(id));
  const all = isJoined ? [...latest, ...older.filter(({ id }) => !known.has(id))] : latest;
  const calls = isExpanded ? all : all.slice(0, firstShown);
  const last = calls.at(-1);
  const { run, isBusy } = useAction(async () => {
    if (!isExpanded) return setExpanded(true);
    if (last === undefined) return;
    const more = await getOlderCalls(last).catch((error: unknown) => toastError(error));
    if (more === undefined) return;
    setOlder([...calls, ...more]);
    setAll(more.length === 0);
  });
  const isOnePage = latest.length < (isExpanded ? callsPageSize : firstShown + 1);
  return (
    <>
      <CallsTable calls={calls} />
      {!isOnePage && (
        <div className="table-foot">
          <span>{isJoined && isAll ? `All ${calls.length} calls` : `The latest ${calls.length} calls`}</span>
          {!(isJoined && isAll) && (
            <Button look="small" disabled={isBusy} onClick={() => void run()}>
              {isBusy ? "Loading…" : "Show older calls"}
            </Button>
          )}
        </div>
      )}
    </>
  );
}

const toColumns = (keyName: (id: string) => string): readonly Column<Call>[] => [
  {
    name: "Model",
    className: "name lead",
    cell: ({ id, model, key_id, capability }) => (
      <>
        <span className="cut" title={id}>
          {model}
        </span>
        <span className="sub cut" title={maskKey(key_id)}>
          {capabilityNames[capability]} · {keyName(key_id)}
        </span>
      </>
    ),
  },
  { name: "Status", cell: (call) => <Status call={call} /> },
  { name: "Tokens", className: "end", cell: formatTokens },
  { name: "First byte", className: "end wide-only", cell: ({ first_byte_ms }) => formatMs(first_byte_ms) },
  { name: "Duration", className: "end wide-only", cell: ({ duration_ms }) => formatMs(duration_ms) },
  { name: "Cost", className: "end", cell: (call) => <Cost call={call} /> },
  { name: "Route", className: "wide-only", cell: ({ route }) => route ?? "–" },
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

function CallsTable({ calls }: { calls: readonly Call[] }) {
  return (
    <Table
      columns={toColumns(useKeyNames())}
      rows={calls}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="pulse" title="No calls yet">
          <p>
            Calls made with your API keys are listed here with status, tokens, cost and route; refused ones are under
            Requests.
          </p>
        </Empty>
      }
    />
  );
}

/** Input → output; `≈` marks estimated usage. */
function formatTokens(call: Call): string {
  if (call.input_tokens === null && call.output_tokens === null) return "–";
  const description = call.usage_source === "estimated" ? "≈ " : "";
  const written = [call.cache_write_tokens, call.cache_write_1h_tokens];
  const input = formatSum([call.input_tokens, call.audio_input_tokens, call.cache_read_tokens, ...written]);
  const output = formatSum([call.output_tokens, call.audio_output_tokens, call.image_output_tokens]);
  return `${description}${input} → ${output}`;
}

/** Unknown amounts are shown as a dash, not as 0. */
function formatSum(amounts: (number | null)[]): string {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? "–" : formatCount(known.reduce((sum, amount) => sum + amount, 0));
}

function Cost({ call }: { call: Call }) {
  if (!call.premium) {
    return call.quota_tokens === null ? (
      "–"
    ) : (
      <span title="Charged to the free quota">{formatCount(call.quota_tokens)} free</span>
    );
  }
  return call.charged_usd === null ? "–" : <Usd value={call.charged_usd} />;
}

function Status({ call }: { call: Call }) {
  if (call.state === "open") {
    return (
      <span className="badge is-accent">
        <span className="dot" />
        running
      </span>
    );
  }
  const tone = call.status === null || call.status === 499 ? "is-warn" : call.status < 400 ? "is-good" : "is-bad";
  const label = call.status === 499 ? "stopped" : (call.error_code ?? call.status ?? call.state);
  return <span className={`badge ${tone}`}>{label}</span>;
}
