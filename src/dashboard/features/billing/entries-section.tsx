import useSWR from "swr";
import { api, request, slowRefresh } from "../../data/api.ts";
import { formatMoment, formatUtcDay } from "../../format.ts";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Section, Usd } from "../../kit/page.tsx";
import { type Column, Pager, Table } from "../../kit/table.tsx";
import { usePageNumber } from "../../kit/url-state.ts";

const getEntries = (page: number, account: string | undefined) => {
  const query = { page: String(page) };
  return request(
    account === undefined ? api.entries.get({ query }) : api.admin.accounts({ id: account }).entries.get({ query }),
  );
};
type Entry = Awaited<ReturnType<typeof getEntries>>["data"][number];

const kinds: Record<Entry["kind"], string> = { charges: "Usage", credit: "Credit", debit: "Debit" };

/**
 * All wallet transactions with the balance after each, newest first; charges of calls are summed per day.
 *
 * @param account The account whose transactions an administrator reads; absent: the user's own.
 */
export function EntriesSection({ account }: { account?: string }) {
  const [page, toPage] = usePageNumber();
  const entries = useSWR(["entries", page, account], () => getEntries(page, account), slowRefresh);
  return (
    <Section title="Transactions" actions={<span className="faint">Usage is summed up by UTC day</span>}>
      <Loaded state={entries}>
        {({ data, pages }) => (
          <>
            <Table rows={data} rowKey={toRowKey} columns={columns} empty={empty} />
            <Pager labels={["Newer", "Older"]} page={page} hasMore={page < pages} toPage={toPage}>
              <span>
                Page {page} of {pages}
              </span>
            </Pager>
          </>
        )}
      </Loaded>
    </Section>
  );
}

const toRowKey = ({ at, kind, amount_usd, balance_usd }: Entry) => `${at} ${kind} ${balance_usd} ${amount_usd}`;

const columns: readonly Column<Entry>[] = [
  {
    name: "Date",
    className: "tight",
    cell: ({ kind, at }) => (kind === "charges" ? formatUtcDay(at) : formatMoment(at)),
  },
  {
    name: "Type",
    cell: ({ kind }) => <span className={kind === "credit" ? "badge is-good" : "badge"}>{kinds[kind]}</span>,
  },
  {
    name: "Note",
    className: "break soft",
    cell: ({ note }) => note,
  },
  { name: "Amount", className: "end", cell: ({ amount_usd }) => <Usd value={amount_usd} isAligned /> },
  { name: "Balance", className: "end", cell: ({ balance_usd }) => <Usd value={balance_usd} isAligned /> },
];

const empty = (
  <Empty icon="billing" title="No transactions yet">
    <p>Credits, vouchers and the daily cost of your calls are listed here with the balance after each.</p>
  </Empty>
);
