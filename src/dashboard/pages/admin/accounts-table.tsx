import type { AdminAccount } from "../../data/admin.ts";
import { formatCount, formatDay, formatUsd } from "../../format.ts";

/** One line an account; the e-mail opens what can be done with it. */
export function AccountsTable({
  accounts,
  onOpen,
}: {
  accounts: readonly AdminAccount[];
  onOpen: (account: AdminAccount) => void;
}) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Account</th>
            <th scope="col">State</th>
            <th scope="col" className="end">
              Balance
            </th>
            <th scope="col" className="end">
              Free quota
            </th>
            <th scope="col">Since</th>
          </tr>
        </thead>
        <tbody>
          {accounts.map((account) => (
            <tr key={account.id}>
              <td className="name lead">
                <button type="button" className="link cut" onClick={() => onOpen(account)}>
                  {account.email}
                </button>
                <span className="sub cut">{account.name ?? account.id}</span>
              </td>
              <td data-name="State">
                <AccountState account={account} />
              </td>
              <td className="end" data-name="Balance" title={`$${account.balance_usd}`}>
                {formatUsd(account.balance_usd)}
              </td>
              <td className="end" data-name="Free quota">
                {account.free_tokens_per_day === null ? "default" : formatCount(account.free_tokens_per_day)}
              </td>
              <td data-name="Since">{formatDay(account.created_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function AccountState({ account: { disabled_at, role } }: { account: AdminAccount }) {
  if (disabled_at !== null) return <span className="badge is-bad">disabled</span>;
  if (role === null) return <span className="badge">keys alone</span>;
  return <span className={role === "admin" ? "badge is-accent" : "badge is-good"}>{role}</span>;
}
