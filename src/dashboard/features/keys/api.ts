import useSWR, { mutate } from "swr";
import { api, organization, request, slowRefresh, toSeconds } from "../../data/api.ts";

const getKeys = () => request(api.keys.get());

export type Key = Awaited<ReturnType<typeof getKeys>>["data"][number];

/** The API keys of the account, without their secrets. */
export function useKeys() {
  return useSWR("keys", getKeys, slowRefresh);
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

export const playgroundKeyName = "Playground";
export const playgroundKeyMs = 3_600_000;

/** Whether the playground made it, which takes it back; it lives for an hour at most. */
export function isOfPlayground({
  name,
  created_at: from,
  expires_at: to,
}: Pick<Key, "name" | "created_at" | "expires_at">) {
  const isShort = from !== null && to !== null && Date.parse(to) - Date.parse(from) <= playgroundKeyMs;
  return name === playgroundKeyName && isShort;
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
  readonly cache_marks?: Key["cache_marks"];
  readonly budget_usd?: string;
  readonly budget_period?: BudgetPeriod;
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly concurrent_calls?: number;
}

const keysOf = (account: string) => organization.projects({ project_id: account }).api_keys;

/**
 * Creates a key and returns it. The secret cannot be read again later.
 *
 * @param account Account of the key, for administrators; absent: the account that the user is working in.
 */
export async function createKey(
  { expires_at: expiresAt, ...fields }: NewKey,
  account?: string,
): Promise<{ id: string; key: string }> {
  const post = async () => {
    if (account === undefined) {
      return await request(api.keys.post({ ...fields, ...(expiresAt !== undefined && { expires_at: expiresAt }) }));
    }
    const expires = expiresAt === undefined ? {} : { expires_at: toSeconds(expiresAt) };
    const { id, value } = await request(keysOf(account).post({ ...fields, ...expires }));
    return { id, key: value };
  };
  const created = await post();
  await refreshKeys();
  return created;
}

/** Loads all lists of keys anew. */
export function refreshKeys(): Promise<unknown> {
  const lists = ["api-keys", "account-keys"];
  return mutate((key) => key === "keys" || (Array.isArray(key) && lists.includes(key[0])));
}

/** `null` removes a limit; absent fields stay unchanged. */
export type KeyChange = Partial<Pick<NewKey, "name" | "budget_period" | "cache_marks">> & {
  readonly [Name in Exclude<keyof NewKey, "name" | "budget_period" | "cache_marks">]?: NewKey[Name] | null;
};

export async function changeKey(account: string | undefined, id: string, change: KeyChange): Promise<void> {
  if (account === undefined) await request(api.keys({ id }).patch(change));
  else {
    const { expires_at: expiresAt, ...fields } = change;
    const expires = expiresAt === undefined ? {} : { expires_at: expiresAt === null ? null : toSeconds(expiresAt) };
    await request(keysOf(account)({ key_id: id }).post({ ...fields, ...expires }));
  }
  await refreshKeys();
}

/** Replaces the secret of a key and returns the new one, which cannot be read again later. */
export async function rotateKey(account: string | undefined, id: string, graceSeconds: number): Promise<string> {
  const grace = { grace_seconds: graceSeconds };
  const key =
    account === undefined
      ? (await request(api.keys({ id }).rotate.post(grace))).key
      : (await request(keysOf(account)({ key_id: id }).rotate.post(grace))).value;
  await refreshKeys();
  return key;
}

export async function revokeKey(account: string | undefined, id: string): Promise<void> {
  await (account === undefined
    ? request(api.keys({ id }).delete())
    : request(keysOf(account)({ key_id: id }).delete()));
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
  /** Email of the person who made them; empty: anybody. */
  readonly made_by: string;
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
