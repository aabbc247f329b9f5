import { defineCommand } from "../command.ts";
import { moveWalletFunds } from "../move-wallet.ts";

export const walletCredit = defineCommand({
  name: "wallet credit",
  about: "Put money into a wallet",
  flags: {
    account: { value: "A", about: "Id or e-mail of the account", required: true },
    usd: { value: "5.00", about: "US dollars, exact to nine decimals", required: true },
    note: { value: "T", about: "Why, for the books", required: true },
    reference: { value: "R", about: "A payment's own number: the same one is credited once" },
  },
  args: [],
  example: 'wallet credit --account ada@example.org --usd 5.00 --note "Invoice 7"',
  run: (_ground, { flags, config }) => moveWalletFunds(config, flags, "credit"),
});
