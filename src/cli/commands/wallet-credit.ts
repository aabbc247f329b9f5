import { formatUsd } from "../../contract/index.ts";
import { creditWallet, walletOf } from "../../ledger/index.ts";
import { accountOf, withBooks } from "../books.ts";
import { defineCommand } from "../command.ts";
import { readUsd } from "../read-values.ts";
import { walletJson } from "../wallet-json.ts";

export const walletCredit = defineCommand({
  name: "wallet credit",
  about: "Put money into a wallet, or take some out with a minus",
  flags: {
    account: { value: "A", about: "Id or e-mail of the account", required: true },
    usd: { value: "5.00", about: "US dollars, exact to nine decimals", required: true },
    note: { value: "T", about: "Why, for the books", required: true },
    reference: { value: "R", about: "A payment's own number: the same one is credited once" },
  },
  args: [],
  example: 'wallet credit --account ada@example.org --usd 5.00 --note "Invoice 7"',
  async run(_ground, { flags, config }) {
    const nanodollars = readUsd(flags.usd);
    const { note, reference } = flags;
    const { wallet, repeated } = await withBooks(config, async ({ store, accounts }) => {
      const { id: accountId } = await accountOf(accounts, flags.account);
      const { repeated } = await creditWallet(store, { accountId, nanodollars, note, reference });
      return { wallet: await walletOf(store, accountId), repeated };
    });
    const json = walletJson(wallet);
    const done = repeated ? `Reference ${reference} was credited before` : `Credited ${formatUsd(nanodollars)} USD`;
    return { json: { ...json, repeated }, text: `${done}; the balance is ${json.balance_usd} USD` };
  },
});
