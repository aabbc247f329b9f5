import { commandLine } from "../../audit/index.ts";
import {
  type AdminKey,
  createAdminKey,
  listAdminKeys,
  type RevokedAdminKey,
  revokeAdminKey,
} from "../../keys/index.ts";
import { defineCommand } from "../command.ts";
import { columns, toIsoTime } from "../lib/format.ts";
import { expiryForms, parseExpiry, parseNetworkList, parseRevokesKeys } from "../lib/parse.ts";
import { withStore } from "../lib/with-store.ts";

export const adminKeyCreate = defineCommand({
  name: "admin-key create",
  description: "Create a key for the management API; it is printed only once",
  flags: {
    name: { value: "N", description: "Purpose of the key", required: true },
    scopes: { value: "a:b,…", description: "all, or read or write of areas: keys:write,usage:read", required: true },
    expires: { value: "30d", description: `Expiry: ${expiryForms}` },
    networks: { value: "a,b", description: "Addresses and CIDR ranges it may be used from (default: any)" },
  },
  args: [],
  example: "admin-key create --name ci --scopes accounts:write,keys:write,usage:read",
  async run(_context, { flags, config, now }) {
    const fields = {
      name: flags.name,
      scopes: split(flags.scopes),
      expiresAt: flags.expires === undefined ? undefined : parseExpiry(flags.expires, now),
      allowedNetworks: flags.networks === undefined ? undefined : parseNetworkList(flags.networks),
    };
    const { id, key } = await withStore(config, ({ store }) => createAdminKey(store, commandLine, fields, now), now);
    const advice = `Keep it: only its hash is stored. Revoke it with modelgate admin-key revoke ${id}`;
    return { json: { id, key }, text: `${key}\n${advice}` };
  },
});

export const adminKeyList = defineCommand({
  name: "admin-key list",
  description: "List the admin keys, without their secrets",
  flags: {},
  args: [],
  example: "admin-key list",
  async run(_context, { config, now }) {
    const keys = await withStore(config, ({ store }) => listAdminKeys(store, now), now);
    const rows = keys.map((key) => [
      key.id,
      key.name,
      getState(key, now),
      key.scopes.join(" "),
      key.lastUsedAt === undefined ? "never used" : `last used ${toIsoTime(key.lastUsedAt)?.slice(0, 16)}`,
    ]);
    const heading = ["id", "name", "state", "scopes", "last use"];
    const empty = "No admin keys yet; create one with modelgate admin-key create";
    const text = rows.length === 0 ? empty : columns([heading, ...rows]);
    return { json: keys.map((key) => toAdminKeyJson(key, now)), text };
  },
});

export const adminKeyRevoke = defineCommand({
  name: "admin-key revoke",
  description: "Revoke an admin key and the admin keys created with it, permanently",
  flags: {
    keys: {
      value: "K",
      description: "revoke: also revoke the API keys that it created or rotated, for example after a leak",
      choices: ["revoke"],
    },
  },
  args: ["ID"],
  example: "admin-key revoke ID --keys revoke",
  async run(_context, { args, flags, config, now }) {
    const id = /^sk-mg-admin-([^-]+)-/.exec(args.ID)?.[1] ?? args.ID;
    const revokesApiKeys = parseRevokesKeys(flags.keys);
    const revocation = { by: commandLine, id, revokesApiKeys };
    const ended = await withStore(config, ({ store }) => revokeAdminKey(store, revocation, now), now);
    const json = {
      id,
      revoked: true,
      admin_keys: ended.adminKeys,
      invitations: ended.invitations,
      api_keys: ended.apiKeys.map(({ id, name, accountId }) => ({ id, name, account: accountId })),
      api_keys_revoked: revokesApiKeys,
    };
    return { json, text: describeRevoked(id, ended, revokesApiKeys) };
  },
});

function describeRevoked(id: string, { adminKeys, invitations, apiKeys }: RevokedAdminKey, revokesApiKeys: boolean) {
  const others = adminKeys > 1 ? `, and ${count(adminKeys - 1, "admin key")} that it made` : "";
  const links = invitations > 0 ? `\nEnded ${count(invitations, "open invitation")} of them` : "";
  if (apiKeys.length === 0) return `Revoked ${id}${others}${links}`;
  const names = columns(apiKeys.map((key) => [`  ${key.id}`, key.name, key.accountId]));
  const what = `${count(apiKeys.length, "API key")} that they made or rotated`;
  const heading = revokesApiKeys
    ? `Revoked ${what}:`
    : `Still active: ${what}. Revoke each with modelgate key revoke ID, or all with --keys revoke`;
  return `Revoked ${id}${others}${links}\n${heading}\n${names}`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function split(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function toAdminKeyJson(key: AdminKey, now: number) {
  return {
    id: key.id,
    name: key.name,
    state: getState(key, now),
    scopes: key.scopes,
    allowed_networks: key.allowedNetworks ?? null,
    created_by: key.createdBy,
    created_at: toIsoTime(key.createdAt),
    expires_at: toIsoTime(key.expiresAt),
    revoked_at: toIsoTime(key.revokedAt),
    last_used_at: toIsoTime(key.lastUsedAt),
  };
}

function getState({ revokedAt, expiresAt }: AdminKey, now: number): "active" | "expired" | "revoked" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "active";
}
