import { type Static, Type } from "@sinclair/typebox";
import { adminKeyOf } from "../../audit/index.ts";
import { DisplayName, nullable, quoteValue } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import {
  type AdminKey,
  createAdminKey,
  expiryField,
  keyFields,
  listAdminKeys,
  namesOfAdminKeys,
  readAdminKey,
  readNewKeyFields,
  revokeAdminKey,
} from "../../keys/index.ts";
import { answerFields, requestFields } from "../../lib/fields.ts";
import { adminScopes, labelsOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";
import {
  invalid,
  listOf,
  listParameters,
  pickPage,
  readFlag,
  readPage,
  toList,
  toSeconds,
  toSecondsOrNull,
} from "./lists.ts";

/** Unknown scopes are refused when the rights of the key's creator are checked. */
const Scope = Type.String({ maxLength: 50, enum: [...adminScopes] });
const { allowed_networks } = keyFields;
const NewAdminKey = formBody({
  name: DisplayName,
  scopes: Type.Optional(Type.Array(Scope, { minItems: 1, maxItems: adminScopes.length })),
  ...requestFields({ ...expiryField, allowed_networks }),
});
const AdminKeyObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.admin_api_key"),
  name: Type.String(),
  redacted_value: Type.String(),
  scopes: Type.Array(Scope),
  ...answerFields({ allowed_networks }),
  created_at: Type.Integer(),
  last_used_at: nullable(Type.Integer()),
  expires_at: nullable(Type.Integer()),
  revoked_at: nullable(Type.Integer()),
  owner: Type.Object(
    { type: Type.String(), object: Type.String(), id: Type.String(), name: Type.String() },
    { description: "Creator of the key; `name` is an e-mail, or the name of the admin key that created it" },
  ),
});
const RevokedAdminKey = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.admin_api_key.deleted"),
  deleted: Type.Boolean(),
  admin_keys: Type.Integer({ description: "Number of revoked admin keys: this key and all its descendants" }),
  invitations: Type.Integer({ description: "Number of open invitations of these keys that were ended" }),
  api_keys: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), project_id: Type.String() }), {
    description: "API keys that these keys created or rotated; they still work, unless `revoke_keys` revoked them",
  }),
});
const AdminKeyWithValue = Type.Intersect([
  AdminKeyObject,
  Type.Object({ value: Type.String({ description: "The key, which is shown only here" }) }),
]);

/** Admin keys: each makes only what it could do itself. */
export function adminKeysController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const answer = async (id: string) => {
    const key = await readAdminKey(store, id, now());
    return (await withMakers(store, [key]))(key);
  };
  const route = adminRoutes(deps, api, { path: "/organization/admin_api_keys", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { limit } = readPage(query);
        const keys = await listAdminKeys(store, now());
        if (readOrder(query) === "desc") keys.reverse();
        const page = pickPage(keys, query, ({ id }) => id);
        return toList(page, limit, await withMakers(store, page));
      },
      {
        detail: describeRead("List the admin keys, including revoked and expired keys", listOf(AdminKeyObject), {
          query: {
            ...listParameters,
            order: { description: "Order by creation time", schema: { type: "string", enum: ["asc", "desc"] } },
          },
        }),
      },
    ),
    route.post(
      "",
      async ({ admin, body }) => {
        const { name, scopes = admin.key?.scopes ?? [], ...given } = body;
        const { expiresAt, allowedNetworks } = readNewKeyFields(given, now());
        const made = await createAdminKey(store, admin, { name, scopes, expiresAt, allowedNetworks }, now());
        return { ...(await answer(made.id)), value: made.key };
      },
      {
        body: NewAdminKey,
        detail: describeWrite("Create an admin key; `value` is shown only here", AdminKeyWithValue, {
          description:
            "Without `scopes`, it has the scopes of the calling key. It never has more scopes, a later expiry or more networks than the calling key.",
        }),
      },
    ),
    route.get("/:key_id", ({ params }) => answer(params.key_id), {
      detail: describeRead("Retrieve an admin key", AdminKeyObject),
    }),
    route.delete(
      "/:key_id",
      async ({ request, admin, params: { key_id: id } }) => {
        const revokesApiKeys = readFlag(parseUrl(request).searchParams, "revoke_keys");
        const ended = await revokeAdminKey(store, { by: admin, id, revokesApiKeys }, now());
        return {
          id,
          object: "organization.admin_api_key.deleted",
          deleted: true,
          admin_keys: ended.adminKeys,
          invitations: ended.invitations,
          api_keys: ended.apiKeys.map(({ id, name, accountId }) => ({ id, name, project_id: accountId })),
        };
      },
      {
        detail: describeWrite("Revoke an admin key and the admin keys that it created", RevokedAdminKey, {
          description:
            "API keys that it created or rotated keep working, as programs may use them; `revoke_keys=true` revokes them too, for example after a leak.",
          query: {
            revoke_keys: { description: "Revoke the API keys that it created or rotated", schema: { type: "boolean" } },
          },
        }),
      },
    ),
  ];
}

/** @throws {GatewayError} `invalid_request` */
function readOrder(query: URLSearchParams): "asc" | "desc" {
  const order = query.get("order") ?? "asc";
  if (order === "asc" || order === "desc") return order;
  throw invalid("order", `order is ${quoteValue(order)}, expected asc or desc`);
}

/** Writes admin keys with the names of who made them: people, commands or other admin keys. */
async function withMakers(store: Store, keys: readonly AdminKey[]) {
  const makers = keys.map(({ createdBy }) => createdBy);
  const emails = await labelsOf(store, makers);
  const names = await namesOfAdminKeys(
    store,
    makers.flatMap((id) => adminKeyOf(id) ?? []),
  );
  return ({ createdBy: id, ...key }: AdminKey): Static<typeof AdminKeyObject> => ({
    id: key.id,
    object: "organization.admin_api_key",
    name: key.name,
    redacted_value: `sk-mg-admin-${key.id}-***`,
    scopes: [...key.scopes],
    allowed_networks: key.allowedNetworks === undefined ? null : [...key.allowedNetworks],
    created_at: toSeconds(key.createdAt),
    last_used_at: toSecondsOrNull(key.lastUsedAt),
    expires_at: toSecondsOrNull(key.expiresAt),
    revoked_at: toSecondsOrNull(key.revokedAt),
    owner: {
      type: "user",
      object: "organization.user",
      id,
      name: emails.get(id) ?? names.get(adminKeyOf(id) ?? "") ?? id,
    },
  });
}
