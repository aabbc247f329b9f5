import useSWR from "swr";
import { fromSeconds, organization, readPages, request, slowRefresh, toSeconds } from "../../data/api.ts";

const getAdminKeys = async () => {
  const keys = await readPages((query) => request(organization.admin_api_keys.get({ query })));
  return keys.map(({ id, name, scopes, allowed_networks, owner, ...times }) => ({
    id,
    name,
    scopes,
    allowed_networks,
    created_by: owner.name,
    created_at: fromSeconds(times.created_at),
    last_used_at: fromSeconds(times.last_used_at),
    expires_at: fromSeconds(times.expires_at),
    revoked_at: fromSeconds(times.revoked_at),
  }));
};

export type AdminKey = Awaited<ReturnType<typeof getAdminKeys>>[number];

/** The admin keys of the gateway, without their secrets. */
export function useAdminKeys() {
  return useSWR("admin-keys", getAdminKeys, slowRefresh);
}

/** Creates an admin key and returns it. The secret cannot be read again later. */
export async function createAdminKey({
  expires_at: expiresAt,
  ...fields
}: {
  name: string;
  scopes: string[];
  expires_at?: string;
  allowed_networks?: string[];
}): Promise<string> {
  const expires = expiresAt === undefined ? {} : { expires_at: toSeconds(expiresAt) };
  return (await request(organization.admin_api_keys.post({ ...fields, ...expires }))).value;
}

/** Revokes an admin key with those that it made, and with the API keys that they made or rotated if `revokesKeys` says so. */
export function revokeAdminKey(id: string, revokesKeys: boolean) {
  const query = revokesKeys ? { revoke_keys: "true" } : {};
  return request(organization.admin_api_keys({ key_id: id }).delete(undefined, { query }));
}

/** The areas that an admin key may be for. Only owners may write accounts and keys: these reach money and roles. */
export const areas = [
  { name: "accounts", label: "Projects, wallets and people", isOwners: true },
  { name: "keys", label: "API keys", isOwners: true },
  { name: "usage", label: "Usage and costs", isOwners: false },
  { name: "audit", label: "Audit log", isOwners: false },
] as const;
