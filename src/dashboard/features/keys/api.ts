import useSWR, { mutate } from "swr";
import { api, request } from "../../data/api.ts";

const getKeys = () => request(api.keys.get());

export type Key = Awaited<ReturnType<typeof getKeys>>["data"][number];

/** The API keys of the account, without their secrets. */
export function useKeys() {
  return useSWR("keys", getKeys, { refreshInterval: 15_000 });
}

const once = { revalidateIfStale: false, revalidateOnFocus: false, revalidateOnReconnect: false };

/** Looks up the name of a key by its id. Fetched once, not refreshed. */
export function useKeyNames(): (id: string) => string {
  const { data } = useSWR("keys", getKeys, once);
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? maskKey(id);
}

/** A key without its secret, such as `sk-mg-abc-…`. */
export function maskKey(id: string): string {
  return `sk-mg-${id}-…`;
}

export type KeyState = "active" | "expired" | "revoked";

export function getKeyState(key: Pick<Key, "revoked_at" | "expires_at">, now: number = Date.now()): KeyState {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? "expired" : "active";
}

export type BudgetPeriod = NonNullable<Key["budget_period"]>;

export const budgetPeriods: readonly (readonly [BudgetPeriod, string])[] = [
  ["day", "a day"],
  ["week", "a week"],
  ["month", "a month"],
];

export interface NewKey {
  readonly name: string;
  readonly expires_at?: string;
  readonly allowed_models?: string[];
  readonly allowed_networks?: string[];
  readonly budget_usd?: string;
  readonly budget_period?: BudgetPeriod;
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly concurrent_calls?: number;
}

/** The keys that are changed: those of the account in which the user works, or those of any, as an administrator. */
export type KeyScope = "own" | "all";

/** Creates a key, in the account with this id or in one's own. Only this response contains the secret. */
export async function createKey(fields: NewKey, account?: string) {
  const created = await (account === undefined
    ? request(api.keys.post(fields))
    : request(api.admin["api-keys"].of({ account }).post(fields)));
  await refreshKeys();
  return created;
}

/** Loads all lists of keys anew. */
function refreshKeys(): Promise<unknown> {
  const lists = ["api-keys", "account-keys"];
  return mutate((key) => key === "keys" || (Array.isArray(key) && lists.includes(key[0])));
}

const keyOf = (scope: KeyScope, id: string) => (scope === "own" ? api.keys({ id }) : api.admin["api-keys"]({ id }));

/** `null` removes a limit; absent fields stay unchanged. */
export interface KeyChange {
  readonly name?: string;
  readonly expires_at?: string | null;
  readonly allowed_models?: string[] | null;
  readonly allowed_networks?: string[] | null;
  readonly budget_usd?: string | null;
  readonly budget_period?: BudgetPeriod;
  readonly requests_per_minute?: number | null;
  readonly tokens_per_minute?: number | null;
  readonly concurrent_calls?: number | null;
}

export async function changeKey(scope: KeyScope, id: string, change: KeyChange): Promise<void> {
  await request(keyOf(scope, id).patch(change));
  await refreshKeys();
}

/** Gives a key another secret, which only this response contains. */
export async function rotateKey(scope: KeyScope, id: string, graceSeconds: number) {
  const rotated = await request(keyOf(scope, id).rotate.post({ grace_seconds: graceSeconds }));
  await refreshKeys();
  return rotated;
}

export async function revokeKey(scope: KeyScope, id: string): Promise<void> {
  await request(keyOf(scope, id).delete());
  await refreshKeys();
}

export const keyOrders = [
  ["created", "Newest first"],
  ["last_used", "Last used first"],
  ["expires", "Expires first"],
  ["name", "By name"],
] as const;
export const keyStates = [
  ["active", "Active"],
  ["ended", "Expired or revoked"],
  ["all", "All"],
] as const;

export interface KeySearch {
  readonly search: string;
  readonly state: (typeof keyStates)[number][0];
  readonly order: (typeof keyOrders)[number][0];
}

const getAllKeys = (query: KeySearch, page: number) =>
  request(api.admin["api-keys"].get({ query: { ...query, page: String(page) } }));

/** A key with its owner and what it cost lately. */
export type OwnedKey = Awaited<ReturnType<typeof getAllKeys>>["data"][number];

/** The keys of all accounts, for administrators. */
export function useAllKeys(query: KeySearch, page: number) {
  return useSWR(["api-keys", JSON.stringify(query), page], () => getAllKeys(query, page), {
    refreshInterval: 30_000,
    keepPreviousData: true,
  });
}

/** The address of a file with the keys that fit. */
export function toKeysFile(query: KeySearch): string {
  return `/dashboard/api/admin/api-keys/file.csv?${new URLSearchParams({ ...query })}`;
}
