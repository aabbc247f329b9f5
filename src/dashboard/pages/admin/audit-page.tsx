import { useState } from "react";
import { type AuditEntry, useAuditEntries } from "../../data/admin.ts";
import { formatCount, formatMoment, formatUsd } from "../../format.ts";
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
  { name: "Action", cell: ({ action }) => <span title={action}>{nameAction(action)}</span> },
  { name: "Target", className: "break", cell: ({ subject_email, subject }) => subject_email ?? subject },
  { name: "Details", className: "break soft", cell: ({ detail }) => formatDetail(detail) },
];

const empty = (
  <Empty icon="list" title="No activity yet">
    <p>Changes to accounts, credits, quotas and vouchers are listed here.</p>
  </Empty>
);

/** Such as `Account credit` for `account.credit`. */
function nameAction(action: string): string {
  const words = action.replaceAll(/[._]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The details in words: amounts as money, without what did not happen. */
function formatDetail(detail: AuditEntry["detail"]): string {
  const parts = Object.entries(detail).flatMap(([name, value]) => {
    if (name === "repeated") return value === true ? ["repeated, not counted again"] : [];
    if (name === "disabled") return [value === true ? "disabled" : "enabled"];
    if (name === "usd" || name.endsWith("_usd")) return [formatUsd(String(value))];
    return [`${name.replaceAll("_", " ")}: ${typeof value === "number" ? formatCount(value) : (value ?? "default")}`];
  });
  return parts.join(", ") || "–";
}
