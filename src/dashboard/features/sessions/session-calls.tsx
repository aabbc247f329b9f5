import { Link } from "wouter";
import { formatMoment, formatSeconds } from "../../format.ts";
import { Loaded } from "../../kit/feedback.tsx";
import { LoadMore } from "../../kit/log.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useModelNames } from "../models/api.ts";
import { type LoggedRequest, useRequests } from "../requests/api.ts";
import { callColumns } from "../requests/call-columns.tsx";
import { toAgentName } from "./agents-table.tsx";
import type { SessionBill } from "./api.ts";

/** Finish reasons of answers with tool calls. */
const toolReasons = new Set(["tool_calls", "tool_use", "function_call"]);

/** The calls of a session in the order of time, the newest first, each at its place in the session. */
export function SessionCalls({ bill }: { bill: SessionBill }) {
  const { session, account, account_name: name, started_at: startedAt, ended_at: endedAt, running } = bill;
  const log = useRequests({ session, ...(name !== null && { account }) }, running > 0);
  const modelName = useModelNames();
  const from = Date.parse(startedAt ?? "");
  const until = running > 0 ? Date.now() : Date.parse(endedAt ?? startedAt ?? "");
  const named = (name: string) => callColumns.filter((column) => column.name === name);
  const columns: readonly Column<LoggedRequest>[] = [
    {
      name: "Call",
      className: "name lead",
      cell: ({ id, model, endpoint, agent }) => (
        <>
          <Link className="link cut" title={id} href={`/requests?${new URLSearchParams({ session, request: id })}`}>
            {model === null ? (endpoint ?? id) : modelName(model)}
          </Link>
          <span className="sub cut">{toAgentName(agent)}</span>
        </>
      ),
    },
    {
      name: "When",
      className: "wide-only timeline-cell",
      cell: (call) => <Place call={call} from={from} until={until} />,
    },
    ...named("Status"),
    {
      name: "Tools",
      className: "roomy-only",
      cell: ({ finish_reasons: reasons }) => (reasons.some((reason) => toolReasons.has(reason)) ? "called" : "–"),
    },
    ...named("Tokens"),
    ...named("Duration"),
    ...named("Cost"),
  ];
  return (
    <Section title="Calls" actions={<span className="faint">newest first</span>}>
      <Loaded state={log} lines={6}>
        {(pages) => (
          <>
            <Table columns={columns} rows={pages.flatMap(({ data }) => data)} rowKey={({ id }) => id} empty="" />
            <LoadMore nouns={["call", "calls"]} log={log} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

/** A bar at the time of the call, as long as it took. */
function Place({
  call: { at, duration_ms: ms, status },
  from,
  until,
}: {
  call: LoggedRequest;
  from: number;
  until: number;
}) {
  const offset = Math.max(0, Date.parse(at ?? "") - from);
  const span = Math.max(1, until - from);
  const left = Math.min(99, (offset / span) * 100);
  const width = Math.min(100 - left, ((ms ?? until - from - offset) / span) * 100);
  const tone = status === null ? "is-running" : status >= 400 ? "is-bad" : "";
  return (
    <span className="timeline" title={formatMoment(at)}>
      <span className="timeline-track" aria-hidden="true">
        <span className={tone} style={{ left: `${left}%`, width: `max(3px, ${width}%)` }} />
      </span>
      <span className="faint">+{formatSeconds(offset / 1000)}</span>
    </span>
  );
}
