import { useState } from "react";
import { mutate } from "swr";
import { type AdminVoucher, useVouchers } from "../../data/admin.ts";
import { api, told } from "../../data/api.ts";
import { formatDay, formatMoment, formatUsd } from "../../format.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { NewVoucherDialog } from "./new-voucher-dialog.tsx";

type State = "good" | "redeemed" | "void" | "expired";

const badges: Record<State, string> = {
  good: "badge is-good",
  redeemed: "badge",
  void: "badge is-bad",
  expired: "badge is-warn",
};

/** Codes worth money: what became of each. */
export default function VouchersPage() {
  const vouchers = useVouchers();
  const [isMaking, setMaking] = useState(false);
  const [voiding, setVoiding] = useState<AdminVoucher>();
  const end = async () => {
    if (voiding === undefined) return;
    await told(api.admin.vouchers({ id: voiding.id }).void.post());
    await mutate("admin-vouchers");
  };
  return (
    <>
      <PageHead title="Vouchers" about="Codes worth money, each good once. Whoever has one can fill a wallet with it.">
        <button type="button" className="btn btn-primary" onClick={() => setMaking(true)}>
          <Icon name="plus" size={15} />
          New voucher
        </button>
      </PageHead>
      <section className="card" aria-label="Vouchers">
        <Loaded state={vouchers} lines={6}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="voucher" title="No vouchers yet">
                <p>Make one, and hand its code to whoever should have the money.</p>
              </Empty>
            ) : (
              <VouchersTable vouchers={data} onVoid={setVoiding} />
            )
          }
        </Loaded>
      </section>
      {isMaking && <NewVoucherDialog onClose={() => setMaking(false)} />}
      {voiding !== undefined && (
        <Confirm title={`Make ${voiding.id} void?`} action="Make void" act={end} onClose={() => setVoiding(undefined)}>
          Its code is worth nothing from then on. That cannot be undone.
        </Confirm>
      )}
    </>
  );
}

function VouchersTable({
  vouchers,
  onVoid,
}: {
  vouchers: readonly AdminVoucher[];
  onVoid: (voucher: AdminVoucher) => void;
}) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Voucher</th>
            <th scope="col">State</th>
            <th scope="col" className="end">
              Worth
            </th>
            <th scope="col">Made</th>
            <th scope="col">Expires</th>
            <th scope="col">Redeemed by</th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {vouchers.map((voucher) => {
            const state = stateOf(voucher);
            return (
              <tr key={voucher.id}>
                <td className="mono lead">{voucher.id}</td>
                <td data-name="State">
                  <span className={badges[state]}>{state}</span>
                </td>
                <td className="end" data-name="Worth">
                  {formatUsd(voucher.usd)}
                </td>
                <td data-name="Made">{formatMoment(voucher.created_at)}</td>
                <td data-name="Expires">{formatDay(voucher.expires_at)}</td>
                <td className="break" data-name="Redeemed by">
                  {voucher.redeemed_by_email ?? voucher.redeemed_by ?? "–"}
                </td>
                <td className="tight actions">
                  {state === "good" && (
                    <button
                      type="button"
                      className="btn btn-small"
                      aria-label={`Make ${voucher.id} void`}
                      onClick={() => onVoid(voucher)}
                    >
                      Void
                    </button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function stateOf({ redeemed_at, voided_at, expires_at }: AdminVoucher): State {
  if (redeemed_at !== null) return "redeemed";
  if (voided_at !== null) return "void";
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "good";
}
