import { defineCommand } from "../command.ts";
import { moveWalletFunds } from "../move-wallet.ts";

export const walletDebit = defineCommand({
  name: "wallet debit",
  about: "Take money out of a wallet, also below zero",
  flags: {
    account: { value: "A", about: "Id or e-mail of the account", required: true },
    usd: { value: "5.00", about: "US dollars, exact to nine decimals", required: true },
    note: { value: "T", about: "Why, for the books", required: true },
    reference: { value: "R", about: "A payment's own number: the same one is debited once" },
  },
  args: [],
  example: 'wallet debit --account ada@example.org --usd 5.00 --note "Refund of invoice 7"',
  run: (_ground, { flags, config }) => moveWalletFunds(config, flags, "debit"),
});
