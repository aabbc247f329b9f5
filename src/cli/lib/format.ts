import type { Config } from "../../config/index.ts";
import { formatUsd, toRealEmail, type WalletState } from "../../contract/index.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { type Account, isVerified } from "../../tenants/index.ts";

/**
 * Formats rows as aligned columns, two spaces apart, without trailing spaces. Control characters in a cell are escaped.
 */
export function columns(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(toTerminalLine));
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  const pad = (cell: string, index: number) => cell.padEnd(widths[index] as number);
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}

/** An account in `--json` output. */
export function accountOutput({ freeTokensPerDay, allowedModels, ...account }: Account) {
  const { id, name } = account;
  const email = toRealEmail(account.email);
  const own = { free_tokens_per_day: freeTokensPerDay ?? null, allowed_models: allowedModels ?? null };
  return { id, email, verified: isVerified(account) ?? null, name: name ?? null, ...own };
}

/** A wallet in `--json` output: US dollars as exact decimal text. */
export function walletOutput({ balanceNanodollars, heldNanodollars }: WalletState) {
  return { balance_usd: formatUsd(balanceNanodollars), held_usd: formatUsd(heldNanodollars) };
}

/** A time as ISO 8601, `null` if it is absent. */
export function toIsoTime(at: number | null | undefined): string | null {
  return at === null || at === undefined ? null : new Date(at).toISOString();
}

/** A link that is valid once, and where it leads only on this machine. */
export function formatLink({ publicUrl }: Pick<Config, "publicUrl">, url: string, expiresAt: number): string {
  const valid = `Valid once, until ${new Date(expiresAt).toISOString().slice(0, 16)} UTC`;
  const warning = "PUBLIC_URL is not set, so the link points to this machine: set it, or replace the address";
  return [url, valid, ...(publicUrl === undefined ? [warning] : [])].join("\n");
}
