import { formatUsd } from "../../contract/index.ts";
import { creditWallet, walletOf } from "../../ledger/index.ts";
import { accountOf, withBooks } from "../books.ts";
import { defineCommand } from "../command.ts";
import { readUsd } from "../read-values.ts";
import { walletJson } from "../wallet-json.ts";

export const walletCredit = defineCommand({
  name: "wallet credit",
  about: "Put money into a wallet",
  flags: {
    account: { value: "A", about: "Id or e-mail of the account", required: true },
    usd: { value: "5.00", about: "US dollars", required: true },
    note: { value: "T", about: "Why, for the books", required: true },
    reference: { value: "R", about: "A payment's own number: the same one is credited once" },
  },
  args: [],
  example: 'wallet credit --account ada@example.org --usd 5.00 --note "Invoice 7"',
  async run(_ground, { flags, config }) {
    const nanodollars = readUsd(flags.usd);
    const { note, reference } = flags;
    const wallet = await withBooks(config, async ({ store, accounts }) => {
      const { id: accountId } = await accountOf(accounts, flags.account);
      await creditWallet(store, { accountId, nanodollars, note, ...(reference === undefined ? {} : { reference }) });
      return walletOf(store, accountId);
    });
    const json = walletJson(wallet);
    return { json, text: `Credited ${formatUsd(nanodollars)} USD; the balance is ${json.balance_usd} USD` };
  },
});
