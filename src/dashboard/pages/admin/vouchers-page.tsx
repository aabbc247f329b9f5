import { useState } from "react";
import { mutate } from "swr";
import { type AdminVoucher, useVouchers } from "../../data/admin.ts";
import { api, request } from "../../data/api.ts";
import { formatDay, formatMoment, formatUsd } from "../../format.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { NewVoucherDialog } from "./new-voucher-dialog.tsx";

type State = "unused" | "redeemed" | "void" | "expired";

const badges: Record<State, string> = {
  unused: "badge is-good",
  redeemed: "badge",
  void: "badge is-bad",
  expired: "badge is-warn",
};

/** All vouchers and their state. */
export default function VouchersPage() {
  const vouchers = useVouchers();
  const [isCreating, setCreating] = useState(false);
  const [voiding, setVoiding] = useState<AdminVoucher>();
  const voidVoucher = async () => {
    if (voiding === undefined) return;
    await request(api.admin.vouchers({ id: voiding.id }).void.post());
    await mutate("admin-vouchers");
  };
  return (
    <>
      <PageHead
        title="Vouchers"
        description="Single-use codes that add credit to a wallet. Anyone who has the code can redeem it."
      >
        <button type="button" className="btn btn-primary" onClick={() => setCreating(true)}>
          <Icon name="plus" size={15} />
          New voucher
        </button>
      </PageHead>
      <section className="card" aria-label="Vouchers">
        <Loaded state={vouchers} lines={6}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="voucher" title="No vouchers yet">
                <p>Create one and give its code to the person who should get the credit.</p>
              </Empty>
            ) : (
              <VouchersTable vouchers={data} onVoid={setVoiding} />
            )
          }
        </Loaded>
      </section>
      {isCreating && <NewVoucherDialog onClose={() => setCreating(false)} />}
      {voiding !== undefined && (
        <Confirm
          title={`Void ${voiding.id}?`}
          action="Void voucher"
          act={voidVoucher}
          onClose={() => setVoiding(undefined)}
        >
          Its code can no longer be redeemed. This cannot be undone.
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
    <Table
      columns={["Voucher", "Status", ["Amount", "end"], "Created", "Expires", "Redeemed by", ["Actions", "unseen"]]}
    >
      {vouchers.map((voucher) => {
        const state = getVoucherState(voucher);
        return (
          <tr key={voucher.id}>
            <td className="mono lead">{voucher.id}</td>
            <td data-name="Status">
              <span className={badges[state]}>{state}</span>
            </td>
            <td className="end" data-name="Amount">
              {formatUsd(voucher.usd)}
            </td>
            <td data-name="Created">{formatMoment(voucher.created_at)}</td>
            <td data-name="Expires">{formatDay(voucher.expires_at)}</td>
            <td className="break" data-name="Redeemed by">
              {voucher.redeemed_by_email ?? voucher.redeemed_by ?? "–"}
            </td>
            <td className="tight actions">
              {state === "unused" && (
                <button
                  type="button"
                  className="btn btn-small"
                  aria-label={`Void ${voucher.id}`}
                  onClick={() => onVoid(voucher)}
                >
                  Void
                </button>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function getVoucherState({ redeemed_at, voided_at, expires_at }: AdminVoucher): State {
  if (redeemed_at !== null) return "redeemed";
  if (voided_at !== null) return "void";
  return expires_at !== null && Date.parse(expires_at) <= Date.now() ? "expired" : "unused";
}
