import useSWR from "swr";
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

/** Creates a key. Only this response contains the secret. */
export function createKey(fields: NewKey) {
  return request(api.keys.post(fields));
}

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

export function changeKey(id: string, change: KeyChange) {
  return request(api.keys({ id }).patch(change));
}

/** Gives a key another secret, which only this response contains. */
export function rotateKey(id: string, graceSeconds: number) {
  return request(api.keys({ id }).rotate.post({ grace_seconds: graceSeconds }));
}

export function revokeKey(id: string) {
  return request(api.keys({ id }).delete());
}
