import { type LiveCall, useLive } from "../../data/admin.ts";
import { capabilityNames } from "../../data/models.ts";
import { formatCount, formatMs, formatUsd } from "../../format.ts";
import { Callout, Empty, Loaded } from "../../ui/feedback.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";

/** The calls in progress in all processes, the longest-running first. */
export default function LivePage() {
  const live = useLive();
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
              {data.length === 0 ? (
                <Empty icon="pulse" title={complete ? "No calls in progress" : "No calls in progress in this process"}>
                  <p>Calls are listed here while they run, and afterwards on the overview of their account.</p>
                </Empty>
              ) : (
                <>
                  <LiveTable calls={data} />
                  <div className="table-foot">
                    {count === data.length ? formatCount(count) : `${data.length} of ${formatCount(count)}`} running
                    {!complete && " in this process"}
                  </div>
                </>
              )}
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}

function LiveTable({ calls }: { calls: readonly LiveCall[] }) {
  return (
    <Table
      columns={["Model", "Account", "Route", ["Duration", "end"], ["First byte", "end"], ["Hold", "end"], "Request ID"]}
    >
      {calls.map((call) => (
        <tr key={call.id}>
          <td className="name lead">
            <span className="cut">{call.model ?? "–"}</span>
            <span className="sub">
              {capabilityNames[call.capability]}
              {call.stream && ", streaming"}
            </span>
          </td>
          <td className="break" data-name="Account">
            {call.email ?? call.account}
          </td>
          <td data-name="Route">
            {call.elsewhere ? <span className="faint">in another process</span> : (call.route ?? "–")}
            {call.attempts !== null && call.attempts > 1 && <span className="faint"> · attempt {call.attempts}</span>}
          </td>
          <td className="end" data-name="Duration">
            {formatMs(call.running_ms)}
          </td>
          <td className="end" data-name="First byte">
            {formatMs(call.first_byte_ms)}
          </td>
          <td className="end" data-name="Hold">
            {call.held_usd === null ? "–" : formatUsd(call.held_usd)}
          </td>
          <td className="mono cut" data-name="Request ID">
            {call.id}
          </td>
        </tr>
      ))}
    </Table>
  );
}
