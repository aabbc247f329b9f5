import useSWR, { mutate } from "swr";
import { api, told } from "./api.ts";
import { refreshMs } from "./session.ts";

/** A page of what administrators see changes more slowly than what runs. */
const slowMs = 15_000;

const getAccounts = (search: string, after: string) =>
  told(api.admin.accounts.get({ query: { search, ...(after !== "" && { after }) } }));
const getVouchers = () => told(api.admin.vouchers.get());
const getPlugins = () => told(api.admin.plugins.get());
const getCatalogue = () => told(api.admin.catalogue.get());
const getLive = () => told(api.admin.live.get());
const getDeeds = (last: DeedPlace | undefined) =>
  told(api.admin.audit.get({ query: last?.at ? { before: last.at, before_id: last.id } : {} }));

export type AdminAccount = Awaited<ReturnType<typeof getAccounts>>["data"][number];
export type AdminVoucher = Awaited<ReturnType<typeof getVouchers>>["data"][number];
export type PluginRow = Awaited<ReturnType<typeof getPlugins>>["data"][number];
export type CatalogueRow = Awaited<ReturnType<typeof getCatalogue>>["data"][number];
export type LiveCall = Awaited<ReturnType<typeof getLive>>["data"][number];
export type AuditEntry = Awaited<ReturnType<typeof getDeeds>>["data"][number];

const slowly = { refreshInterval: slowMs, keepPreviousData: true };

export function useAccounts(search: string, after: string) {
  return useSWR(["admin-accounts", search, after], () => getAccounts(search, after), slowly);
}

export function useVouchers() {
  return useSWR("admin-vouchers", getVouchers, slowly);
}

export function usePlugins() {
  return useSWR("admin-plugins", getPlugins, slowly);
}

export function useCatalogue() {
  return useSWR("admin-catalogue", getCatalogue, slowly);
}

export function useLive() {
  return useSWR("admin-live", getLive, { refreshInterval: refreshMs / 2, keepPreviousData: true });
}

/** Where a deed stands in the list. */
export interface DeedPlace {
  readonly at: string | null;
  readonly id: string;
}

/** The deeds after one of the list; absent: from the newest on. */
export function useDeeds(last: DeedPlace | undefined) {
  return useSWR(["admin-audit", last?.id], () => getDeeds(last), slowly);
}

export function useSettings() {
  return useSWR("admin-settings", () => told(api.admin.settings.get()));
}

/** What is shown of accounts is asked for anew. */
export function refreshAccounts(): Promise<unknown> {
  return mutate((key) => Array.isArray(key) && key[0] === "admin-accounts");
}
