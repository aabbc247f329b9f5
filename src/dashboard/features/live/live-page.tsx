import { useState } from "react";
import { mutate } from "swr";
import { type LiveCall, useLive } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { useMayChange } from "../../data/roles.ts";
import { formatCount, formatMs, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { callNames, useModelNames } from "../models/api.ts";

export default function LivePage() {
  const live = useLive();
  const mayChange = useMayChange();
  const [ending, setEnding] = useState<LiveCall>();
  const end = async () => {
    if (ending === undefined) return;
    await request(organization.live_calls({ call_id: ending.id }).delete());
    toast(ending.elsewhere ? "The call will be ended by its process" : "The call is ended");
    await mutate("admin-live");
  };
  return (
    <>
      <PageHead title="Live calls" description="Calls in progress across all processes, longest-running first." />
      <section className="card" aria-label="Live calls">
        <Loaded state={live} lines={4}>
          {({ data, count, complete }) => (
            <>
              {!complete && (
                <div className="card-body">
                  <Callout tone="warn">
                    The database did not respond in time, so only the calls of this process are shown.
                  </Callout>
                </div>
              )}
              <Table
                rows={data}
                rowKey={({ id }) => id}
                columns={mayChange ? [...columns, toActions(setEnding)] : columns}
                empty={
                  <Empty
                    icon="pulse"
                    title={complete ? "No calls in progress" : "No calls in progress in this process"}
                  >
                    <p>Calls are listed here while they run, afterwards under Requests.</p>
                  </Empty>
                }
              />
              {data.length > 0 && (
                <div className="table-foot">
                  {count === data.length ? formatCount(count) : `${data.length} of ${formatCount(count)}`} running
                  {!complete && " in this process"}
                </div>
              )}
            </>
          )}
        </Loaded>
      </section>
      {ending !== undefined && (
        <Confirm title="End this call?" action="End call" act={end} onClose={() => setEnding(undefined)}>
          <p>Its client gets an error. Its usage so far is charged.</p>
        </Confirm>
      )}
    </>
  );
}

function ModelName({ id }: { id: string | null }) {
  const nameOf = useModelNames();
  return <span className="cut">{id === null ? "–" : nameOf(id)}</span>;
}

/** Characters shown of the random id of a process: enough to distinguish a few processes. */
const processIdShown = 8;

const columns: readonly Column<LiveCall>[] = [
  {
    name: "Model",
    className: "name lead",
    cell: ({ model, capability, stream }) => (
      <>
        <ModelName id={model} />
        <span className="sub">
          {callNames[capability]}
          {stream && ", streaming"}
        </span>
      </>
    ),
  },
  { name: "Account", className: "break", cell: ({ project_email, project_id }) => project_email ?? project_id },
  {
    name: "Provider",
    cell: ({ elsewhere, provider, attempts }) => (
      <>
        {elsewhere ? <span className="faint">in another process</span> : (provider ?? "–")}
        {attempts !== null && attempts > 1 && <span className="faint"> · attempt {attempts}</span>}
      </>
    ),
  },
  {
    name: "Process",
    cell: ({ elsewhere, process }) =>
      elsewhere ? <span className="mono">{process?.slice(0, processIdShown)}</span> : "this one",
  },
  { name: "Duration", className: "end", cell: ({ running_ms }) => formatMs(running_ms) },
  { name: "Time to first token", className: "end", cell: ({ first_byte_ms }) => formatMs(first_byte_ms) },
  { name: "Hold", className: "end", cell: ({ held_usd }) => (held_usd === null ? "–" : formatUsd(held_usd)) },
  { name: "Request ID", className: "mono cut", cell: ({ id }) => id },
];

function toActions(onEnd: (call: LiveCall) => void): Column<LiveCall> {
  return actionsColumn((call) => (
    <Button look="plain small bad" aria-label={`End ${call.id}`} onClick={() => onEnd(call)}>
      End
    </Button>
  ));
}
