import useSWR from "swr";
import { api, told } from "./api.ts";

const getKeys = () => told(api.keys.get());

export type Key = Awaited<ReturnType<typeof getKeys>>["data"][number];

/** The API keys of the own account; never what is secret of them. */
export function useKeys() {
  return useSWR("keys", getKeys, { refreshInterval: 15_000 });
}

const once = { revalidateIfStale: false, revalidateOnFocus: false, revalidateOnReconnect: false };

/** What a key is called, for who has its id; asked for once, so that an open page asks no more for it. */
export function useKeyNames(): (id: string) => string {
  const { data } = useSWR("keys", getKeys, once);
  const names = new Map(data?.data.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? shownKey(id);
}

/** What may be shown of a key. */
export function shownKey(id: string): string {
  return `sk-mg-${id}-…`;
}

export type KeyState = "active" | "expired" | "revoked";

export function stateOf(key: Pick<Key, "revoked_at" | "expires_at">, now: number = Date.now()): KeyState {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && Date.parse(key.expires_at) <= now ? "expired" : "active";
}

export interface NewKey {
  readonly name: string;
  readonly expires_at?: string;
  readonly allowed_models?: string[];
  readonly budget_usd?: string;
}

/** Makes a key; the answer is the only one that has its secret. */
export function createKey(fields: NewKey) {
  return told(api.keys.post(fields));
}

/** What is to become of a key: `null` takes something away, and what is absent stays. */
export interface KeyChange {
  readonly name?: string;
  readonly expires_at?: string | null;
  readonly allowed_models?: string[] | null;
  readonly budget_usd?: string | null;
}

export function changeKey(id: string, change: KeyChange) {
  return told(api.keys({ id }).patch(change));
}

export function revokeKey(id: string) {
  return told(api.keys({ id }).delete());
}
