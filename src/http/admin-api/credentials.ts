import { Type } from "@sinclair/typebox";
import { nullable } from "../../contract/index.ts";
import type { LeakedCredential } from "../../identity/index.ts";
import type { ApiAdministrator } from "../../keys/index.ts";
import { Usd } from "../../lib/fields.ts";
import { expectManagedKeys, hasScope } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { CredentialKind, Lookup, leakedCredentials, Revocation } from "../forms/leaked-credentials.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite, lacksScope } from "./guard.ts";
import { toSeconds } from "./lists.ts";
import { readProject } from "./projects.ts";

const CallerObject = Type.Object({
  object: Type.Literal("organization.project.api_key.caller"),
  network: Type.String({ description: "IPv4 /24 or IPv6 /48; `*` stands for all beyond 50 a day" }),
  program: Type.String({ description: "First word of the user agent, without a version; empty when there is none" }),
  requests: Type.Integer(),
  first_seen_at: Type.Integer(),
  last_seen_at: Type.Integer(),
  is_new: Type.Boolean({
    description: "The network was first seen within 7 days, and more than a day after the first use of the key",
  }),
});
const CredentialObject = Type.Object({
  object: Type.Literal("organization.credential"),
  type: CredentialKind,
  id: nullable(Type.String({ description: "`null`: an imported key that does not exist here" })),
  status: Type.Union(
    (["active", "expired", "revoked", "disabled", "not_found"] as const).map((status) => Type.Literal(status)),
  ),
  secret: Type.Union(
    (["current", "previous", "other", "unchecked"] as const).map((secret) => Type.Literal(secret)),
    {
      description:
        "`previous`: the latest rotation replaced it; `other`: not of this credential, or older; `unchecked`: no hash was sent",
    },
  ),
  usable: nullable(Type.Boolean({ description: "Whether it opens anything now; `null` without a hash" })),
  usable_until: nullable(Type.Integer()),
  replaced_at: nullable(Type.Integer()),
  name: nullable(Type.String()),
  key_id: nullable(Type.String({ description: "The API key, also of a token; `null` for an admin key" })),
  project: nullable(Type.Object({ id: Type.String(), name: nullable(Type.String()), email: nullable(Type.String()) })),
  created_by: nullable(Type.String()),
  created_at: nullable(Type.Integer()),
  expires_at: nullable(Type.Integer()),
  revoked_at: nullable(Type.Integer()),
  last_used_at: nullable(Type.Integer()),
  cost_today_usd: nullable(Usd),
  cost_30_days_usd: nullable(Usd),
  callers: Type.Array(CallerObject, { description: "The latest 20" }),
  holders: Type.Array(Type.String(), { description: "E-mails of those who are written to when it is revoked" }),
  can_rotate: Type.Boolean(),
});
/** All that was asked about: there are no pages. */
const FoundCredentials = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(CredentialObject),
  can_mail: Type.Boolean({ description: "Whether a mail server is set up, so holders can be written to" }),
});
const RevokedCredential = Type.Object({
  object: Type.Literal("organization.credential.revoked"),
  type: CredentialKind,
  id: Type.String(),
  action: Type.Union([Type.Literal("revoke"), Type.Literal("rotate")]),
  value: nullable(Type.String({ description: "The key with its new secret, which is shown only here" })),
  mailed_to: Type.Array(Type.String()),
  mail_error: nullable(Type.String({ description: "Why nobody was written to" })),
});

/** Credentials that were found somewhere. They are sent as hashes, in bodies: nothing here needs a secret. */
export function credentialsController(deps: HttpDeps, api: AdminApi) {
  const credentials = leakedCredentials(deps);
  const route = adminRoutes(deps, api, { path: "/organization/credentials" });
  const areaOf = (type: string) => (type === "admin_key" ? "accounts" : "keys");
  const expectScope = (admin: ApiAdministrator, type: string, access: "read" | "write") => {
    const area = areaOf(type);
    if (!hasScope(admin.scopes, area, access)) throw lacksScope(admin, `${area}:${access}`);
  };
  return [
    route.post(
      "/lookup",
      ({ admin, body }) => {
        for (const { type } of body.credentials) expectScope(admin, type, "read");
        return credentials.lookUp(body, { ...admin, maySee: () => true }, toSeconds);
      },
      {
        body: Lookup,
        detail: describeWrite("Look up credentials that have leaked", FoundCredentials, {
          scope: ["keys", "read"],
          description:
            "Says whose API key, admin key or token each is, whether its secret works, from where it is used and what it costs. " +
            "Send ids and hashes, never secrets. Needs the scope `keys:read`; for admin keys `accounts:read`.",
        }),
      },
    ),
    route.post(
      "/revoke",
      ({ admin, body }) => {
        expectScope(admin, body.type, "write");
        // Every administrator revokes a leaked key; a new secret is shown to those who may have it.
        const expectMayEnd = async ({ apiKey }: Pick<LeakedCredential, "apiKey">, action: "revoke" | "rotate") => {
          if (action === "rotate" && apiKey !== undefined) {
            await expectManagedKeys(deps.store, admin, apiKey.accountId);
          }
        };
        return credentials.end(body, { ...admin, maySee: () => true, expectMayEnd });
      },
      {
        body: Revocation,
        detail: describeWrite("Revoke or rotate a leaked credential, and write to its holder", RevokedCredential, {
          scope: ["keys", "write"],
          description:
            "A token ends with the API key of its sign-in, an admin key with those that it created. " +
            "Needs the scope `keys:write`; for admin keys `accounts:write`.",
        }),
      },
    ),
  ];
}

/** From where a key is used. */
export function keyCallersController(deps: HttpDeps, api: AdminApi) {
  const { readCallers } = leakedCredentials(deps);
  const route = adminRoutes(deps, api, {
    path: "/organization/projects/:project_id/api_keys/:key_id/callers",
    area: "keys",
  });
  return [
    route.get(
      "",
      async ({ params }) => {
        const project = await readProject(deps, params.project_id);
        const { id } = await deps.accounts.readKeyOf(project.id, params.key_id);
        return { object: "list" as const, data: await readCallers(id, toSeconds) };
      },
      {
        detail: describeRead(
          "List the networks and programs that used an API key in the last 30 days, the latest first",
          Type.Object({ object: Type.Literal("list"), data: Type.Array(CallerObject) }),
        ),
      },
    ),
  ];
}
