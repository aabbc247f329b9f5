import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { GatewayError, quoteValue } from "../../contract/index.ts";
import { describeProviders } from "../../providers/index.ts";
import { responses } from "../api/openapi.ts";
import { readSecret } from "../dashboard-api/providers.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, writeOnce } from "./guard.ts";
import {
  listOf,
  listParameters,
  nullable,
  optional,
  parameters,
  pickPage,
  readPage,
  toList,
  toSeconds,
} from "./lists.ts";
import { readErrors, security, tags, writeErrors } from "./projects.ts";

const Name = Type.String({ minLength: 1, maxLength: 60 });
const Order = optional(Type.Integer({ minimum: 0, maximum: 1000, description: "`null`: that of its models" }));
const order = { enabled: Type.Optional(Type.Boolean()), priority: Order, weight: Order };
/** Checked by hand: the error of a schema shows the value. */
const secret = {
  key: Type.Optional(Type.Unknown({ description: "The provider's key, a text. No answer has it" })),
  fields: Type.Optional(
    Type.Unknown({ description: "In place of `key`: the fields of a credential that has several" }),
  ),
};
const NewProvider = formBody({
  name: Name,
  manifest: Type.Unknown({ description: "As a file in the folder of plugins has it" }),
  ...secret,
  ...order,
});
const ProviderChange = formBody({
  manifest: Type.Optional(
    Type.Unknown({ description: "Of one that was added here. Its keys stay where they go to the same hosts" }),
  ),
  ...order,
});
const NewKey = formBody(secret);
const Test = formBody({
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: "Absent: the cheapest" })),
  key_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "Absent: the first key" })),
});

const KeyObject = Type.Object({
  id: nullable(Type.String({ description: "`null`: the environment has it" })),
  object: Type.Literal("organization.provider.key"),
  last4: Type.String(),
  source: nullable(Type.String({ description: "The variable that has it" })),
  created_by: nullable(Type.String()),
  created_at: nullable(Type.Integer()),
});
const ProviderObject = Type.Object({
  id: Type.String({ description: "Its name" }),
  object: Type.Literal("organization.provider"),
  name: Type.String(),
  status: Type.String({ description: "`serving`, `previous`, `no_credential`, `disabled`, `sandbox` or `refused`" }),
  error: nullable(Type.String()),
  origin: Type.String({ description: "`built in`, or its file" }),
  managed: Type.Boolean({ description: "Whether it was added here, and can be deleted" }),
  base_url: nullable(Type.String()),
  enabled: Type.Boolean(),
  priority: nullable(Type.Integer()),
  weight: nullable(Type.Integer()),
  models: Type.Integer({ description: "Models that it has" }),
  served_models: Type.Integer({ description: "Models that it serves now" }),
  health: Type.Object({ state: nullable(Type.String()), reason: nullable(Type.String()) }),
  keys: Type.Array(KeyObject),
});
const TestObject = Type.Object({
  object: Type.Literal("organization.provider.test"),
  ok: Type.Boolean(),
  model: nullable(Type.String({ description: "The model that was called; `null`: the models were listed" })),
  host: Type.String(),
  ms: Type.Number(),
  error: nullable(Type.String()),
  note: nullable(Type.String()),
});
const toDeleted = (object: string) =>
  Type.Object({ id: Type.String(), object: Type.Literal(`${object}.deleted`), deleted: Type.Boolean() });

/** Providers and their keys, with the same actions as the dashboard. No answer has a provider's key. */
export function organizationProvidersController(deps: HttpDeps, api: AdminApi) {
  const { providers, kernel } = deps;
  const { actions } = providers;
  const one = { "application/json": ProviderObject };
  return new Elysia({ prefix: "/organization/providers" })
    .use(adminRoutes(deps, api, "providers"))
    .get(
      "",
      ({ request }) => {
        const query = parseUrl(request).searchParams;
        const page = pickPage(listProviders(deps), query, ({ name }) => name);
        return toList(page, readPage(query).limit, toProvider);
      },
      {
        detail: {
          summary: "List the providers",
          tags,
          security,
          parameters: parameters(listParameters),
          responses: responses({ "application/json": listOf(ProviderObject) }, [400, 401, 403, 429, 500, 503]),
        },
      },
    )
    .post(
      "",
      ({ request, admin, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const { name, manifest, key, fields, ...change } = body;
          const newSecret = key === undefined && fields === undefined ? undefined : readSecret({ key, fields });
          await providers.adoptTest(name, await actions.add(admin, name, manifest, newSecret));
          if (Object.keys(change).length > 0) await actions.set(admin.accountId, name, change);
          return toProvider(readProvider(deps, name));
        }),
      {
        body: NewProvider,
        detail: {
          summary: "Add a provider by a manifest, with its first key",
          tags,
          security,
          responses: responses(one, writeErrors),
        },
      },
    )
    .get("/:provider_id", ({ params }) => toProvider(readProvider(deps, params.provider_id)), {
      detail: {
        summary: "Retrieve a provider, with its health and its keys without their secrets",
        tags,
        security,
        responses: responses(one, readErrors),
      },
    })
    .post(
      "/:provider_id",
      ({ request, admin, body, params: { provider_id: id } }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          readProvider(deps, id);
          const { manifest, ...change } = body;
          if (manifest !== undefined) await actions.replaceManifest(admin, id, manifest);
          if (Object.keys(change).length > 0) await actions.set(admin.accountId, id, change);
          return toProvider(readProvider(deps, id));
        }),
      {
        body: ProviderChange,
        detail: {
          summary: "Enable, disable or order a provider, or replace its manifest",
          tags,
          security,
          responses: responses(one, writeErrors),
        },
      },
    )
    .delete(
      "/:provider_id",
      ({ request, admin, params: { provider_id: id } }) =>
        writeOnce(deps, { request, admin }, async () => {
          readProvider(deps, id);
          await actions.remove(admin.accountId, id);
          return { id, object: "organization.provider.deleted", deleted: true };
        }),
      {
        detail: {
          summary: "Delete a provider that was added here, with its keys",
          tags,
          security,
          responses: responses({ "application/json": toDeleted("organization.provider") }, writeErrors),
        },
      },
    )
    .post(
      "/:provider_id/test",
      async ({ body: { model, key_id: keyId }, params: { provider_id: id } }) => {
        const { kind: _, ...result } = await providers.test(kernel.network, id, { model, keyId });
        return { object: "organization.provider.test" as const, ...result };
      },
      {
        body: Test,
        detail: {
          summary: "Send a provider one small request",
          tags,
          security,
          description:
            "It is a real request, which the provider may charge. One that fails is an answer with `ok` false.",
          responses: responses({ "application/json": TestObject }, writeErrors),
        },
      },
    );
}

/** The keys of a provider that are stored here. Those of the environment are listed with it, and stay. */
export function providerKeysController(deps: HttpDeps, api: AdminApi) {
  const { providers } = deps;
  const { actions } = providers;
  const one = { "application/json": KeyObject };
  const readKey = (name: string, id: string) => {
    const key = readProvider(deps, name).keys.find((key) => key.id === id);
    if (key !== undefined) return key;
    throw new GatewayError("not_found", `${name} has no stored key of this id`);
  };
  const set = async (...[admin, name, body, id]: Parameters<typeof actions.setKey>) => {
    const keyId = await actions.setKey(admin, name, readSecret(body as { key?: unknown; fields?: unknown }), id);
    await providers.adoptTest(name, keyId);
    return toKey(readKey(name, keyId));
  };
  return new Elysia({ prefix: "/organization/providers/:provider_id/keys" })
    .use(adminRoutes(deps, api, "providers"))
    .post(
      "",
      ({ request, admin, body, params: { provider_id: name } }) =>
        writeOnce(deps, { request, admin, body }, () => set(admin, name, body)),
      {
        body: NewKey,
        detail: { summary: "Add a key of a provider", tags, security, responses: responses(one, writeErrors) },
      },
    )
    .post(
      "/:provider_key_id",
      ({ request, admin, body, params: { provider_id: name, provider_key_id: id } }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          readKey(name, id);
          return await set(admin, name, body, id);
        }),
      {
        body: NewKey,
        detail: {
          summary: "Replace a key of a provider",
          tags,
          security,
          responses: responses(one, writeErrors),
        },
      },
    )
    .delete(
      "/:provider_key_id",
      ({ request, admin, params: { provider_id: name, provider_key_id: id } }) =>
        writeOnce(deps, { request, admin }, async () => {
          readKey(name, id);
          await actions.removeKey(admin.accountId, name, id);
          return { id, object: "organization.provider.key.deleted", deleted: true };
        }),
      {
        detail: {
          summary: "Delete a key of a provider",
          tags,
          security,
          responses: responses({ "application/json": toDeleted("organization.provider.key") }, writeErrors),
        },
      },
    );
}

type Provider = ReturnType<typeof describeProviders>[number];

function listProviders({ providers, kernel }: HttpDeps): Provider[] {
  return describeProviders(providers, kernel.registry, kernel.now());
}

/** @throws {GatewayError} `not_found` */
function readProvider(deps: HttpDeps, name: string): Provider {
  const provider = listProviders(deps).find((plugin) => plugin.name === name);
  if (provider !== undefined) return provider;
  throw new GatewayError("not_found", `No provider is called ${quoteValue(name)}`);
}

function toProvider(provider: Provider): Static<typeof ProviderObject> & { id: string } {
  const { name, status, error, origin, managed, enabled, priority, weight, models, health, keys } = provider;
  return {
    id: name,
    object: "organization.provider" as const,
    name,
    status,
    error,
    origin,
    managed,
    base_url: provider.base_url ?? null,
    enabled,
    priority,
    weight,
    models,
    served_models: provider.served_models,
    health: { state: health.state, reason: health.reason },
    keys: keys.map(toKey),
  };
}

function toKey({ id, last4, source, set_by: by, set_at: at }: Provider["keys"][number]): Static<typeof KeyObject> {
  const createdAt = at === null ? null : toSeconds(Date.parse(at));
  return { id, object: "organization.provider.key", last4, source, created_by: by, created_at: createdAt };
}
