import { useMe } from "../../data/session.ts";
import { formatUsd } from "../../format.ts";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { EntriesPart } from "./entries-part.tsx";
import { PayForm } from "./pay-form.tsx";
import { RedeemForm } from "./redeem-form.tsx";
import { VouchersPart } from "./vouchers-part.tsx";

/** The wallet: what is in it, how it is filled, and every movement. */
export default function BillingPage() {
  const { data: me } = useMe();
  return (
    <>
      <PageHead
        title="Billing"
        about="Premium models are paid from the wallet. Others draw on the free quota of the day."
      >
        <a className="btn" href="/dashboard/api/entries.csv" download>
          <Icon name="download" size={15} />
          Download CSV
        </a>
      </PageHead>
      <div className="stack">
        <div className="billing-top">
          <div className="card stat">
            <span className="stat-name">Balance</span>
            <span className="stat-value" title={me && `$${me.wallet.balance_usd}`}>
              {me === undefined ? <span className="skeleton" /> : formatUsd(me.wallet.balance_usd)}
            </span>
            <span className="stat-note">
              {me !== undefined && Number(me.wallet.held_usd) > 0
                ? `${formatUsd(me.wallet.held_usd)} held for running calls`
                : "nothing is held for running calls"}
            </span>
          </div>
          <RedeemForm />
        </div>
        <PayForm />
        <EntriesPart />
        <VouchersPart />
      </div>
    </>
  );
}
