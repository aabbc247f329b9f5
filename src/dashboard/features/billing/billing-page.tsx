import useSWR from "swr";
import { Link } from "wouter";
import { PayForm, RedeemForm } from "../../../modules/payments/dashboard/credit-forms.tsx";
import { api, request } from "../../data/api.ts";
import { mayAdminister, useMayChange } from "../../data/roles.ts";
import { useMe } from "../../data/session.ts";
import { formatMoment, formatUsd } from "../../format.ts";
import { DownloadLink } from "../../kit/button.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { Stat } from "../../kit/stat.tsx";
import { Table } from "../../kit/table.tsx";
import { EntriesSection } from "./entries-section.tsx";

export default function BillingPage() {
  const { data: me } = useMe();
  const mayChange = useMayChange();
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
          {mayChange && <RedeemForm />}
        </div>
        {me !== undefined && mayAdminister(me.role) && (
          <p className="faint">
            Administrators add credit to any account, also to their own,{" "}
            <Link href={`/admin/accounts/${me.account}`}>in the administration</Link>.
          </p>
        )}
        {mayChange && <PayForm />}
        <EntriesSection />
        <RedeemedVouchers />
      </div>
    </>
  );
}

/** Hidden until a voucher was redeemed. */
function RedeemedVouchers() {
  const { data: vouchers } = useSWR("vouchers", () => request(api.vouchers.get()));
  if (vouchers === undefined || vouchers.data.length === 0) return null;
  return (
    <Section title="Redeemed vouchers">
      <Table
        isPlain
        rows={vouchers.data}
        rowKey={({ id }) => id}
        columns={[
          { name: "Voucher", className: "mono", cell: ({ id }) => id },
          { name: "Redeemed", cell: ({ redeemed_at }) => formatMoment(redeemed_at) },
          { name: "Amount", className: "end", cell: ({ usd }) => formatUsd(usd) },
        ]}
      />
    </Section>
  );
}
