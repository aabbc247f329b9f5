export type { Account } from "./account-admin.ts";
export type { AccountDefaults } from "./authenticator.ts";
export { type Accounts, type AccountsOptions, createAccounts } from "./create-accounts.ts";
export type { ApiKey, NewKey } from "./key-admin.ts";
