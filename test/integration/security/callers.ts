import { commandLine } from "../../../src/audit/index.ts";
import { readConfig } from "../../../src/config/index.ts";
import type { Role } from "../../../src/db/index.ts";
import { createAdminKey, revokeAdminKey } from "../../../src/keys/index.ts";
import { creditWallet } from "../../../src/ledger/index.ts";
import { openObservability } from "../../../src/observability/index.ts";
import { teamActions } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { joinTeam } from "./team-rows.ts";

/** Every kind of caller that the authorization table tells apart. */
export const callers = [
  "nobody",
  "wrong key",
  "key",
  "other key",
  "limited key",
  "expired key",
  "revoked key",
  "disabled key",
  "wrong session",
  "member",
  "other member",
  "team member",
  "removed member",
  "viewer",
  "admin",
  "owner",
  "disabled member",
  "operator",
  "admin key",
  "limited admin key",
  "revoked admin key",
] as const;
export type Caller = (typeof callers)[number];

const metricsToken = "metrics-token-0123456789";

/** A gateway with every role of its API: with metrics, open sign-up and a page for each address. */
export async function startWide(): Promise<InProcessGateway> {
  const env = {
    SANDBOX: "on",
    CORS_ORIGINS: "*",
    METRICS_TOKEN: metricsToken,
    SIGNUP: "open",
    CONTENT_LOG: "selected",
    REQUESTS_PER_MINUTE: "1000",
  };
  const log = { warn: () => undefined, dropped: 0, sendTo: () => undefined };
  const bytes = new Blob(["a page"]);
  const observability = await openObservability(readConfig(env), { log, version: { version: "test" } });
  const site = { find: async () => ({ mediaType: "text/plain", bytes }) };
  return await startInProcess({ env, observability, site });
}

/** Makes the accounts of all callers, and returns the headers of each and the ids of those that routes name. */
export async function createCallers({ app: { accounts }, baseUrl, key, store }: InProcessGateway) {
  const { origin } = new URL(baseUrl);
  const create = async () => (await accounts.create({ email: `${crypto.randomUUID()}@example.org` })).id;
  const [adaId, benId, danId, zoeId] = [await create(), await create(), await create(), await create()];
  await creditWallet(store, { accountId: benId, nanodollars: 100_000_000_000, note: "test" });
  const session = async (accountId: string, role: Role = "member") => ({
    cookie: await enterAs(store, { accountId, role }, Date.now()),
    origin,
  });
  const bearer = async (accountId: string, fields = {}) => {
    const made = await accounts.createKey({ accountId, name: "a key", ...fields });
    return { id: made.id, headers: { authorization: `Bearer ${made.key}` } };
  };
  const adminKey = async (...scopes: string[]) => {
    const { id, key } = await createAdminKey(store, commandLine, { name: "a key", scopes }, Date.now());
    return { id, headers: { authorization: `Bearer ${key}` } };
  };
  const revokedAdmin = await adminKey("all");
  await revokeAdminKey(store, { by: commandLine, id: revokedAdmin.id }, Date.now());
  const expired = await bearer(adaId);
  await store.db.updateTable("keys").set({ expires_at: 1 }).where("id", "=", expired.id).execute();
  const revoked = await bearer(adaId);
  await accounts.revokeKey(revoked.id);
  const valid = await bearer(adaId);
  const member = await session(adaId);
  const [teamId, removedId, mateId] = [await create(), await create(), await create()];
  const [team, removed] = [await session(teamId), await session(removedId), await session(mateId)];
  for (const id of [teamId, removedId]) await joinTeam(store, adaId, id);
  const operator = { accountId: "cli", role: "owner", isOperator: true } as const;
  const removal = { accountId: adaId, personId: removedId, revokesKeys: false };
  await teamActions(store, Date.now).remove(operator, removal);
  const headers: Record<Caller, Record<string, string>> = {
    nobody: {},
    "wrong key": { authorization: `${valid.headers.authorization.slice(0, -1)}!` },
    key: { authorization: `Bearer ${key}` },
    "other key": (await bearer(benId)).headers,
    "limited key": (await bearer(adaId, { allowedModels: ["another-model"] })).headers,
    "expired key": expired.headers,
    "revoked key": revoked.headers,
    "disabled key": (await bearer(danId)).headers,
    "wrong session": { cookie: `${member.cookie}x`, origin },
    member,
    "other member": await session(benId),
    "team member": team,
    "removed member": removed,
    viewer: await session(await create(), "viewer"),
    admin: await session(zoeId, "admin"),
    owner: await session(await create(), "owner"),
    "disabled member": await session(danId),
    operator: { authorization: `Bearer ${metricsToken}` },
    "admin key": (await adminKey("all")).headers,
    "limited admin key": (await adminKey("usage:read")).headers,
    "revoked admin key": revokedAdmin.headers,
  };
  await accounts.setDisabled(danId, true);
  const ids = { member: adaId, "other member": benId, "team member": teamId, mate: mateId, admin: zoeId };
  return { headers, ids };
}
