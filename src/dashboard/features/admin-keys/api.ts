import useSWR from "swr";
import { api, request } from "../../data/api.ts";

const getAdminKeys = () => request(api.admin["admin-keys"].get());

export type AdminKey = Awaited<ReturnType<typeof getAdminKeys>>["data"][number];

/** The admin keys of the gateway, without their secrets. */
export function useAdminKeys() {
  return useSWR("admin-keys", getAdminKeys, { refreshInterval: 15_000, keepPreviousData: true });
}

/** Creates an admin key. Only this response contains the secret. */
export function createAdminKey(fields: {
  name: string;
  scopes: string[];
  expires_at?: string;
  allowed_networks?: string[];
}) {
  return request(api.admin["admin-keys"].post(fields));
}

export function revokeAdminKey(id: string) {
  return request(api.admin["admin-keys"]({ id }).delete());
}

/** The areas that an admin key may be for. Only owners may write accounts and keys: these reach money and roles. */
export const areas = [
  { name: "accounts", label: "Projects, wallets and people", isOwners: true },
  { name: "keys", label: "API keys", isOwners: true },
  { name: "usage", label: "Usage and costs", isOwners: false },
  { name: "audit", label: "Audit log", isOwners: false },
] as const;
