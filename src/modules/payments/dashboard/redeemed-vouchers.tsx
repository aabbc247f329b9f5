import useSWR from "swr";
import { request } from "../../../dashboard/data/api.ts";
import { formatMoment, formatUsd } from "../../../dashboard/format.ts";
import { Section } from "../../../dashboard/kit/page.tsx";
import { Table } from "../../../dashboard/kit/table.tsx";
import { api } from "./api.ts";

/** Hidden until a voucher was redeemed. */
export function RedeemedVouchers() {
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
