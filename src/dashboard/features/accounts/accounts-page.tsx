import { useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { type AdminAccount, accountKinds, accountOrders, toAccountsFile, useAccounts } from "../../data/admin.ts";
import { toRoleName, useMayChange } from "../../data/roles.ts";
import { formatCount, formatDay } from "../../format.ts";
import { Button, DownloadLink } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField, Select } from "../../kit/field.tsx";
import { Age, PageHead } from "../../kit/page.tsx";
import { Pager, Table, usdColumn } from "../../kit/table.tsx";
import { useChoice, usePageNumber, useParam } from "../../kit/url-state.ts";
import { InvitePeopleDialog } from "./invite-people-dialog.tsx";
import { NewAccountDialog } from "./new-account-dialog.tsx";
import { NewTeamDialog } from "./new-team-dialog.tsx";

/** All accounts, for administrators. Search, filter and order are in the address. */
export default function AccountsPage() {
  const [search, setSearch] = useParam("search");
  const [order, setOrder] = useChoice("order", accountOrders);
  const [kind, setKind] = useChoice("kind", accountKinds);
  const [page, toPage] = usePageNumber();
  const query = { search: useDeferredValue(search.trim().slice(0, 254)), order, kind };
  const accounts = useAccounts(query, page);
  const mayChange = useMayChange();
  const [dialog, setDialog] = useState<"account" | "team" | "people">();
  const close = () => setDialog(undefined);
  return (
    <>
      <PageHead title="Accounts" description="Users and teams of this gateway, with their balances, spend and roles.">
        <Link className="btn" href="/admin/statements">
          Statements
        </Link>
        <DownloadLink href={toAccountsFile(query)} />
        {mayChange && (
          <>
            <Button onClick={() => setDialog("team")}>New team</Button>
            <Button onClick={() => setDialog("people")}>Invite people</Button>
            <Button look="primary" icon="plus" onClick={() => setDialog("account")}>
              New account
            </Button>
          </>
        )}
      </PageHead>
      <div className="stack">
        <section className="card" aria-label="Accounts">
          <div className="card-head is-ruled">
            <SearchField
              label="Search accounts"
              placeholder="Search by email, name or ID"
              value={search}
              onText={setSearch}
            />
            <Select isSmall aria-label="Kind" options={accountKinds} value={kind} onText={setKind} />
            <Select isSmall aria-label="Order" options={accountOrders} value={order} onText={setOrder} />
          </div>
          <Loaded state={accounts} lines={8}>
            {({ data, has_more }) => (
              <>
                <AccountsTable accounts={data} />
                <Pager page={page} hasMore={has_more} toPage={toPage} />
              </>
            )}
          </Loaded>
        </section>
      </div>
      {dialog === "account" && <NewAccountDialog onClose={close} />}
      {dialog === "team" && <NewTeamDialog onClose={close} />}
      {dialog === "people" && <InvitePeopleDialog onClose={close} />}
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
          cell: ({ id, email, name, label }) => (
            <>
              <Link className="link cut" href={`/admin/accounts/${id}`}>
                {label}
              </Link>
              <span className="sub cut">{(email === null ? null : name) ?? id}</span>
            </>
          ),
        },
        { name: "Status", cell: (account) => <AccountState account={account} /> },
        usdColumn<AdminAccount>("Balance", ({ balance_usd }) => balance_usd),
        {
          name: "Free tokens per day",
          className: "end",
          cell: ({ free_tokens_per_day: tokens }) => (tokens === null ? "default" : formatCount(tokens)),
        },
        usdColumn<AdminAccount>("Charged, 30 days", ({ spend_30_days_usd }) => spend_30_days_usd),
        {
          name: "Last used",
          sort: ({ last_used_at }) => last_used_at,
          cell: ({ last_used_at }) => (last_used_at === null ? "never" : <Age at={last_used_at} />),
        },
        { name: "Created", className: "roomy-only", cell: ({ created_at }) => formatDay(created_at) },
      ]}
    />
  );
}

export function AccountState({
  account: { id, disabled_at, role, email_verified, is_team, without_admin },
}: {
  account: Pick<AdminAccount, "id" | "disabled_at" | "role" | "email_verified" | "is_team" | "without_admin">;
}) {
  if (disabled_at !== null) return <span className="badge is-bad">disabled</span>;
  if (email_verified === false) {
    return (
      <span className="badge is-warn" title="Someone signed up with this email without verifying it">
        not verified
      </span>
    );
  }
  if (without_admin) {
    return (
      <Link
        className="badge is-warn"
        href={`/admin/accounts/${id}?tab=account#team`}
        title="None of its admins can sign in: make another member admin on its page"
      >
        no admin
      </Link>
    );
  }
  if (is_team) return <span className="badge">team</span>;
  if (role === null) return <span className="badge">no sign-in yet</span>;
  return <span className={role === "member" ? "badge is-good" : "badge is-accent"}>{toRoleName(role)}</span>;
}
