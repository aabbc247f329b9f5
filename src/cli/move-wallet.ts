import { creditWallet, walletOf } from "../billing/index.ts";
import type { Config } from "../config/index.ts";
import { formatUsd } from "../contract/index.ts";
import type { CommandResult } from "./command.ts";
import { accountOf, withStore } from "./lib/with-store.ts";
import { readUsd } from "./read-values.ts";
import { walletJson } from "./wallet-json.ts";

interface Movement {
  readonly account: string;
  readonly usd: string;
  readonly note: string;
  readonly reference: string | undefined;
}

/** What `wallet credit` and `wallet debit` do. @throws {UsageError} */
export async function moveWalletFunds(
  config: Config,
  given: Movement,
  kind: "credit" | "debit",
): Promise<CommandResult> {
  const usd = readUsd(given.usd);
  const { note, reference } = given;
  const { wallet, repeated } = await withStore(config, async ({ store, accounts }) => {
    const { id: accountId } = await accountOf(accounts, given.account);
    const nanodollars = kind === "credit" ? usd : -usd;
    const { repeated } = await creditWallet(store, { accountId, nanodollars, note, reference });
    return { wallet: await walletOf(store, accountId), repeated };
  });
  const json = walletJson(wallet);
  const verb = kind === "credit" ? "Credited" : "Debited";
  const done = repeated ? `Reference ${reference} was counted before` : `${verb} ${formatUsd(usd)} USD`;
  return { json: { ...json, repeated }, text: `${done}; the balance is ${json.balance_usd} USD` };
}
