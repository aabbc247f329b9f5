import { useState } from "react";
import { type AuditEntry, useAuditEntries } from "../../data/admin.ts";
import { formatMoment } from "../../format.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { Table } from "../../ui/table.tsx";

/** The page size of the API. */
const pageSize = 100;

/** The audit log, which is append-only. */
export default function AuditPage() {
  /** The last entry of each page before this one. */
  const [cursors, setCursors] = useState<readonly AuditEntry[]>([]);
  const entries = useAuditEntries(cursors.at(-1));
  return (
    <>
      <PageHead title="Audit log" description="Every action that administrators took in the dashboard." />
      <section className="card" aria-label="Audit log">
        <Loaded state={entries} lines={8}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="list" title="No activity yet">
                <p>Changes to accounts, credits, quotas and vouchers are listed here.</p>
              </Empty>
            ) : (
              <>
                <AuditTable entries={data} />
                <Pager
                  onBack={cursors.length > 0 ? () => setCursors(cursors.slice(0, -1)) : undefined}
                  onNext={data.length < pageSize ? undefined : () => setCursors([...cursors, ...data.slice(-1)])}
                />
              </>
            )
          }
        </Loaded>
      </section>
    </>
  );
}

function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <Table columns={["Time", "Actor", "Action", "Target", "Details"]}>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <td className="tight" data-name="Time">
            {formatMoment(entry.at)}
          </td>
          <td className="break" data-name="Actor">
            {entry.email ?? entry.account}
          </td>
          <td data-name="Action">
            <span className="badge">{entry.action}</span>
          </td>
          <td className="break" data-name="Target">
            {entry.subject_email ?? entry.subject}
          </td>
          <td className="break soft" data-name="Details">
            {formatDetail(entry.detail)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function formatDetail(detail: AuditEntry["detail"]): string {
  const parts = Object.entries(detail).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value ?? "none"}`);
  return parts.join(", ") || "–";
}
