import { listVouchers, type Voucher } from "../../accounts/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { withStore } from "../lib/with-store.ts";

export const voucherList = defineCommand({
  name: "voucher list",
  about: "List the vouchers, the newest first, without their codes",
  flags: {},
  args: [],
  example: "voucher list",
  async run(_ground, { config, now }) {
    const vouchers = await withStore(config, ({ store }) => listVouchers(store));
    const json = vouchers.map((voucher) => ({
      id: voucher.id,
      usd: formatUsd(voucher.nanodollars),
      state: stateOf(voucher, now),
      expires_at: voucher.expiresAt === undefined ? null : new Date(voucher.expiresAt).toISOString(),
      redeemed_by: voucher.redeemedBy ?? null,
    }));
    const rows = json.map(({ id, usd, state, redeemed_by }) => [id, `${usd} USD`, state, redeemed_by ?? ""]);
    return {
      json,
      text: rows.length === 0 ? "No vouchers yet; make one with modelgate voucher create" : columns(rows),
    };
  },
});

function stateOf({ redeemedAt, voidedAt, expiresAt }: Voucher, now: number): string {
  if (redeemedAt !== undefined) return "redeemed";
  if (voidedAt !== undefined) return "void";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "good";
}
