import { useState } from "react";
import { type AuditEntry, useDeeds } from "../../data/admin.ts";
import { formatMoment } from "../../format.ts";
import { PageHead } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";

/** As many as the gateway tells at once. */
const rowsOfPage = 100;

/** Who administered what, and when. Nothing in it can be changed. */
export default function AuditPage() {
  /** The last deed of each page before this one. */
  const [trail, setTrail] = useState<readonly AuditEntry[]>([]);
  const deeds = useDeeds(trail.at(-1));
  return (
    <>
      <PageHead title="Audit" about="What administrators did on these pages: who, what, to whom and when." />
      <section className="card" aria-label="Audit">
        <Loaded state={deeds} lines={8}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="list" title="Nothing is on record">
                <p>Credits, quotas, vouchers and accounts that are made or shut out are listed here.</p>
              </Empty>
            ) : (
              <>
                <DeedsTable deeds={data} />
                {(trail.length > 0 || data.length === rowsOfPage) && (
                  <nav className="table-foot" aria-label="Pages of the list">
                    <button
                      type="button"
                      className="btn btn-small"
                      disabled={trail.length === 0}
                      onClick={() => setTrail(trail.slice(0, -1))}
                    >
                      Newer
                    </button>
                    <button
                      type="button"
                      className="btn btn-small"
                      disabled={data.length < rowsOfPage}
                      onClick={() => setTrail([...trail, ...data.slice(-1)])}
                    >
                      Older
                    </button>
                  </nav>
                )}
              </>
            )
          }
        </Loaded>
      </section>
    </>
  );
}

function DeedsTable({ deeds }: { deeds: readonly AuditEntry[] }) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">To</th>
            <th scope="col">With</th>
          </tr>
        </thead>
        <tbody>
          {deeds.map((deed) => (
            <tr key={deed.id}>
              <td className="tight" data-name="When">
                {formatMoment(deed.at)}
              </td>
              <td className="break" data-name="Who">
                {deed.email ?? deed.account}
              </td>
              <td data-name="What">
                <span className="badge">{deed.action}</span>
              </td>
              <td className="break" data-name="To">
                {deed.subject_email ?? deed.subject}
              </td>
              <td className="break soft" data-name="With">
                {detailOf(deed.detail)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function detailOf(detail: AuditEntry["detail"]): string {
  const words = Object.entries(detail).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value ?? "none"}`);
  return words.join(", ") || "–";
}
