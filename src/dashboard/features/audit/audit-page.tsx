import { useMemo } from "react";
import { Link } from "wouter";
import { formatMoment } from "../../format.ts";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { DownloadLinks, LoadMore, NothingFits, useFilters } from "../../kit/log.tsx";
import { type AuditTexts, useParts } from "../../kit/modules.tsx";
import { PageHead } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { type AuditEntry, filterNames, toDownload, useAudit } from "./api.ts";
import { AuditFilters } from "./audit-filters.tsx";
import { describeAction, describeActor, mergeTexts } from "./audit-text.ts";

/** The audit log, which is append-only. Its filters are in the address. */
export default function AuditPage() {
  const { params, query, isFiltered } = useFilters(filterNames);
  const log = useAudit(query);
  const parts = useParts();
  const columns = useMemo(() => toColumns(mergeTexts(parts)), [parts]);
  return (
    <>
      <PageHead
        title="Audit log"
        description="All changes and who made them: administrators, the command line, single sign-on, keys, passwords, sign-ins of staff."
      >
        <DownloadLinks toAddress={(format) => toDownload(query, format)} />
      </PageHead>
      <section className="card" aria-label="Audit log">
        <AuditFilters params={params} />
        <Loaded state={log} lines={8}>
          {(pages) => (
            <>
              <Table
                rows={pages.flatMap(({ data }) => data)}
                rowKey={({ id }) => id}
                columns={columns}
                empty={pages.at(-1)?.next !== null ? undefined : isFiltered ? <NothingFits noun="entry" /> : noEntries}
              />
              <LoadMore nouns={["entry", "entries"]} log={log} />
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}

const toColumns = (texts: AuditTexts): readonly Column<AuditEntry>[] => [
  { name: "Time", className: "tight", cell: ({ at }) => formatMoment(at) },
  { name: "Actor", className: "break", cell: (entry) => describeActor(texts, entry) },
  {
    name: "Action",
    className: "break",
    cell: (entry) => <span title={entry.action}>{describeAction(texts, entry)}</span>,
  },
  {
    name: "Target",
    className: "break soft",
    cell: ({ subject_name: name, subject }) =>
      name === null ? subject : <Link href={`/admin/accounts/${subject}`}>{name}</Link>,
  },
];

const noEntries = (
  <Empty icon="list" title="No activity yet">
    <p>Changes to accounts, roles, credits, keys and vouchers are listed here.</p>
  </Empty>
);
