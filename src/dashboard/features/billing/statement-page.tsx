import useSWR from "swr";
import { Link } from "wouter";
import { api, request } from "../../data/api.ts";
import { formatCount, formatExactUsd, formatMoment } from "../../format.ts";
import { Button, DownloadLink } from "../../kit/button.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { Fact, PageHead, Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useParam } from "../../kit/url-state.ts";
import { formatMonth, MonthSelect } from "./months.tsx";

const getStatement = (month: string, account: string) =>
  request(api.statement.get({ query: { ...(month !== "" && { month }), ...(account !== "" && { account }) } }));
type Statement = Awaited<ReturnType<typeof getStatement>>;
type Charge = Statement["charges"][number];
type Transaction = Statement["transactions"][number];

/** How often the statement of a month that is not over is read again. */
const openRefreshMs = 10_000;

/** The statement of a wallet for a UTC month, with exact amounts, to be printed. Operators name any account in the address. */
export default function StatementPage() {
  const [month, setMonth] = useParam("month");
  const [account] = useParam("account");
  const statement = useSWR(["statement", month, account], () => getStatement(month, account), {
    keepPreviousData: true,
    refreshInterval: (shown) => (shown?.open === true ? openRefreshMs : 0),
  });
  const shown = statement.data?.month ?? month;
  return (
    <>
      <Link className="link back" href={account === "" ? "/billing" : `/admin/accounts/${account}?tab=activity`}>
        {account === "" ? "Billing" : "Account"}
      </Link>
      <PageHead title="Statement" description="Charges are for calls that began in the month (UTC).">
        <MonthSelect first={statement.data?.first_month} value={shown} onText={setMonth} />
        <DownloadLink
          href={`/dashboard/api/statement.csv?${new URLSearchParams({ month: shown, ...(account !== "" && { account }) })}`}
        />
        <Button onClick={() => print()}>Print</Button>
      </PageHead>
      <Loaded state={statement} lines={8}>
        {(data) => <Sheet statement={data} />}
      </Loaded>
    </>
  );
}

function Sheet({ statement }: { statement: Statement }) {
  const { account, month, open, charges, transactions } = statement;
  return (
    <div className="stack statement">
      <Section title={`${formatMonth(month)}${open ? ", so far" : ""}`}>
        <div className="card-body stack">
          <p>
            <strong>{account.name ?? account.email}</strong>
            <span className="sub">
              {account.name !== null && account.email !== null && `${account.email}, `}
              {account.id}
            </span>
          </p>
          <dl className="facts">
            <Fact name="Opening balance">{formatExactUsd(statement.opening_usd)}</Fact>
            <Fact name="Payments, credits and debits">{formatExactUsd(statement.transactions_usd)}</Fact>
            <Fact name="Charges">{formatExactUsd(statement.charges_usd)}</Fact>
            <Fact name={<strong>{open ? "Balance now" : "Closing balance"}</strong>}>
              <strong>{formatExactUsd(statement.closing_usd)}</strong>
            </Fact>
          </dl>
        </div>
      </Section>
      <Section title="Charges by model">
        <Table
          rows={charges}
          rowKey={({ name }) => name ?? ""}
          columns={chargeColumns}
          empty={<p className="card-body faint">No charges in this month.</p>}
        />
      </Section>
      <Section title="Payments, credits and debits">
        <Table
          rows={transactions}
          rowKey={({ at, balance_usd }) => `${at} ${balance_usd}`}
          columns={transactionColumns}
          empty={<p className="card-body faint">None in this month.</p>}
        />
      </Section>
    </div>
  );
}

const orDash = (count: number | null) => (count === null ? "–" : formatCount(count));

const chargeColumns: readonly Column<Charge>[] = [
  { name: "Model", className: "name lead", cell: ({ name }) => name ?? "Not counted by model" },
  { name: "Requests", className: "end", cell: ({ requests }) => orDash(requests) },
  { name: "Input tokens", className: "end", cell: ({ prompt_tokens }) => orDash(prompt_tokens) },
  { name: "Output tokens", className: "end", cell: ({ completion_tokens }) => orDash(completion_tokens) },
  { name: "Amount", className: "end", cell: ({ charged_usd }) => formatExactUsd(charged_usd) },
];

const transactionColumns: readonly Column<Transaction>[] = [
  { name: "Date", className: "tight lead", cell: ({ at }) => formatMoment(at) },
  { name: "Type", cell: ({ kind }) => (kind === "credit" ? "Credit" : "Debit") },
  { name: "Note", className: "break soft", cell: ({ note }) => note },
  { name: "Amount", className: "end", cell: ({ amount_usd }) => formatExactUsd(amount_usd) },
];
