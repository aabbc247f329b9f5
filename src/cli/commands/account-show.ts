import { walletOf } from "../../billing/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { accountJson } from "../account-json.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { accountOf, withStore } from "../lib/with-store.ts";

export const accountShow = defineCommand({
  name: "account show",
  about: "Show an account: its wallet, quota and number of keys",
  flags: {},
  args: ["A"],
  example: "account show ada@example.org",
  async run(_ground, { args, config }) {
    const { account, wallet, keys } = await withStore(config, async ({ store, accounts }) => {
      const account = await accountOf(accounts, args.A);
      const wallet = await walletOf(store, account.id);
      return { account, wallet, keys: await accounts.listKeys(account.id) };
    });
    const json = {
      ...accountJson(account),
      balance_usd: formatUsd(wallet.balanceNanodollars),
      held_usd: formatUsd(wallet.heldNanodollars),
      keys: keys.length,
    };
    return { json, text: columns(Object.entries(json).map(([name, value]) => [name, String(value ?? "default")])) };
  },
});
