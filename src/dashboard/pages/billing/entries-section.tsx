import { useState } from "react";
import useSWR from "swr";
import { api, request } from "../../data/api.ts";
import { formatMoment, formatUsd, formatUtcDay } from "../../format.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { Section } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { Table } from "../../ui/table.tsx";

const getEntries = (page: number) => request(api.entries.get({ query: { page: String(page) } }));
type Entry = Awaited<ReturnType<typeof getEntries>>["data"][number];

const kinds: Record<Entry["kind"], string> = { charges: "Usage", credit: "Credit", debit: "Debit" };

/** All wallet transactions with the balance after each, newest first; charges of calls are summed per day. */
export function EntriesSection() {
  const [page, setPage] = useState(1);
  const entries = useSWR(["entries", page], () => getEntries(page), {
    keepPreviousData: true,
    refreshInterval: 15_000,
  });
  return (
    <Section title="Transactions">
      <Loaded state={entries}>
        {({ data, pages }) =>
          data.length === 0 ? (
            <Empty icon="billing" title="No transactions yet">
              <p>Credits, vouchers and the daily cost of your calls are listed here with the balance after each.</p>
            </Empty>
          ) : (
            <>
              <EntriesTable entries={data} />
              <Pager
                onBack={page > 1 ? () => setPage(page - 1) : undefined}
                onNext={page < pages ? () => setPage(page + 1) : undefined}
              >
                <span>
                  Page {page} of {pages}
                </span>
              </Pager>
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function EntriesTable({ entries }: { entries: readonly Entry[] }) {
  return (
    <Table columns={["Date", "Type", "Note", ["Amount", "end"], ["Balance", "end"]]}>
      {entries.map((entry) => (
        <tr key={`${entry.at} ${entry.kind} ${entry.balance_usd} ${entry.amount_usd}`}>
          <td className="tight" data-name="Date">
            {entry.kind === "charges" ? formatUtcDay(entry.at) : formatMoment(entry.at)}
          </td>
          <td data-name="Type">
            <span className={entry.kind === "credit" ? "badge is-good" : "badge"}>{kinds[entry.kind]}</span>
          </td>
          <td className="break soft" data-name="Note">
            {entry.note ?? (entry.kind === "charges" ? "Calls on this day (UTC)" : "–")}
          </td>
          <td className="end" data-name="Amount" title={`$${entry.amount_usd}`}>
            {formatUsd(entry.amount_usd)}
          </td>
          <td className="end" data-name="Balance" title={`$${entry.balance_usd}`}>
            {formatUsd(entry.balance_usd)}
          </td>
        </tr>
      ))}
    </Table>
  );
}
