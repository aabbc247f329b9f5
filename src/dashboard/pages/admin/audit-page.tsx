import { useState } from "react";
import { Link } from "wouter";
import { type AuditEntry, useAuditEntries } from "../../data/admin.ts";
import { formatMoment } from "../../format.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { PageHead } from "../../ui/page.tsx";
import { type Column, Pager, Table } from "../../ui/table.tsx";
import { describeAction, describeActor } from "./audit-text.ts";

/** The page size of the API. */
const pageSize = 100;

/** The audit log, which is append-only. */
export default function AuditPage() {
  /** The last entry of each page before this one. */
  const [cursors, setCursors] = useState<readonly AuditEntry[]>([]);
  const entries = useAuditEntries(cursors.at(-1));
  return (
    <>
      <PageHead
        title="Audit log"
        description="What administrators, commands and the identity provider did, changes of keys and passwords, and sign-ins of those with a role."
      />
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
  { name: "Actor", className: "break", cell: describeActor },
  { name: "Action", className: "break", cell: (entry) => <span title={entry.action}>{describeAction(entry)}</span> },
  {
    name: "Target",
    className: "break soft",
    cell: ({ subject_email: email, subject }) =>
      email === null ? subject : <Link href={`/admin/accounts/${subject}`}>{email}</Link>,
  },
];

const empty = (
  <Empty icon="list" title="No activity yet">
    <p>Changes to accounts, roles, credits, keys and vouchers are listed here.</p>
  </Empty>
);
