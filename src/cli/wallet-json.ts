import { formatUsd, type WalletState } from "../contract/index.ts";

/** A wallet as `--json` shows it: exact decimal US dollars as text. */
export function walletJson({ balanceNanodollars, heldNanodollars }: WalletState) {
  return { balance_usd: formatUsd(balanceNanodollars), held_usd: formatUsd(heldNanodollars) };
}
