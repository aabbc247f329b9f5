import { type LiveCall, useLive } from "../../data/admin.ts";
import { capabilityNames } from "../../data/models.ts";
import { formatCount, formatMs, formatUsd } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";

/** The calls on their way in all processes, the longest first. */
export default function LivePage() {
  const live = useLive();
  return (
    <>
      <PageHead title="Live calls" about="What runs now in all processes of this gateway, the longest first." />
      <section className="card" aria-label="Live calls">
        <Loaded state={live} lines={4}>
          {({ data, count, complete }) => (
            <>
              {!complete && (
                <div className="card-body">
                  <Callout tone="warn">
                    The database did not say in time what other processes run: only the calls of this one are shown.
                  </Callout>
                </div>
              )}
              {data.length === 0 ? (
                <Empty icon="pulse" title={complete ? "Nothing runs now" : "Nothing runs in this process"}>
                  <p>A call is shown here while it runs, and then on the overview of its account.</p>
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
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Account</th>
            <th scope="col">Route</th>
            <th scope="col" className="end">
              Running
            </th>
            <th scope="col" className="end">
              First byte
            </th>
            <th scope="col" className="end">
              Held
            </th>
            <th scope="col">Request</th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.id}>
              <td className="name lead">
                <span className="cut">{call.model ?? "–"}</span>
                <span className="sub">
                  {capabilityNames[call.capability]}
                  {call.stream && ", streamed"}
                </span>
              </td>
              <td className="break" data-name="Account">
                {call.email ?? call.account}
              </td>
              <td data-name="Route">
                {call.elsewhere ? <span className="faint">in another process</span> : (call.route ?? "–")}
                {call.attempts !== null && call.attempts > 1 && (
                  <span className="faint"> · attempt {call.attempts}</span>
                )}
              </td>
              <td className="end" data-name="Running">
                {formatMs(call.running_ms)}
              </td>
              <td className="end" data-name="First byte">
                {formatMs(call.first_byte_ms)}
              </td>
              <td className="end" data-name="Held">
                {call.held_usd === null ? "–" : formatUsd(call.held_usd)}
              </td>
              <td className="mono cut" data-name="Request">
                {call.id}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
