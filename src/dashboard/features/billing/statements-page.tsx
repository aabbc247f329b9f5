import useSWR from "swr";
import { Link } from "wouter";
import { api, request } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatExactUsd } from "../../format.ts";
import { DownloadLink } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useParam } from "../../kit/url-state.ts";
import { formatMonth, MonthSelect } from "./months.tsx";
import { ReconcileSection } from "./reconcile-section.tsx";

const getStatements = (month: string, after: string) =>
  request(api.admin.statements.get({ query: { ...(month !== "" && { month }), ...(after !== "" && { after }) } }));
type Line = Awaited<ReturnType<typeof getStatements>>["data"][number];

/** The statements of all accounts for a UTC month, one line each. */
export default function StatementsPage() {
  const [month, setMonth] = useParam("month");
  const [after, setAfter] = useParam("after");
  const statements = useSWR(["statements", month, after], () => getStatements(month, after), {
    keepPreviousData: true,
  });
  const mayCompare = useMayAdminister();
  const shown = statements.data?.month ?? month;
  return (
    <>
      <Link className="link back" href="/admin/accounts">
        Accounts
      </Link>
      <PageHead title="Statements" description="Accounts with any movement until the end of the month (UTC).">
        <MonthSelect
          first={statements.data?.first_month}
          value={shown}
          onText={(next) => {
            setAfter("");
            setMonth(next);
          }}
        />
        <DownloadLink href={`/dashboard/api/admin/statements.csv?month=${shown}`} />
      </PageHead>
      <div className="stack">
        <Section title={shown === "" ? "All accounts" : formatMonth(shown)}>
          <Loaded state={statements} lines={8}>
            {({ data, totals, next }) => (
              <>
                <Table
                  rows={data}
                  rowKey={({ account }) => account.id}
                  columns={columns}
                  empty={empty}
                  totals={["All accounts", ...amounts.map((name) => formatExactUsd(totals[name]))]}
                />
                {(after !== "" || next !== null) && (
                  <div className="table-foot">
                    {after === "" ? (
                      <span />
                    ) : (
                      <button type="button" className="btn btn-small" onClick={() => setAfter("")}>
                        First page
                      </button>
                    )}
                    {next !== null && (
                      <button type="button" className="btn btn-small" onClick={() => setAfter(next)}>
                        Next page
                      </button>
                    )}
                  </div>
                )}
              </>
            )}
          </Loaded>
        </Section>
        {mayCompare && <ReconcileSection />}
      </div>
    </>
  );
}

const amounts = ["opening_usd", "credits_usd", "debits_usd", "charges_usd", "closing_usd"] as const;

const usd = (name: string, read: (line: Line) => string): Column<Line> => ({
  name,
  className: "end",
  sort: (line) => Number(read(line)),
  cell: (line) => formatExactUsd(read(line)),
});

const columns: readonly Column<Line>[] = [
  {
    name: "Account",
    className: "name lead",
    sort: ({ account }) => account.name ?? account.email,
    cell: ({ account, month }) => (
      <>
        <Link className="link cut" href={`/statement?account=${account.id}&month=${month}`}>
          {account.name ?? account.email ?? account.id}
        </Link>
        {account.name !== null && account.email !== null && <span className="sub cut">{account.email}</span>}
      </>
    ),
  },
  usd("Opening", ({ opening_usd }) => opening_usd),
  usd("Credits", ({ credits_usd }) => credits_usd),
  usd("Debits", ({ debits_usd }) => debits_usd),
  usd("Charges", ({ charges_usd }) => charges_usd),
  usd("Closing", ({ closing_usd }) => closing_usd),
];

const empty = (
  <Empty icon="billing" title="No statements">
    <p>No account had a credit, a debit or a charge until the end of this month.</p>
  </Empty>
);
