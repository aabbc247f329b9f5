import { commandLine } from "../../audit/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { listVouchers, statusOfVoucher } from "../../payments/index.ts";
import { defineCommand } from "../command.ts";
import { columns, toIsoTime } from "../lib/format.ts";
import { parseAmount, parseExpiry } from "../lib/parse.ts";
import { withStore } from "../lib/with-store.ts";

export const voucherCreate = defineCommand({
  name: "voucher create",
  description: "Create a code that adds money to a wallet, redeemable once; the code is printed only once",
  flags: {
    usd: { value: "5", description: "Value in US dollars", required: true },
    expires: { value: "30d", description: "Expiry: a duration (30d, 12h, 1y) or the last day (2027-01-31)" },
  },
  args: [],
  example: "voucher create --usd 5 --expires 30d",
  async run(_context, { flags, config, now }) {
    const nanodollars = parseAmount(flags.usd);
    const expiresAt = flags.expires === undefined ? undefined : parseExpiry(flags.expires, now);
    const { id, code } = await withStore(
      config,
      ({ actions }) => actions.createVoucher(commandLine, { nanodollars, expiresAt }),
      now,
    );
    const usd = formatUsd(nanodollars);
    return { json: { id, code, usd }, text: `${code}\nWorth ${usd} USD, listed as ${id}; only its hash is stored` };
  },
});

export const voucherList = defineCommand({
  name: "voucher list",
  description: "List the vouchers, newest first, without their codes",
  flags: {},
  args: [],
  example: "voucher list",
  async run(_context, { config, now }) {
    const vouchers = await withStore(config, ({ store }) => listVouchers(store));
    const json = vouchers.map((voucher) => ({
      id: voucher.id,
      usd: formatUsd(voucher.nanodollars),
      state: statusOfVoucher(voucher, now),
      expires_at: toIsoTime(voucher.expiresAt),
      redeemed_by: voucher.redeemedBy ?? null,
    }));
    const rows = json.map(({ id, usd, state, redeemed_by }) => [id, `${usd} USD`, state, redeemed_by ?? ""]);
    const empty = "No vouchers yet; create one with modelgate voucher create";
    return { json, text: rows.length === 0 ? empty : columns([["id", "amount", "state", "redeemed by"], ...rows]) };
  },
});

export const voucherVoid = defineCommand({
  name: "voucher void",
  description: "Void a voucher, given its code or its id",
  flags: {},
  args: ["CODE"],
  example: "voucher void CODE",
  async run(_context, { args, config, now }) {
    const { id } = await withStore(config, ({ actions }) => actions.voidVoucher(commandLine, args.CODE), now);
    return { json: { id, void: true }, text: `Voucher ${id} is void` };
  },
});
