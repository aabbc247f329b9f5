import { useState } from "react";
import { type Call, callsPageSize, getOlderCalls, type useCalls } from "../../data/calls.ts";
import { maskKey, useKeyNames } from "../../data/keys.ts";
import { capabilityNames } from "../../data/models.ts";
import { formatAge, formatCount, formatMoment, formatMs, formatUsd } from "../../format.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** The latest calls with status, duration and cost. */
export function CallsCard({ calls }: { calls: ReturnType<typeof useCalls> }) {
  return (
    <Section title="Recent calls">
      <Loaded state={calls} lines={6}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="pulse" title="No calls yet">
              <p>Calls made with your API keys are listed here with status, tokens, cost and route.</p>
            </Empty>
          ) : (
            <Calls latest={data} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** The latest calls, followed by the older ones that were loaded. */
function Calls({ latest }: { latest: readonly Call[] }) {
  const [older, setOlder] = useState<readonly Call[]>([]);
  const [isAll, setAll] = useState(false);
  // New calls shift the latest page, so it overlaps with the older ones; drop the duplicates.
  const known = new Set(latest.map(({ id }) => id));
  // Without overlap there is a gap between the two, so the older ones are dropped.
  const isJoined = older.some(({ id }) => known.has(id));
  const calls = isJoined ? [...latest, ...older.filter(({ id }) => !known.has(id))] : latest;
  const last = calls.at(-1);
  const { run, isBusy } = useAction(async () => {
    if (last === undefined) return;
    const more = await getOlderCalls(last).catch((error: unknown) => toastError(error));
    if (more === undefined) return;
    setOlder([...calls, ...more]);
    setAll(more.length === 0);
  });
  const isOnePage = latest.length < callsPageSize;
  return (
    <>
      <CallsTable calls={calls} />
      {!isOnePage && (
        <div className="table-foot">
          <span>{isJoined && isAll ? `All ${calls.length} calls` : `The latest ${calls.length} calls`}</span>
          {!(isJoined && isAll) && (
            <button type="button" className="btn btn-small" disabled={isBusy} onClick={() => void run()}>
              {isBusy ? "Loading…" : "Load older calls"}
            </button>
          )}
        </div>
      )}
    </>
  );
}

function CallsTable({ calls }: { calls: readonly Call[] }) {
  const keyName = useKeyNames();
  return (
    <Table
      columns={[
        "Model",
        "Status",
        ["Tokens", "end"],
        ["First byte", "end"],
        ["Duration", "end"],
        ["Cost", "end"],
        "Route",
        ["Time", "end"],
      ]}
    >
      {calls.map((call) => (
        <CallRow key={call.id} call={call} keyName={keyName(call.key_id)} />
      ))}
    </Table>
  );
}

function CallRow({ call, keyName }: { call: Call; keyName: string }) {
  return (
    <tr>
      <td className="name lead">
        <span className="cut" title={call.id}>
          {call.model}
        </span>
        <span className="sub cut" title={maskKey(call.key_id)}>
          {capabilityNames[call.capability]} · {keyName}
        </span>
      </td>
      <td data-name="Status">
        <Status call={call} />
      </td>
      <td className="end" data-name="Tokens">
        {formatTokens(call)}
      </td>
      <td className="end" data-name="First byte">
        {formatMs(call.first_byte_ms)}
      </td>
      <td className="end" data-name="Duration">
        {formatMs(call.duration_ms)}
      </td>
      <td className="end" data-name="Cost">
        <Cost call={call} />
      </td>
      <td data-name="Route">{call.route ?? "–"}</td>
      <td className="end tight" data-name="Time">
        <time dateTime={call.at ?? undefined} title={formatMoment(call.at)}>
          {formatAge(call.at)}
        </time>
      </td>
    </tr>
  );
}

/** Input → output; `≈` marks estimated usage. */
function formatTokens(call: Call): string {
  if (call.input_tokens === null && call.output_tokens === null) return "–";
  const description = call.usage_source === "estimated" ? "≈ " : "";
  const input = formatSum([call.input_tokens, call.cache_read_tokens, call.cache_write_tokens]);
  return `${description}${input} → ${formatSum([call.output_tokens])}`;
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
  return call.charged_usd === null ? "–" : <span title={`$${call.charged_usd}`}>{formatUsd(call.charged_usd)}</span>;
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
