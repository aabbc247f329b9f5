import type { Account } from "../accounts/index.ts";

/** An account as `--json` shows it. */
export function accountJson({ id, email, name, freeTokensPerDay }: Account) {
  return { id, email, name: name ?? null, free_tokens_per_day: freeTokensPerDay ?? null };
}
