import useSWR from "swr";
import { api, told } from "../../data/api.ts";
import { formatMoment, formatUsd } from "../../format.ts";
import { Section } from "../../ui/page.tsx";

/** The vouchers that were redeemed; nothing where there were none. */
export function VouchersPart() {
  const { data: vouchers } = useSWR("vouchers", () => told(api.vouchers.get()));
  if (vouchers === undefined || vouchers.data.length === 0) return null;
  return (
    <Section title="Redeemed vouchers">
      <div className="table-wrap">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Voucher</th>
              <th scope="col">Redeemed</th>
              <th scope="col" className="end">
                Worth
              </th>
            </tr>
          </thead>
          <tbody>
            {vouchers.data.map(({ id, usd, redeemed_at }) => (
              <tr key={id}>
                <td className="mono">{id}</td>
                <td>{formatMoment(redeemed_at)}</td>
                <td className="end">{formatUsd(usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
