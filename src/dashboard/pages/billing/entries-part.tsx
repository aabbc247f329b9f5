import { useState } from "react";
import useSWR from "swr";
import { api, told } from "../../data/api.ts";
import { formatMoment, formatUsd, formatUtcDay } from "../../format.ts";
import { Section } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";

const getEntries = (page: number) => told(api.entries.get({ query: { page: String(page) } }));
type Entry = Awaited<ReturnType<typeof getEntries>>["data"][number];

const kinds: Record<Entry["kind"], string> = { charges: "Usage", credit: "Credit", debit: "Debit" };

/** Every movement of the wallet with the balance after it, the newest first; what calls cost is summed up by the day. */
export function EntriesPart() {
  const [page, setPage] = useState(1);
  const entries = useSWR(["entries", page], () => getEntries(page), {
    keepPreviousData: true,
    refreshInterval: 15_000,
  });
  return (
    <Section title="Statement">
      <Loaded state={entries}>
        {({ data, pages }) =>
          data.length === 0 ? (
            <Empty icon="billing" title="Nothing has moved yet">
              <p>
                Credits, vouchers and what your calls cost, day by day, are listed here with the balance after each.
              </p>
            </Empty>
          ) : (
            <>
              <EntriesTable entries={data} />
              <Pager page={page} pages={pages} onPage={setPage} />
            </>
          )
        }
      </Loaded>
    </Section>
  );
}

function EntriesTable({ entries }: { entries: readonly Entry[] }) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Note</th>
            <th scope="col" className="end">
              Amount
            </th>
            <th scope="col" className="end">
              Balance
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.at} ${entry.kind} ${entry.balance_usd} ${entry.amount_usd}`}>
              <td className="tight" data-name="When">
                {entry.kind === "charges" ? formatUtcDay(entry.at) : formatMoment(entry.at)}
              </td>
              <td data-name="What">
                <span className={entry.kind === "credit" ? "badge is-good" : "badge"}>{kinds[entry.kind]}</span>
              </td>
              <td className="break soft" data-name="Note">
                {entry.note ?? (entry.kind === "charges" ? "Calls of the day (UTC)" : "–")}
              </td>
              <td className="end" data-name="Amount" title={`$${entry.amount_usd}`}>
                {formatUsd(entry.amount_usd)}
              </td>
              <td className="end" data-name="Balance" title={`$${entry.balance_usd}`}>
                {formatUsd(entry.balance_usd)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
