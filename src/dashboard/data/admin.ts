import useSWR, { mutate } from "swr";
import { api, organization, request, slowRefresh } from "./api.ts";
import { refreshMs } from "./session.ts";

export const accountOrders = [
  ["email", "By email"],
  ["spend", "Most spent"],
  ["balance", "Highest balance"],
  ["last_used", "Last used"],
  ["created", "Newest"],
] as const;
export const accountKinds = [
  ["", "All accounts"],
  ["owner", "Owners"],
  ["admin", "Administrators"],
  ["viewer", "Viewers"],
  ["member", "Members"],
  ["none", "No sign-in yet"],
  ["team", "Teams"],
  ["disabled", "Disabled"],
] as const;

export interface AccountSearch {
  readonly search: string;
  readonly order: (typeof accountOrders)[number][0];
  readonly kind: (typeof accountKinds)[number][0];
}

const toQuery = ({ search, order, kind }: AccountSearch) => ({ search, order, ...(kind !== "" && { kind }) });
const getAccounts = (search: AccountSearch, page: number) =>
  request(api.admin.accounts.get({ query: { ...toQuery(search), page: String(page) } }));

/** The address of a file with the accounts that fit. */
export function toAccountsFile(search: AccountSearch): string {
  return `/dashboard/api/admin/accounts.csv?${new URLSearchParams(toQuery(search))}`;
}
const getLive = () => request(organization.live_calls.get());

export type AdminAccount = Awaited<ReturnType<typeof getAccounts>>["data"][number];
const getAccount = (id: string) => request(api.admin.accounts({ id }).get());
const getAccountKeys = (id: string) => request(api.admin.accounts({ id }).keys.get());
const getAccountUsage = (id: string) => request(api.admin.accounts({ id }).usage.get());

export type AccountDetail = Awaited<ReturnType<typeof getAccount>>;
export type AccountUsage = Awaited<ReturnType<typeof getAccountUsage>>["data"][number];
export type LiveCall = Awaited<ReturnType<typeof getLive>>["data"][number];

const anyAccount: AccountSearch = { search: "", order: "email", kind: "" };

export const useAccounts = (search: AccountSearch = anyAccount, page = 1) =>
  useSWR(["admin-accounts", JSON.stringify(search), page], () => getAccounts(search, page), slowRefresh);
export const useAccount = (id: string) => useSWR(["admin-accounts", "one", id], () => getAccount(id), slowRefresh);
export const useAccountKeys = (id: string | undefined) =>
  useSWR(id === undefined ? null : ["account-keys", id], ([, account]) => getAccountKeys(account), slowRefresh);
export const useAccountUsage = (id: string) => useSWR(["account-usage", id], () => getAccountUsage(id), slowRefresh);
export const useSettings = () => useSWR("admin-settings", () => request(api.admin.settings.get()));
export const useLive = () => useSWR("admin-live", getLive, { refreshInterval: refreshMs / 2, keepPreviousData: true });

/** Loads lists of accounts, and the page of one, anew. */
export function refreshAccounts(): Promise<unknown> {
  return mutate((key) => Array.isArray(key) && (key[0] === "admin-accounts" || key[0] === "entries"));
}
