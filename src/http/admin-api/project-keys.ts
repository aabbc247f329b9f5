import { type Static, Type } from "@sinclair/typebox";
import { accountLabel, DisplayName, formatUsd, nullable, optional, toRealEmail } from "../../contract/index.ts";
import {
  type ApiAdministrator,
  type ApiKey,
  createServiceAccount,
  deleteServiceAccount,
  expiryField,
  findServiceAccounts,
  graceSecondsDefault,
  graceSecondsMax,
  keyFields,
  listServiceAccounts,
  readKeyFields,
  readNewKeyFields,
  readServiceAccount,
  type ServiceAccount,
  toKeyFieldsJson,
} from "../../keys/index.ts";
import { answerFields, requestFields, Usd } from "../../lib/fields.ts";
import { type Account, expectManagedKeys, findUsers } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, withModelIds } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite } from "./guard.ts";
import { listOf, listParameters, readFlag, readPage, toList, toSeconds, toSecondsOrNull } from "./lists.ts";
import { readProject } from "./projects.ts";

const limits = requestFields({ ...expiryField, ...keyFields });
const NewKey = formBody({ name: DisplayName, ...limits });
const KeyChange = formBody({ name: Type.Optional(DisplayName), ...limits });
const Rotation = formBody({ grace_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: graceSecondsMax })) });
const NewServiceAccount = formBody({
  name: DisplayName,
  create_service_account_only: optional(Type.Boolean()),
  ...limits,
});

const Owner = Type.Object({ id: Type.String(), name: Type.String(), created_at: Type.Integer(), role: Type.String() });
const KeyObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project.api_key"),
  name: Type.String(),
  redacted_value: Type.String(),
  created_at: Type.Integer(),
  last_used_at: nullable(Type.Integer()),
  expires_at: nullable(Type.Integer()),
  revoked_at: nullable(Type.Integer()),
  owner_project_access: Type.Union([Type.Literal("active"), Type.Literal("inactive")]),
  owner: Type.Union([
    Type.Object({
      type: Type.Literal("user"),
      user: Type.Intersect([Owner, Type.Object({ email: nullable(Type.String()) })]),
    }),
    Type.Object({ type: Type.Literal("service_account"), service_account: Owner }),
  ]),
  token: nullable(
    Type.Object(
      { issuer: Type.String(), subject: Type.String() },
      { description: "The issuer whose tokens (JWT) it represents; `null` for a key with a secret" },
    ),
  ),
  previous_until: nullable(Type.Integer({ description: "Time until the secret before the last rotation works" })),
  ...answerFields(keyFields),
  budget_used_usd: nullable(Usd),
});
const KeyWithValue = Type.Intersect([
  KeyObject,
  Type.Object({ value: Type.String({ description: "The key, which is shown only here" }) }),
]);
const ServiceAccountObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project.service_account"),
  name: Type.String(),
  role: Type.Literal("member"),
  created_at: Type.Integer(),
});
const ServiceAccountKey = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project.service_account.api_key"),
  name: Type.String(),
  created_at: Type.Integer(),
  expires_at: nullable(Type.Integer()),
  value: Type.String({ description: "The key, which is shown only here" }),
});
const ServiceAccountWithKey = Type.Intersect([
  ServiceAccountObject,
  Type.Object({ api_key: nullable(ServiceAccountKey) }),
]);

/** The API keys of a project. */
export function projectKeysController(deps: HttpDeps, api: AdminApi) {
  const { accounts } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/projects/:project_id/api_keys", area: "keys" });
  return [
    route.get(
      "",
      async ({ request, params }) => {
        const project = await readProject(deps, params.project_id);
        const query = parseUrl(request).searchParams;
        const { limit, after } = readPage(query);
        const includesEnded = readFlag(query, "include_ended");
        const page = { accountId: project.id, limit: limit + 1, after, includesEnded };
        const keys = await accounts.listKeysPage(page);
        return toList(keys, limit, await withOwners(deps, project, keys));
      },
      {
        detail: describeRead("List the API keys of a project", listOf(KeyObject), {
          query: {
            ...listParameters,
            include_ended: { description: "Include revoked and expired keys", schema: { type: "boolean" } },
          },
        }),
      },
    ),
    route.post(
      "",
      async ({ admin, params, body }) => {
        const project = await readManaged(deps, admin, params.project_id);
        const { id, key } = await accounts.createKey({
          accountId: project.id,
          by: admin.accountId,
          name: body.name,
          ...readNewKeyFields(withModelIds(deps, body, admin.accountId), deps.now()),
        });
        return { ...(await answerKey(deps, project, id)), value: key };
      },
      { body: NewKey, detail: describeWrite("Create an API key; `value` is shown only here", KeyWithValue) },
    ),
    route.get(
      "/:key_id",
      async ({ params }) => answerKey(deps, await readProject(deps, params.project_id), params.key_id),
      {
        detail: describeRead("Retrieve an API key", KeyObject),
      },
    ),
  ];
}

/** Changes and deletes API keys of a project. */
export function keyChangesController(deps: HttpDeps, api: AdminApi) {
  const { accounts } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/projects/:project_id/api_keys", area: "keys" });
  return [
    route.post(
      "/:key_id",
      async ({ admin, params, body }) => {
        const project = await readManaged(deps, admin, params.project_id);
        const { id } = await accounts.readKeyOf(project.id, params.key_id);
        const changes = readKeyFields(withModelIds(deps, body, admin.accountId), deps.now());
        await accounts.changeKey(id, { name: body.name, ...changes }, admin.accountId);
        return await answerKey(deps, project, id);
      },
      { body: KeyChange, detail: describeWrite("Modify an API key; `null` removes a limit", KeyObject) },
    ),
    route.delete(
      "/:key_id",
      async ({ admin, params }) => {
        const project = await readProject(deps, params.project_id);
        const { id } = await accounts.readKeyOf(project.id, params.key_id);
        await accounts.revokeKey(id, admin.accountId);
        return { id, object: "organization.project.api_key.deleted", deleted: true };
      },
      { detail: describeDelete("Revoke an API key", "organization.project.api_key.deleted") },
    ),
    route.post(
      "/:key_id/rotate",
      async ({ admin, params, body }) => {
        const project = await readManaged(deps, admin, params.project_id);
        const { id } = await accounts.readKeyOf(project.id, params.key_id);
        const { grace_seconds: graceSeconds = graceSecondsDefault } = body;
        const { key } = await accounts.rotateKey(id, graceSeconds, admin.accountId);
        return { ...(await answerKey(deps, project, id)), value: key };
      },
      {
        body: Rotation,
        detail: describeWrite("Rotate the secret of an API key", KeyWithValue, {
          description:
            "The response has the key with its new `value`, which is shown only here. The old secret works for " +
            "`grace_seconds` (default 3600); a secret from before an earlier rotation ends at once.",
        }),
      },
    ),
  ];
}

/** The service accounts of a project: programs with keys of their own. */
export function serviceAccountsController(deps: HttpDeps, api: AdminApi) {
  const { store } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/projects/:project_id/service_accounts", area: "keys" });
  return [
    route.get(
      "",
      async ({ request, params }) => {
        const { id } = await readProject(deps, params.project_id);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const last = after === undefined ? undefined : await readServiceAccount(store, { accountId: id, id: after });
        const serviceAccounts = await listServiceAccounts(store, id, { limit: limit + 1, after: last });
        return toList(serviceAccounts, limit, toServiceAccount);
      },
      {
        detail: describeRead("List the service accounts of a project", listOf(ServiceAccountObject), {
          query: listParameters,
        }),
      },
    ),
    route.post(
      "",
      async ({ admin, params, body }) => {
        const { id: accountId } = await readManaged(deps, admin, params.project_id);
        readNewKeyFields(body, deps.now());
        const made = await createServiceAccount(store, { accountId, name: body.name, by: admin.accountId }, deps.now());
        if (body.create_service_account_only === true) return { ...toServiceAccount(made), api_key: null };
        try {
          const key = await createServiceKey(deps, made, { name: body.name, by: admin.accountId, body });
          return { ...toServiceAccount(made), api_key: key };
        } catch (error) {
          // Nobody would know of it.
          await deleteServiceAccount(store, { accountId, id: made.id, by: admin.accountId }, deps.now());
          throw error;
        }
      },
      {
        body: NewServiceAccount,
        detail: describeWrite(
          "Create a service account with a key, whose `api_key.value` is shown only here",
          ServiceAccountWithKey,
        ),
      },
    ),
  ];
}

/** One service account, and its keys. */
export function serviceAccountController(deps: HttpDeps, api: AdminApi) {
  const { store } = deps;
  const route = adminRoutes(deps, api, {
    path: "/organization/projects/:project_id/service_accounts/:service_account_id",
    area: "keys",
  });
  return [
    route.get(
      "",
      async ({ params: { project_id: accountId, service_account_id: id } }) =>
        toServiceAccount(await readServiceAccount(store, { accountId, id })),
      { detail: describeRead("Retrieve a service account", ServiceAccountObject) },
    ),
    route.delete(
      "",
      async ({ admin, params: { project_id: accountId, service_account_id: id } }) => {
        await deleteServiceAccount(store, { accountId, id, by: admin.accountId }, deps.now());
        return { id, object: "organization.project.service_account.deleted", deleted: true };
      },
      {
        detail: describeDelete(
          "Delete a service account and revoke its keys",
          "organization.project.service_account.deleted",
        ),
      },
    ),
    route.post(
      "/api_keys",
      async ({ admin, params, body }) => {
        const { service_account_id: id } = params;
        const { id: accountId } = await readManaged(deps, admin, params.project_id);
        const account = await readServiceAccount(store, { accountId, id });
        return await createServiceKey(deps, account, { name: body.name, by: admin.accountId, body });
      },
      {
        body: NewKey,
        detail: describeWrite("Create another key of a service account; `value` is shown only here", ServiceAccountKey),
      },
    ),
  ];
}

/** A project whose keys the caller may make and change. @throws {GatewayError} `not_found`, `forbidden` */
async function readManaged(deps: HttpDeps, admin: ApiAdministrator, id: string): Promise<Account> {
  const project = await readProject(deps, id);
  await expectManagedKeys(deps.store, admin, project.id);
  return project;
}

async function answerKey(deps: HttpDeps, project: Account, id: string): Promise<Static<typeof KeyObject>> {
  const key = await deps.accounts.readKeyOf(project.id, id);
  return (await withOwners(deps, project, [key]))(key);
}

async function createServiceKey(
  deps: HttpDeps,
  { id: serviceAccountId, accountId }: ServiceAccount,
  { name, by, body }: { name: string; by: string; body: Static<typeof NewServiceAccount> },
): Promise<Static<typeof ServiceAccountKey>> {
  const { accounts, now } = deps;
  const limits = readNewKeyFields(withModelIds(deps, body, by), now());
  const { id, key } = await accounts.createKey({ accountId, by, name, serviceAccountId, ...limits });
  return {
    id,
    object: "organization.project.service_account.api_key",
    name,
    value: key,
    created_at: toSeconds(now()),
    expires_at: toSecondsOrNull(limits.expiresAt),
  };
}

/** Writes keys with their owners: the person who made them, the service account, or else the account itself. */
async function withOwners(deps: HttpDeps, project: Account, keys: readonly ApiKey[]) {
  const { store, now } = deps;
  const people = await findUsers(
    store,
    keys.flatMap(({ createdBy }) => createdBy ?? []),
  );
  const services = await findServiceAccounts(
    store,
    keys.flatMap(({ serviceAccountId }) => serviceAccountId ?? []),
  );
  return (key: ApiKey): Static<typeof KeyObject> => {
    const service = key.serviceAccountId === undefined ? undefined : services.get(key.serviceAccountId);
    const person = people.get(key.createdBy ?? "");
    const isOpen = project.disabledAt === undefined && key.revokedAt === undefined;
    return {
      id: key.id,
      object: "organization.project.api_key",
      name: key.name,
      redacted_value: `sk-mg-${key.id}-***`,
      created_at: toSeconds(key.createdAt),
      last_used_at: toSecondsOrNull(key.lastUsedAt),
      expires_at: toSecondsOrNull(key.expiresAt),
      revoked_at: toSecondsOrNull(key.revokedAt),
      owner_project_access: isOpen && !(key.expiresAt !== undefined && key.expiresAt <= now()) ? "active" : "inactive",
      owner:
        service === undefined
          ? { type: "user", user: toOwner(person ?? project) }
          : { type: "service_account", service_account: toServiceOwner(service) },
      token: key.tokenSubject ?? null,
      previous_until: toSecondsOrNull(key.previousUntil),
      ...toKeyFieldsJson(key),
      allowed_models: key.allowedModels?.map((id) => displayNameOf(deps, id)) ?? null,
      budget_used_usd: key.bounds.budgetNanodollars === undefined ? null : formatUsd(key.spentNanodollars),
    };
  };
}

function toOwner({ id, email, name, createdAt }: Pick<Account, "id" | "email" | "name" | "createdAt">) {
  return {
    id,
    email: toRealEmail(email),
    name: name ?? accountLabel({ email }),
    created_at: toSeconds(createdAt),
    role: "member",
  };
}

function toServiceOwner({ id, name, createdAt }: ServiceAccount) {
  return { id, name, created_at: toSeconds(createdAt), role: "member" };
}

function toServiceAccount({ id, name, createdAt }: ServiceAccount): Static<typeof ServiceAccountObject> {
  const created_at = toSeconds(createdAt);
  return { id, object: "organization.project.service_account", name, role: "member", created_at };
}
