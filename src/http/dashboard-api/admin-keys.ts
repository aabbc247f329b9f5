import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  adminKeyOf,
  createAdminKey,
  emailsOf,
  listAdminKeys,
  namesOfAdminKeys,
  revokeAdminKey,
} from "../../accounts/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";
import { Networks } from "./keys.ts";
import { readMoment } from "./read-fields.ts";
import { toIso } from "./serializers.ts";

const NewAdminKey = formBody({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  scopes: Type.Array(Type.String({ maxLength: 50 }), { minItems: 1, maxItems: 20 }),
  expires_at: Type.Optional(Type.String({ maxLength: 40 })),
  allowed_networks: Type.Optional(Networks),
});

/** Admin keys: administrators list and revoke them, and make those that their role may make. */
export function dashboardAdminKeysController({ store, now, ...deps }: HttpDeps) {
  return new Elysia({ prefix: "/admin/admin-keys" })
    .use(withAdminSession({ store, now, ...deps }))
    .get("", async () => {
      const keys = await listAdminKeys(store);
      const makers = keys.map(({ createdBy }) => createdBy);
      const emails = await emailsOf(store, makers);
      const names = await namesOfAdminKeys(
        store,
        makers.flatMap((id) => adminKeyOf(id) ?? []),
      );
      const data = keys.map((key) => ({
        id: key.id,
        name: key.name,
        scopes: [...key.scopes],
        allowed_networks: key.allowedNetworks === undefined ? null : [...key.allowedNetworks],
        created_by: emails.get(key.createdBy) ?? names.get(adminKeyOf(key.createdBy) ?? "") ?? key.createdBy,
        created_at: toIso(key.createdAt),
        expires_at: toIso(key.expiresAt),
        revoked_at: toIso(key.revokedAt),
        last_used_at: toIso(key.lastUsedAt),
      }));
      return { data };
    })
    .post(
      "",
      async ({ admin, body: { name, scopes, expires_at: expires, allowed_networks: allowedNetworks } }) => {
        const expiresAt = expires === undefined ? undefined : readMoment(expires, "expires_at");
        const by = { accountId: admin.accountId, role: admin.role };
        return await createAdminKey(store, by, { name, scopes, expiresAt, allowedNetworks }, now());
      },
      { body: NewAdminKey },
    )
    .delete("/:id", async ({ admin, params: { id } }) => {
      await revokeAdminKey(store, admin, id, now());
      return { id };
    });
}
