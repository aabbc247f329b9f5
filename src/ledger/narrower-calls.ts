import type { CallsState } from "../contract/index.ts";

/** Of the calls of an account and of one of its keys, those of which fewer may still begin. */
export function narrowerCalls(account: CallsState, key: CallsState): CallsState {
  if (key.limit === undefined) return account;
  if (account.limit === undefined) return key;
  return key.limit - key.running <= account.limit - account.running ? key : account;
}
