import { createAudited } from "../../audit/index.ts";
import type { Config } from "../../config/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { creditWallet, readWalletState } from "../../ledger/index.ts";
import { type CommandResult, defineCommand } from "../command.ts";
import { walletOutput } from "../lib/format.ts";
import { parseAmount } from "../lib/parse.ts";
import { expectAccount, expectRecipient, withStore } from "../lib/with-store.ts";

const flags = {
  account: { value: "A", description: "Id or e-mail of the account", required: true },
  usd: { value: "5.00", description: "US dollars, with at most nine decimals", required: true },
  note: { value: "T", description: "Reason, for the records", required: true },
  reference: { value: "R", description: "Id of the payment; the same reference is booked only once" },
} as const;

export const walletCredit = defineCommand({
  name: "wallet credit",
  description: "Add money to a wallet",
  flags,
  args: [],
  example: 'wallet credit --account ada@example.org --usd 5.00 --note "Invoice 7"',
  run: (_context, { flags, config }) => bookEntry(config, flags, "credit"),
});

export const walletDebit = defineCommand({
  name: "wallet debit",
  description: "Deduct money from a wallet; the balance may become negative",
  flags,
  args: [],
  example: 'wallet debit --account ada@example.org --usd 5.00 --note "Refund of invoice 7"',
  run: (_context, { flags, config }) => bookEntry(config, flags, "debit"),
});

export const walletShow = defineCommand({
  name: "wallet show",
  description: "Show a wallet's balance and the amount held for running calls",
  flags: { account: flags.account },
  args: [],
  example: "wallet show --account ada@example.org",
  async run(_context, { flags, config }) {
    const wallet = await withStore(config, async ({ store, accounts }) => {
      const { id } = await expectAccount(accounts, flags.account);
      return readWalletState(store, id);
    });
    const json = walletOutput(wallet);
    return { json, text: `balance ${json.balance_usd} USD, held ${json.held_usd} USD` };
  },
});

interface Entry {
  readonly account: string;
  readonly usd: string;
  readonly note: string;
  readonly reference: string | undefined;
}

async function bookEntry(config: Config, entry: Entry, kind: "credit" | "debit"): Promise<CommandResult> {
  const usd = parseAmount(entry.usd);
  const { note, reference } = entry;
  const { wallet, repeated } = await withStore(config, async ({ store, accounts }) => {
    const find = kind === "credit" ? expectRecipient : expectAccount;
    const { id: accountId } = await find(accounts, entry.account);
    const nanodollars = kind === "credit" ? usd : -usd;
    const credit = { accountId, nanodollars, note, reference };
    const { repeated } = await createAudited(store, Date.now)(
      (transaction) => creditWallet(transaction, credit),
      (result) => {
        const entry = { accountId: "cli", action: `account.${kind}`, subject: accountId };
        return result.repeated ? undefined : { ...entry, detail: { usd: formatUsd(usd), note } };
      },
    );
    return { wallet: await readWalletState(store, accountId), repeated };
  });
  const json = walletOutput(wallet);
  const verb = kind === "credit" ? "Credited" : "Debited";
  const done = repeated ? `Reference ${reference} was already booked` : `${verb} ${formatUsd(usd)} USD`;
  return { json: { ...json, repeated }, text: `${done}; the balance is ${json.balance_usd} USD` };
}
