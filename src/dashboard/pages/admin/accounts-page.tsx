import { useDeferredValue, useState } from "react";
import { type AdminAccount, useAccounts } from "../../data/admin.ts";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { AccountDialog } from "./account-dialog.tsx";
import { AccountsTable } from "./accounts-table.tsx";
import { NewAccountDialog } from "./new-account-dialog.tsx";

/** Every account, found by its e-mail, name or id. */
export default function AccountsPage() {
  const [search, setSearch] = useState("");
  const asked = useDeferredValue(search.trim().slice(0, 254));
  /** Where each page before this one began. */
  const [trail, setTrail] = useState<readonly string[]>([""]);
  const accounts = useAccounts(asked, trail.at(-1) as string);
  const [openId, setOpenId] = useState<string>();
  const [isMaking, setMaking] = useState(false);
  const shown = accounts.data?.data.find(({ id }) => id === openId);
  return (
    <>
      <PageHead title="Accounts" about="Who may use this gateway, what they have, and how far they may go.">
        <button type="button" className="btn btn-primary" onClick={() => setMaking(true)}>
          <Icon name="plus" size={15} />
          New account
        </button>
      </PageHead>
      <section className="card" aria-label="Accounts">
        <div className="card-head is-ruled">
          <div className="search">
            <Icon name="search" size={16} />
            <input
              className="input"
              type="search"
              aria-label="Search accounts"
              placeholder="Search by e-mail, name or id"
              value={search}
              onChange={(event) => {
                setSearch(event.target.value);
                setTrail([""]);
              }}
            />
          </div>
        </div>
        <Loaded state={accounts} lines={8}>
          {({ data, next }) =>
            data.length === 0 ? (
              <Empty icon="search" title="No account fits">
                <p>Search for less, or make an account.</p>
              </Empty>
            ) : (
              <>
                <AccountsTable accounts={data} onOpen={(account: AdminAccount) => setOpenId(account.id)} />
                <Trail
                  isFirst={trail.length === 1}
                  isLast={next === null}
                  onBack={() => setTrail(trail.slice(0, -1))}
                  onNext={() => next !== null && setTrail([...trail, next])}
                />
              </>
            )
          }
        </Loaded>
      </section>
      {shown !== undefined && <AccountDialog account={shown} onClose={() => setOpenId(undefined)} />}
      {isMaking && <NewAccountDialog onClose={() => setMaking(false)} />}
    </>
  );
}

/** To the accounts before and after, by the alphabet. */
function Trail({
  isFirst,
  isLast,
  onBack,
  onNext,
}: {
  isFirst: boolean;
  isLast: boolean;
  onBack: () => void;
  onNext: () => void;
}) {
  if (isFirst && isLast) return null;
  return (
    <nav className="table-foot" aria-label="Pages of the list">
      <button type="button" className="btn btn-small" disabled={isFirst} onClick={onBack}>
        Before
      </button>
      <button type="button" className="btn btn-small" disabled={isLast} onClick={onNext}>
        After
      </button>
    </nav>
  );
}
