import { useState } from "react";
import { type Call, callsOfPage, olderThan, type useCalls } from "../../data/calls.ts";
import { shownKey, useKeyNames } from "../../data/keys.ts";
import { formatAge, formatCount, formatMoment, formatMs, formatUsd } from "../../format.ts";
import { Section } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** The latest calls: what became of them, how long they took, and what they cost. */
export function CallsCard({ calls }: { calls: ReturnType<typeof useCalls> }) {
  return (
    <Section title="Recent calls">
      <Loaded state={calls} lines={6}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="pulse" title="No calls yet">
              <p>Each call that your keys make is listed here, with its status, tokens, cost and route.</p>
            </Empty>
          ) : (
            <Calls latest={data} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** The latest, and below them those that were asked for. */
function Calls({ latest }: { latest: readonly Call[] }) {
  const [older, setOlder] = useState<readonly Call[]>([]);
  const [isAll, setAll] = useState(false);
  // What has come since moves the latest on: they take the place of what they share with the older ones.
  const known = new Set(latest.map(({ id }) => id));
  // Where they share none, more has come than the latest hold, and what is between is not known.
  const isJoined = older.some(({ id }) => known.has(id));
  const calls = isJoined ? [...latest, ...older.filter(({ id }) => !known.has(id))] : latest;
  const last = calls.at(-1);
  const { run, isBusy } = useAction(async () => {
    if (last === undefined) return;
    const more = await olderThan(last).catch((error: unknown) => toastError(error));
    if (more === undefined) return;
    setOlder([...calls, ...more]);
    setAll(more.length === 0);
  });
  const isOnePage = latest.length < callsOfPage;
  return (
    <>
      <CallsTable calls={calls} />
      {!isOnePage && (
        <div className="table-foot">
          <span>
            {isJoined && isAll ? `All ${calls.length} calls that are kept` : `The latest ${calls.length} calls`}
          </span>
          {!(isJoined && isAll) && (
            <button type="button" className="btn btn-small" disabled={isBusy} onClick={() => void run()}>
              {isBusy ? "Loading…" : "Older calls"}
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
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Status</th>
            <th scope="col" className="end">
              Tokens
            </th>
            <th scope="col" className="end">
              First byte
            </th>
            <th scope="col" className="end">
              Took
            </th>
            <th scope="col" className="end">
              Cost
            </th>
            <th scope="col">Route</th>
            <th scope="col" className="end">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <CallRow key={call.id} call={call} keyName={keyName(call.key_id)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CallRow({ call, keyName }: { call: Call; keyName: string }) {
  return (
    <tr>
      <td className="name lead">
        <span className="cut" title={call.id}>
          {call.model}
        </span>
        <span className="sub cut" title={shownKey(call.key_id)}>
          {call.capability} · {keyName}
        </span>
      </td>
      <td data-name="Status">
        <Status call={call} />
      </td>
      <td className="end" data-name="Tokens">
        {tokensOf(call)}
      </td>
      <td className="end" data-name="First byte">
        {formatMs(call.first_byte_ms)}
      </td>
      <td className="end" data-name="Took">
        {formatMs(call.duration_ms)}
      </td>
      <td className="end" data-name="Cost">
        <Cost call={call} />
      </td>
      <td data-name="Route">{call.route ?? "–"}</td>
      <td className="end tight" data-name="When">
        <time dateTime={call.at ?? undefined} title={formatMoment(call.at)}>
          {formatAge(call.at)}
        </time>
      </td>
    </tr>
  );
}

/** In and out; what was counted here and not told by the provider is marked. */
function tokensOf(call: Call): string {
  if (call.input_tokens === null && call.output_tokens === null) return "–";
  const about = call.usage_source === "estimated" ? "≈ " : "";
  const input = sumOf([call.input_tokens, call.cache_read_tokens, call.cache_write_tokens]);
  return `${about}${input} → ${sumOf([call.output_tokens])}`;
}

/** What is not known, or is no part of such a call, is not shown as nothing. */
function sumOf(amounts: (number | null)[]): string {
  const known = amounts.filter((amount) => amount !== null);
  return known.length === 0 ? "–" : formatCount(known.reduce((sum, amount) => sum + amount, 0));
}

function Cost({ call }: { call: Call }) {
  if (!call.premium) {
    return call.quota_tokens === null ? (
      "–"
    ) : (
      <span title="Drawn from the free quota">{formatCount(call.quota_tokens)} free</span>
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
  const words = call.status === 499 ? "stopped" : (call.error_code ?? call.status ?? call.state);
  return <span className={`badge ${tone}`}>{words}</span>;
}
