import { useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { type AdminAccount, useAccounts } from "../../data/admin.ts";
import { toRoleName, useMayChange } from "../../data/roles.ts";
import { formatCount, formatDay } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField } from "../../kit/field.tsx";
import { PageHead, Usd } from "../../kit/page.tsx";
import { Pager, Table } from "../../kit/table.tsx";
import { NewAccountDialog } from "./new-account-dialog.tsx";

export default function AccountsPage() {
  const [search, setSearch] = useState("");
  const query = useDeferredValue(search.trim().slice(0, 254));
  /** The cursors of the pages up to this one. */
  const [cursors, setCursors] = useState<readonly string[]>([""]);
  const accounts = useAccounts(query, cursors.at(-1) as string);
  const mayChange = useMayChange();
  const [isCreating, setCreating] = useState(false);
  return (
    <>
      <PageHead title="Accounts" description="Users of this gateway, with their balances, quotas and roles.">
        {mayChange && (
          <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
            New account
          </Button>
        )}
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
          {({ data, next }) => (
            <>
              <AccountsTable accounts={data} />
              <Pager
                labels={["Previous", "Next"]}
                onBack={cursors.length > 1 ? () => setCursors(cursors.slice(0, -1)) : undefined}
                onNext={next === null ? undefined : () => setCursors([...cursors, next])}
              />
            </>
          )}
        </Loaded>
      </section>
      {isCreating && <NewAccountDialog onClose={() => setCreating(false)} />}
    </>
  );
}

function AccountsTable({ accounts }: { accounts: readonly AdminAccount[] }) {
  return (
    <Table
      rows={accounts}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="search" title="No matching accounts">
          <p>Try a broader search, or create an account.</p>
        </Empty>
      }
      columns={[
        {
          name: "Account",
          className: "name lead",
          cell: ({ id, email, name }) => (
            <>
              <Link className="link cut" href={`/admin/accounts/${id}`}>
                {email}
              </Link>
              <span className="sub cut">{name ?? id}</span>
            </>
          ),
        },
        { name: "Status", cell: (account) => <AccountState account={account} /> },
        { name: "Balance", className: "end", cell: ({ balance_usd }) => <Usd value={balance_usd} /> },
        {
          name: "Free tokens per day",
          className: "end",
          cell: ({ free_tokens_per_day: tokens }) => (tokens === null ? "default" : formatCount(tokens)),
        },
        { name: "Created", cell: ({ created_at }) => formatDay(created_at) },
      ]}
    />
  );
}

export function AccountState({
  account: { disabled_at, role },
}: {
  account: Pick<AdminAccount, "disabled_at" | "role">;
}) {
  if (disabled_at !== null) return <span className="badge is-bad">disabled</span>;
  if (role === null) return <span className="badge">no sign-in yet</span>;
  return <span className={role === "member" ? "badge is-good" : "badge is-accent"}>{toRoleName(role)}</span>;
}
