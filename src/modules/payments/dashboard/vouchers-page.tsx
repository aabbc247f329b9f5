import { useState } from "react";
import { mutate } from "swr";
import { useMayChange } from "../../../dashboard/data/roles.ts";
import { useResources } from "../../../dashboard/features/resources/api.ts";
import { ResourceDialog } from "../../../dashboard/features/resources/form.tsx";
import { formatDay, formatMoment, formatUsd } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { Confirm } from "../../../dashboard/kit/confirm.tsx";
import { Empty, Loaded } from "../../../dashboard/kit/feedback.tsx";
import { PageHead } from "../../../dashboard/kit/page.tsx";
import { actionsColumn, Table } from "../../../dashboard/kit/table.tsx";
import { type AdminVoucher, useVouchers, voidVoucher } from "./api.ts";

const badges: Record<AdminVoucher["status"], string> = {
  unused: "badge is-good",
  redeemed: "badge",
  void: "badge is-bad",
  expired: "badge is-warn",
};

export default function VouchersPage() {
  const vouchers = useVouchers();
  useResources();
  const mayChange = useMayChange();
  const [isCreating, setCreating] = useState(false);
  const [voiding, setVoiding] = useState<AdminVoucher>();
  const endVoucher = async () => {
    if (voiding === undefined) return;
    await voidVoucher(voiding.id);
    await mutate(["voucher"]);
  };
  return (
    <>
      <PageHead
        title="Vouchers"
        description="Single-use codes that add credit to a wallet. Anyone who has the code can redeem it."
      >
        {mayChange && (
          <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
            New voucher
          </Button>
        )}
      </PageHead>
      <section className="card" aria-label="Vouchers">
        <Loaded state={vouchers} lines={6}>
          {(rows) => <VouchersTable vouchers={rows} onVoid={setVoiding} />}
        </Loaded>
      </section>
      {isCreating && (
        <ResourceDialog
          name="voucher"
          title="New voucher"
          label="Create voucher"
          busyLabel="Creating…"
          onClose={() => setCreating(false)}
        />
      )}
      {voiding !== undefined && (
        <Confirm
          title={`Void ${voiding.id}?`}
          action="Void voucher"
          act={endVoucher}
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
  const mayChange = useMayChange();
  return (
    <Table
      rows={vouchers}
      rowKey={({ id }) => id}
      fileName="vouchers"
      empty={
        <Empty icon="voucher" title="No vouchers yet">
          <p>Create one and give its code to the person who should get the credit.</p>
        </Empty>
      }
      columns={[
        { name: "Voucher", className: "mono lead", sort: ({ id }) => id, cell: ({ id }) => id },
        {
          name: "Status",
          sort: ({ status }) => status,
          cell: ({ status }) => <span className={badges[status]}>{status}</span>,
        },
        { name: "Amount", className: "end", sort: ({ usd }) => Number(usd), cell: ({ usd }) => formatUsd(usd) },
        {
          name: "Created",
          sort: ({ created_at }) => created_at,
          cell: ({ created_at }) => formatMoment(created_at),
        },
        { name: "Expires", sort: ({ expires_at }) => expires_at, cell: ({ expires_at }) => formatDay(expires_at) },
        {
          name: "Redeemed by",
          className: "break",
          sort: ({ redeemed_by_email, redeemed_by }) => redeemed_by_email ?? redeemed_by,
          cell: ({ redeemed_by_email, redeemed_by }) => redeemed_by_email ?? redeemed_by ?? "–",
        },
        actionsColumn<AdminVoucher>(
          (voucher) =>
            mayChange &&
            voucher.status === "unused" && (
              <Button look="small" aria-label={`Void ${voucher.id}`} onClick={() => onVoid(voucher)}>
                Void
              </Button>
            ),
        ),
      ]}
    />
  );
}
