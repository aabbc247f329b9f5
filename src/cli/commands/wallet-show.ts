import { walletOf } from "../../billing/index.ts";
import { defineCommand } from "../command.ts";
import { accountOf, withStore } from "../lib/with-store.ts";
import { walletJson } from "../wallet-json.ts";

export const walletShow = defineCommand({
  name: "wallet show",
  about: "Show the balance of a wallet, and what running calls hold of it",
  flags: { account: { value: "A", about: "Id or e-mail of the account", required: true } },
  args: [],
  example: "wallet show --account ada@example.org",
  async run(_ground, { flags, config }) {
    const wallet = await withStore(config, async ({ store, accounts }) => {
      const { id } = await accountOf(accounts, flags.account);
      return walletOf(store, id);
    });
    const json = walletJson(wallet);
    return { json, text: `balance ${json.balance_usd} USD, held ${json.held_usd} USD` };
  },
});
