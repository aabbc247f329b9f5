import { useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { toMessage } from "../../data/api.ts";
import { useMayChange } from "../../data/roles.ts";
import { readSecret } from "../../data/secrets.ts";
import { formatMoment } from "../../format.ts";
import { DownloadLink } from "../../kit/button.tsx";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField, Select } from "../../kit/field.tsx";
import { PageHead, Usd } from "../../kit/page.tsx";
import { type Column, Pager } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { useChoice, usePageNumber, useParam } from "../../kit/url-state.ts";
import {
  checkSecret,
  keyOrders,
  keyStates,
  maskKey,
  type OwnedKey,
  type SecretState,
  toKeysFile,
  useAllKeys,
} from "./api.ts";
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
  const [found, setFound] = useState<SecretState | "unknown">();
  const lookFor = (text: string) => {
    setSearch(text);
    setFound(undefined);
    if (!mayChange || readSecret(text) === undefined) return;
    // A key that has ended is looked for too.
    setState("all");
    void checkSecret(text)
      .then((state) => {
        setFound(state);
        // An imported key is found by nothing else.
        if (typeof state === "object") setSearch(state.id);
      })
      .catch((error) => toast(toMessage(error)));
  };
  return (
    <>
      <PageHead
        title="All API keys"
        description="The keys of all accounts. To find the owner of a key, paste it or a part of it; its secret does not leave this page."
      >
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
        {found !== undefined && (
          <Callout tone={found === "unknown" || found.secret === "other" ? "plain" : "bad"}>{describe(found)}</Callout>
        )}
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
    </>
  );
}

function describe(found: SecretState | "unknown"): string {
  if (found === "unknown") return "No key of this gateway has this secret.";
  const { id, secret, until } = found;
  if (secret === "current")
    return `This is the secret of ${maskKey(id)}: whoever has it can use the key as long as it is active.`;
  if (secret === "other") return `This is not the secret of ${maskKey(id)}, or an earlier one that no longer works.`;
  const hasEnded = until !== null && Date.parse(until) <= Date.now();
  const end = hasEnded ? `ended ${formatMoment(until)}` : `works until ${formatMoment(until)}`;
  return `This is the secret of ${maskKey(id)} before its latest rotation, which ${end}.`;
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
