import { Link } from "wouter";
import { mayAdminister, useMayChange } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatUsd } from "../../format.ts";
import { DownloadLink } from "../../kit/button.tsx";
import { usePlace } from "../../kit/modules.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Stat } from "../../kit/stat.tsx";
import { EntriesSection } from "./entries-section.tsx";

export default function BillingPage() {
  const { data: me } = useMe();
  const mayChange = useMayChange();
  const [besideBalance, top, end] = [usePlace("billing-balance"), usePlace("billing-top"), usePlace("billing-end")];
  return (
    <>
      <PageHead
        title="Billing"
        description="Paid models are charged to your wallet. Free models use the daily free quota."
      >
        <Link className="btn" href="/statement">
          Monthly statement
        </Link>
        <DownloadLink href="/dashboard/api/entries.csv" label="Download CSV" />
      </PageHead>
      <div className="stack">
        <div className="billing-top">
          <Stat name="Balance" value={me && formatUsd(me.wallet.balance_usd)} exact={me && `$${me.wallet.balance_usd}`}>
            {me !== undefined && Number(me.wallet.held_usd) > 0
              ? `${formatUsd(me.wallet.held_usd)} held for running calls`
              : "no holds for running calls"}
          </Stat>
          {mayChange && besideBalance.map((Part) => <Part key={Part.name} />)}
        </div>
        {me !== undefined && mayAdminister(me.role) && (
          <p className="faint">
            Administrators add credit to any account, also to their own,{" "}
            <Link href={`/admin/accounts/${me.account}?tab=account`}>in the administration</Link>.
          </p>
        )}
        {mayChange && top.map((Part) => <Part key={Part.name} />)}
        <EntriesSection />
        {end.map((Part) => (
          <Part key={Part.name} />
        ))}
      </div>
    </>
  );
}
