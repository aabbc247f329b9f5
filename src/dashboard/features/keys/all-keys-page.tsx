import { useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { findCredentials } from "../../data/find-credentials.ts";
import { useMayChange } from "../../data/roles.ts";
import { Button, DownloadLink } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField, Select } from "../../kit/field.tsx";
import { PageHead, Usd } from "../../kit/page.tsx";
import { type Column, Pager } from "../../kit/table.tsx";
import { useChoice, usePageNumber, useParam } from "../../kit/url-state.ts";
import { keyOrders, keyStates, type OwnedKey, toKeysFile, useAllKeys } from "./api.ts";
import { FindLeakedDialog } from "./find-leaked-dialog.tsx";
import { KeysTable } from "./keys-table.tsx";

/** The API keys of all accounts, for administrators. The search is in the address, without the secret of a key. */
export default function AllKeysPage() {
  const [search, setSearch] = useParam("search");
  const [state, setState] = useChoice("state", keyStates);
  const [order, setOrder] = useChoice("order", keyOrders);
  const [madeBy, setMadeBy] = useParam("made_by");
  const [page, toPage] = usePageNumber();
  const query = {
    search: useDeferredValue(search.trim().slice(0, 254)),
    state,
    order,
    made_by: useDeferredValue(madeBy.trim().slice(0, 254)),
  };
  const keys = useAllKeys(query, page);
  const mayChange = useMayChange();
  /** The text to find keys in; absent: nobody looks for any. */
  const [pasted, setPasted] = useState<string>();
  const lookFor = (text: string) => {
    const whole = findCredentials(text).find(({ secret }) => secret !== undefined);
    if (whole === undefined) return setSearch(text);
    // Its secret does not get into the address, whatever it is written as. A key that has ended is looked for too.
    setSearch(whole.id ?? "");
    setState("all");
    if (mayChange) setPasted(text);
  };
  return (
    <>
      <PageHead
        title="All API keys"
        description="The keys of all accounts. To find the owner of a key, paste it or a part of it; its secret does not leave this page."
      >
        {mayChange && <Button onClick={() => setPasted("")}>Find a leaked key</Button>}
        <DownloadLink href={toKeysFile(query)} />
      </PageHead>
      <section className="card" aria-label="All API keys">
        <div className="card-head is-ruled">
          <SearchField
            label="Search keys"
            placeholder="Part of a key, name, email or account"
            value={search}
            onText={lookFor}
          />
          <SearchField label="Made by" placeholder="Made by: an email" value={madeBy} onText={setMadeBy} />
          <Select isSmall aria-label="State" options={keyStates} value={state} onText={setState} />
          <Select isSmall aria-label="Order" options={keyOrders} value={order} onText={setOrder} />
        </div>
        <Loaded state={keys} lines={8}>
          {({ data, has_more }) => (
            <>
              <KeysTable
                keys={data}
                accountOf={({ account }) => account}
                mayChange={mayChange}
                more={ownerColumns}
                empty={empty}
              />
              <Pager page={page} hasMore={has_more} toPage={toPage} />
            </>
          )}
        </Loaded>
      </section>
      {pasted !== undefined && (
        <FindLeakedDialog scope="gateway" text={pasted} mayChange={mayChange} onClose={() => setPasted(undefined)} />
      )}
    </>
  );
}

const ownerColumns: readonly Column<OwnedKey>[] = [
  {
    name: "Account",
    sort: ({ account_name }) => account_name,
    cell: ({ account, account_name, email }) => (
      <>
        <Link className="link cut" href={`/admin/accounts/${account}`}>
          {account_name}
        </Link>
        {email !== null && email !== account_name && <span className="sub cut">{email}</span>}
      </>
    ),
  },
  {
    name: "Spend, 30 days",
    className: "end",
    sort: ({ spend_30_days_usd }) => Number(spend_30_days_usd),
    cell: ({ id, spend_30_days_usd }) => (
      <Link href={`/requests?key=${encodeURIComponent(id)}`} title="Its requests">
        <Usd value={spend_30_days_usd} isAligned />
      </Link>
    ),
  },
];

const empty = (
  <Empty icon="key" title="No key fits">
    <p>Try a shorter part of it, or look among the expired and revoked ones.</p>
  </Empty>
);
