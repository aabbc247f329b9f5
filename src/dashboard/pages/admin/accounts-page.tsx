import { useDeferredValue, useState } from "react";
import { type AdminAccount, useAccounts } from "../../data/admin.ts";
import { formatCount, formatDay, formatUsd } from "../../format.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { SearchField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Pager } from "../../ui/pager.tsx";
import { Table } from "../../ui/table.tsx";
import { AccountDialog } from "./account-dialog.tsx";
import { NewAccountDialog } from "./new-account-dialog.tsx";

/** All accounts, with search. */
export default function AccountsPage() {
  const [search, setSearch] = useState("");
  const query = useDeferredValue(search.trim().slice(0, 254));
  /** The cursors of the pages up to this one. */
  const [cursors, setCursors] = useState<readonly string[]>([""]);
  const accounts = useAccounts(query, cursors.at(-1) as string);
  const [openId, setOpenId] = useState<string>();
  const [isCreating, setCreating] = useState(false);
  const shown = accounts.data?.data.find(({ id }) => id === openId);
  return (
    <>
      <PageHead title="Accounts" description="Users of this gateway, with their balances and quotas.">
        <button type="button" className="btn btn-primary" onClick={() => setCreating(true)}>
          <Icon name="plus" size={15} />
          New account
        </button>
      </PageHead>
      <section className="card" aria-label="Accounts">
        <div className="card-head is-ruled">
          <SearchField
            label="Search accounts"
            placeholder="Search by email, name or ID"
            value={search}
            onText={(text) => {
              setSearch(text);
              setCursors([""]);
            }}
          />
        </div>
        <Loaded state={accounts} lines={8}>
          {({ data, next }) =>
            data.length === 0 ? (
              <Empty icon="search" title="No matching accounts">
                <p>Try a broader search, or create an account.</p>
              </Empty>
            ) : (
              <>
                <AccountsTable accounts={data} onOpen={(account: AdminAccount) => setOpenId(account.id)} />
                <Pager
                  labels={["Previous", "Next"]}
                  onBack={cursors.length > 1 ? () => setCursors(cursors.slice(0, -1)) : undefined}
                  onNext={next === null ? undefined : () => setCursors([...cursors, next])}
                />
              </>
            )
          }
        </Loaded>
      </section>
      {shown !== undefined && <AccountDialog account={shown} onClose={() => setOpenId(undefined)} />}
      {isCreating && <NewAccountDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function AccountsTable({
  accounts,
  onOpen,
}: {
  accounts: readonly AdminAccount[];
  onOpen: (account: AdminAccount) => void;
}) {
  return (
    <Table columns={["Account", "Status", ["Balance", "end"], ["Free tokens per day", "end"], "Created"]}>
      {accounts.map((account) => (
        <tr key={account.id}>
          <td className="name lead">
            <button type="button" className="link cut" onClick={() => onOpen(account)}>
              {account.email}
            </button>
            <span className="sub cut">{account.name ?? account.id}</span>
          </td>
          <td data-name="Status">
            <AccountState account={account} />
          </td>
          <td className="end" data-name="Balance" title={`$${account.balance_usd}`}>
            {formatUsd(account.balance_usd)}
          </td>
          <td className="end" data-name="Free tokens per day">
            {account.free_tokens_per_day === null ? "default" : formatCount(account.free_tokens_per_day)}
          </td>
          <td data-name="Created">{formatDay(account.created_at)}</td>
        </tr>
      ))}
    </Table>
  );
}

function AccountState({ account: { disabled_at, role } }: { account: AdminAccount }) {
  if (disabled_at !== null) return <span className="badge is-bad">disabled</span>;
  if (role === null) return <span className="badge">no sign-in yet</span>;
  return <span className={role === "admin" ? "badge is-accent" : "badge is-good"}>{role}</span>;
}
