import { useState } from "react";
import { type AuditEntry, useAuditEntries } from "../../data/admin.ts";
import { formatMoment } from "../../format.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { PageHead } from "../../ui/page.tsx";
import { type Column, Pager, Table } from "../../ui/table.tsx";

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
          {({ data }) => (
            <>
              <Table rows={data} rowKey={({ id }) => id} columns={columns} empty={empty} />
              <Pager
                onBack={cursors.length > 0 ? () => setCursors(cursors.slice(0, -1)) : undefined}
                onNext={data.length < pageSize ? undefined : () => setCursors([...cursors, ...data.slice(-1)])}
              />
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}

const columns: readonly Column<AuditEntry>[] = [
  { name: "Time", className: "tight", cell: ({ at }) => formatMoment(at) },
  { name: "Actor", className: "break", cell: ({ email, account }) => email ?? account },
  { name: "Action", cell: ({ action }) => <span className="badge">{action}</span> },
  { name: "Target", className: "break", cell: ({ subject_email, subject }) => subject_email ?? subject },
  { name: "Details", className: "break soft", cell: ({ detail }) => formatDetail(detail) },
];

const empty = (
  <Empty icon="list" title="No activity yet">
    <p>Changes to accounts, credits, quotas and vouchers are listed here.</p>
  </Empty>
);

function formatDetail(detail: AuditEntry["detail"]): string {
  const parts = Object.entries(detail).map(([name, value]) => `${name.replaceAll("_", " ")}: ${value ?? "none"}`);
  return parts.join(", ") || "–";
}
