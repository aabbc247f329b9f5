import { type LiveCall, useLive } from "../../data/admin.ts";
import { capabilityNames } from "../../data/models.ts";
import { formatCount, formatMs, formatUsd } from "../../format.ts";
import { PageHead } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";

/** The calls on their way in this process, the longest first. */
export default function LivePage() {
  const live = useLive();
  return (
    <>
      <PageHead title="Live calls" about="What runs now in the process that answers this page, the longest first." />
      <section className="card" aria-label="Live calls">
        <Loaded state={live} lines={4}>
          {({ data, count }) =>
            data.length === 0 ? (
              <Empty icon="pulse" title="Nothing runs now">
                <p>A call is shown here from its first moment to its last, and then on the overview of its account.</p>
              </Empty>
            ) : (
              <>
                <LiveTable calls={data} />
                <div className="table-foot">
                  {count === data.length ? `${formatCount(count)} running` : `${data.length} of ${formatCount(count)}`}
                </div>
              </>
            )
          }
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
                {call.route ?? "–"}
                {call.attempts > 1 && <span className="faint"> · attempt {call.attempts}</span>}
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
