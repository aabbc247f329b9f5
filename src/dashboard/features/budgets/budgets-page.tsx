import { useState } from "react";
import { Link } from "wouter";
import { useAccountKeys, useAccounts } from "../../data/admin.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatMoment, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useParam } from "../../kit/url-state.ts";
import { getKeyState } from "../keys/api.ts";
import { ResourceSections } from "../resources/section.tsx";
import { type AnyBudget, eachAccount, useAllBudgets, useBudgets } from "./api.ts";
import { type ToName, toBudgetText, toLimit, toPeriodText } from "./budget-columns.tsx";
import { NewBudgetDialog } from "./budget-dialogs.tsx";
import { type BudgetAct, BudgetActDialog, toBudgetActions } from "./budgets-part.tsx";

/** All budgets and the limits for everybody, for administrators. */
export default function BudgetsPage() {
  const mayManage = useMayAdminister();
  const [making, setMaking] = useState<"everybody" | "account">();
  const close = () => setMaking(undefined);
  return (
    <>
      <PageHead
        title="Budgets and limits"
        description="A budget bounds what is spent in a period; a limit bounds requests, tokens and concurrent calls."
      >
        {mayManage && (
          <>
            <Button onClick={() => setMaking("account")}>Budget for one account</Button>
            <Button look="primary" icon="plus" onClick={() => setMaking("everybody")}>
              Budget for everybody
            </Button>
          </>
        )}
      </PageHead>
      <div className="stack">
        <AllBudgetsSection mayManage={mayManage} />
        <ResourceSections page="budgets" mayManage={mayManage} />
      </div>
      {making === "everybody" && <NewGatewayBudget onClose={close} />}
      {making === "account" && <NewAccountBudget onClose={close} />}
    </>
  );
}

function AllBudgetsSection({ mayManage }: { mayManage: boolean }) {
  const budgets = useAllBudgets();
  const [search, setSearch] = useParam("search");
  const [act, setAct] = useState<BudgetAct>();
  const query = search.trim().toLowerCase();
  const fits = (row: AnyBudget) =>
    [toTitle(row), row.account?.label, row.top?.account_label, row.top?.name].some((text) =>
      text?.toLowerCase().includes(query),
    );
  const start = (kind: BudgetAct["kind"], budget: AnyBudget) => {
    const account = budget.account?.id ?? eachAccount;
    const others = budgets.data?.data.filter((one) => (one.account?.id ?? eachAccount) === account) ?? [];
    setAct({ kind, budget, account, title: toTitle(budget), toName: toNameOf(budget), others });
  };
  return (
    <section className="card" aria-label="Budgets">
      <div className="card-head is-ruled">
        <h2>Budgets</h2>
        <SearchField
          label="Search budgets"
          placeholder="Search by account, key or name"
          value={search}
          onText={setSearch}
        />
      </div>
      <Loaded state={budgets} lines={5}>
        {({ data, has_more }) => (
          <>
            <Table
              rows={data.filter(fits)}
              rowKey={({ id }) => id}
              columns={[
                ...columns,
                toBudgetActions({ mayManage, toTitle, isNeeded: (row) => row.replaces_wallet, onAct: start }),
              ]}
              sortName="budgets"
              fileName="budgets"
              empty={data.length === 0 ? noBudgets : noMatch}
            />
            {has_more && (
              <p className="table-foot">
                The {data.length} nearest to their limits. The page of an account lists all of its budgets.
              </p>
            )}
          </>
        )}
      </Loaded>
      {act !== undefined && <BudgetActDialog act={act} onClose={() => setAct(undefined)} />}
    </section>
  );
}

/** The owner of a budget in words, with its account: `each session of everybody`, `the account ada@example.org`. */
function toTitle(row: AnyBudget): string {
  const text = toBudgetText(row, toNameOf(row));
  if (row.account === null) return `${text} of everybody`;
  return row.subject === "account" ? `${text} ${row.account.label}` : `${text} of ${row.account.label}`;
}

function toNameOf(row: AnyBudget): ToName {
  return (subject, name) => (subject === "key" && name === row.api_key_id ? row.key_label : row.name_label) ?? name;
}

/** The spent part of the limit; of a budget of nothing all. */
function toShare({ spent_usd, limit_usd }: AnyBudget): number {
  return Number(limit_usd) === 0 ? 1 : Number(spent_usd) / Number(limit_usd);
}

function toTone(share: number): string {
  if (share >= 1) return "badge is-bad";
  return share >= 0.8 ? "badge is-warn" : "badge";
}

const columns: readonly Column<AnyBudget>[] = [
  {
    name: "Budget of",
    className: "name lead",
    sort: toTitle,
    cell: (row) => (
      <>
        {toBudgetText(row, toNameOf(row))}
        {row.account === null ? (
          <span className="sub">everybody, each by itself</span>
        ) : (
          <Link className="link sub cut" href={`/admin/accounts/${row.account.id}?tab=budgets`}>
            {row.account.label}
          </Link>
        )}
      </>
    ),
  },
  {
    name: "Limit",
    className: "end",
    sort: ({ limit_usd }) => Number(limit_usd),
    cell: (row) => {
      const { raisedUntil } = toLimit(row);
      return (
        <>
          {formatUsd(row.limit_usd)} {toPeriodText(row.budget_period)}
          {raisedUntil !== undefined && <span className="sub">raised until {formatMoment(raisedUntil)}</span>}
        </>
      );
    },
  },
  {
    name: "Spent now",
    className: "end",
    sort: ({ spent_usd }) => Number(spent_usd),
    cell: ({ spent_usd, top, account }) => (
      <>
        {formatUsd(spent_usd)}
        {top !== null && (
          <span className="sub cut">
            most: {top.name === "" ? (account === null ? top.account_label : "without a name") : top.name}
          </span>
        )}
      </>
    ),
  },
  {
    name: "Share",
    className: "end",
    sort: toShare,
    cell: (row) => <span className={toTone(toShare(row))}>{Math.floor(toShare(row) * 100)} %</span>,
  },
  {
    name: "When it is reached",
    className: "soft",
    cell: ({ resets_at, budget_period: period }) => {
      if (resets_at !== null) return `Paid requests are refused until ${formatMoment(resets_at)}`;
      if (period === "session") return "Paid requests are refused until it is silent for a day";
      return "Paid requests are refused until it is raised";
    },
  },
];

const noBudgets = (
  <Empty icon="billing" title="No budgets">
    <p>“Each session at most $5” or “each new account at most $100 a month”: add a budget for everybody.</p>
  </Empty>
);
const noMatch = (
  <Empty icon="search" title="No matching budgets">
    <p>Try a broader search.</p>
  </Empty>
);

function NewGatewayBudget({ onClose }: { onClose: () => void }) {
  const { data } = useBudgets(eachAccount);
  return <NewBudgetDialog account={eachAccount} keys={[]} present={data ?? []} onClose={onClose} />;
}

/** Asks which account a budget is for, and then for the budget. */
function NewAccountBudget({ onClose }: { onClose: () => void }) {
  const [search, setSearch] = useState("");
  const [account, setAccount] = useState<string>();
  const accounts = useAccounts({ search: search.trim(), order: "spend", kind: "" });
  if (account !== undefined) return <NewBudgetOf account={account} onClose={onClose} />;
  return (
    <Dialog title="Budget for one account" description="Choose the account or team." onClose={onClose}>
      <div className="dialog-body">
        <SearchField
          label="Search accounts"
          placeholder="Search by email, name or ID"
          value={search}
          onText={setSearch}
        />
        <Loaded state={accounts} lines={4}>
          {({ data }) => (
            <ul className="rows">
              {data.slice(0, offeredMax).map(({ id, label, email, name }) => (
                <li key={id}>
                  <Button look="plain" onClick={() => setAccount(id)}>
                    {label}
                  </Button>
                  {email !== null && name !== null && <span className="sub">{name}</span>}
                </li>
              ))}
              {data.length === 0 && <li className="faint">No account fits.</li>}
            </ul>
          )}
        </Loaded>
      </div>
    </Dialog>
  );
}

const offeredMax = 8;

function NewBudgetOf({ account, onClose }: { account: string; onClose: () => void }) {
  const { data: keys } = useAccountKeys(account);
  const { data: present } = useBudgets(account);
  const usable = (keys?.data ?? []).filter((key) => getKeyState(key) === "active");
  return <NewBudgetDialog account={account} keys={usable} present={present ?? []} onClose={onClose} />;
}
