import { voidVoucher } from "../../accounts/index.ts";
import { defineCommand } from "../command.ts";
import { withStore } from "../lib/with-store.ts";

export const voucherVoid = defineCommand({
  name: "voucher void",
  about: "Make a voucher worthless, by its code or its id in the list",
  flags: {},
  args: ["CODE"],
  example: "voucher void CODE",
  async run(_ground, { args, config, now }) {
    const { id } = await withStore(config, ({ store }) => voidVoucher(store, args.CODE, now));
    return { json: { id, void: true }, text: `Voucher ${id} is void` };
  },
});
