import { commandLine, createAudited } from "../../audit/index.ts";
import type { Config } from "../../config/index.ts";
import { formatUsd } from "../../contract/index.ts";
import { reverseAudited } from "../../http/forms/reverse-credit.ts";
import { creditWallet, readReversed, readWalletState, whyIrreversible } from "../../ledger/index.ts";
import { readTransactions } from "../../reports/index.ts";
import { type CommandResult, defineCommand, UsageError } from "../command.ts";
import { columns, walletOutput } from "../lib/format.ts";
import { parseAmount, parseCount } from "../lib/parse.ts";
import { expectAccount, expectRecipient, withStore } from "../lib/with-store.ts";

const listedMax = 1000;

const flags = {
  account: { value: "A", description: "Id or e-mail of the account, or name of a team", required: true },
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
  flags: {},
  args: ["A"],
  example: "wallet show ada@example.org",
  async run(_context, { args, config }) {
    const wallet = await withStore(config, async ({ store, accounts }) => {
      const { id } = await expectAccount(accounts, args.A);
      return readWalletState(store, id);
    });
    const json = walletOutput(wallet);
    return { json, text: `balance ${json.balance_usd} USD, held ${json.held_usd} USD` };
  },
});

export const walletList = defineCommand({
  name: "wallet list",
  description: "List the credits and debits of a wallet, newest first",
  flags: {
    account: flags.account,
    limit: { value: "N", description: "Maximum number of transactions (default 20, up to 1000)" },
  },
  args: [],
  example: "wallet list --account ada@example.org",
  async run(_context, { flags, config }) {
    const limit = flags.limit === undefined ? 20 : parseCount("--limit", flags.limit);
    if (limit < 1 || limit > listedMax) throw new UsageError(`--limit is ${limit}, expected 1 to ${listedMax}`);
    const json = await withStore(config, async ({ store, accounts }) => {
      const { id } = await expectAccount(accounts, flags.account);
      const [rows, reversed] = await Promise.all([readTransactions(store, id, { limit }), readReversed(store, id)]);
      return rows.map((row) => ({
        id: row.id,
        at: new Date(row.at).toISOString(),
        kind: row.kind,
        amount_usd: formatUsd(row.nanodollars),
        note: row.note ?? null,
        irreversible: whyIrreversible(row, reversed) ?? null,
      }));
    });
    if (json.length === 0) return { json, text: "The wallet has no credits or debits" };
    const head = ["id", "at (UTC)", "kind", "USD", "note"];
    const rows = json.map(({ id, at, kind, amount_usd: usd, irreversible, note }) => {
      const state = irreversible === "reversed" ? `${kind}, reversed` : kind;
      return [id, at.slice(0, 16), state, usd, note ?? ""];
    });
    return { json, text: columns([head, ...rows]) };
  },
});

export const walletReverse = defineCommand({
  name: "wallet reverse",
  description: "Take a credit back, once; the balance may become negative",
  flags: { note: { value: "T", description: "Reason, for the records (default: the note of the credit)" } },
  args: ["ID"],
  example: 'wallet reverse credit:acc_1:invoice-7 --note "Meant 5, not 50000"',
  async run(_context, { flags, args, config, now }) {
    const credit = { by: commandLine, transactionId: args.ID, note: flags.note };
    const { entryId, nanodollars, balanceNanodollars } = await withStore(config, ({ store }) =>
      reverseAudited(store, credit, () => now),
    );
    const json = { id: entryId, amount_usd: formatUsd(nanodollars), balance_usd: formatUsd(balanceNanodollars) };
    return { json, text: `Took back ${formatUsd(-nanodollars)} USD; the balance is ${json.balance_usd} USD` };
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
