import { createVoucher } from "../../accounts/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { defineCommand } from "../command.ts";
import { withStore } from "../lib/with-store.ts";
import { readExpiry, readUsd } from "../read-values.ts";

export const voucherCreate = defineCommand({
  name: "voucher create",
  about: "Make a code worth money, good once; it is shown once",
  flags: {
    usd: { value: "5", about: "What it is worth in US dollars", required: true },
    expires: { value: "30d", about: "Ends after a span (30d, 12h, 1y) or with a day (2027-01-31)" },
  },
  args: [],
  example: "voucher create --usd 5 --expires 30d",
  async run(_ground, { flags, config, now }) {
    const nanodollars = readUsd(flags.usd);
    const expiresAt = flags.expires === undefined ? undefined : readExpiry(flags.expires, now);
    const { id, code } = await withStore(config, ({ store }) => createVoucher(store, { nanodollars, expiresAt }, now));
    const usd = formatUsd(nanodollars);
    return { json: { id, code, usd }, text: `${code}\nWorth ${usd} USD, listed as ${id}; only its hash is stored` };
  },
});
