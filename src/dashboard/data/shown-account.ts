import { createStore } from "../kit/create-store.ts";

/** A user and the account that they are working in. */
interface Place {
  readonly account: string;
  readonly account_name: string;
  readonly own_account: string;
}

/** The account that this tab shows; unknown before the first answer and after the session has ended. */
let shown: Place | undefined;

/** Set when another tab has switched the account, or signed in another user, since this tab was loaded. */
export const accountMismatch = createStore<{ readonly from: Place; readonly to: Place } | undefined>(undefined);

/** Compares where the session acts with what this tab shows. */
export function noteAccount(to: Place): void {
  shown ??= to;
  const isSame = shown.account === to.account && shown.own_account === to.own_account;
  accountMismatch.set(isSame ? undefined : { from: shown, to });
}

/** Whatever the next answer tells is what this tab shows. */
export function forgetAccount(): void {
  shown = undefined;
  accountMismatch.set(undefined);
}

/**
 * Header of every request that names the account of this tab: the gateway refuses a write that would land in another
 * one.
 */
export function toAccountHeader(): Record<string, string> {
  return shown === undefined ? {} : { "x-modelgate-account": shown.account };
}
