import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, nullable, quoteValue } from "../../contract/index.ts";
import { answerFields, bodyFields } from "../../lib/fields.ts";
import { countSimulated, describeProviders, healthStates, providerFields } from "../../providers/index.ts";
import { labelsOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite } from "./guard.ts";
import { listOf, listParameters, pickPage, readPage, toList, toSeconds } from "./lists.ts";

const Name = Type.String({ minLength: 1, maxLength: 60 });
/** Checked by hand: the error of a schema shows the value. */
const secret = {
  key: Type.Optional(Type.Unknown({ description: "The provider's key. It is never returned" })),
  fields: Type.Optional(
    Type.Unknown({ description: "Instead of `key`: the fields of a credential with several fields" }),
  ),
};
const NewProvider = formBody({
  name: Name,
  manifest: Type.Unknown({ description: "In the format of a file in the plugins folder" }),
  ...secret,
  ...bodyFields(providerFields),
});
const ProviderChange = formBody({
  manifest: Type.Optional(
    Type.Unknown({ description: "For providers that were added here. Keys are kept if the hosts stay the same" }),
  ),
  ...bodyFields(providerFields),
});
const NewKey = formBody(secret);
const Test = formBody({
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: "Absent: the cheapest" })),
  key_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: "Absent: the first key" })),
});
const Resume = formBody({
  model: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: "Only the route of this model; absent: all of its routes",
    }),
  ),
});

const NewTest = formBody({
  name: Name,
  manifest: Type.Optional(Type.Unknown({ description: "For a provider that is not added yet" })),
  ...secret,
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: "Absent: the cheapest" })),
});
const SandboxChange = formBody({
  setting: Type.Union([Type.Literal("on"), Type.Literal("off"), Type.Literal("auto")], {
    description: "`auto`: until a provider is added",
  }),
});

const Count = Type.Integer({ minimum: 0 });
const Attempts = Type.Object(
  {
    calls: Count,
    errors: Count,
    p50_ms: nullable(Type.Number({ description: "Time to first token" })),
    p95_ms: nullable(Type.Number({ description: "Time to first token" })),
    last_error: nullable(Type.Object({ at: Type.Integer(), reason: Type.String() })),
  },
  { description: "Attempts of the last 15 minutes, on the gateway that answers" },
);
const outcomes = {
  state: nullable(
    Type.Union(
      healthStates.map((state) => Type.Literal(state)),
      { description: "`null`: it serves nothing" },
    ),
  ),
  reason: nullable(Type.String()),
  last_error: nullable(
    Type.Object({
      at: Type.Integer(),
      kind: Type.String(),
      status: nullable(Type.Integer({ description: "The provider's HTTP status" })),
      message: Type.String({ description: "Error message of the provider" }),
      model: Type.String(),
    }),
  ),
  last_test: nullable(
    Type.Object({
      at: Type.Integer(),
      ok: Type.Boolean(),
      model: nullable(Type.String()),
      ms: Type.Number(),
      error: nullable(Type.String()),
      note: nullable(Type.String()),
    }),
  ),
};
const Circuit = Type.Union([Type.Literal("closed"), Type.Literal("half_open"), Type.Literal("open")]);
const KeyObject = Type.Object({
  id: nullable(Type.String({ description: "`null`: the key comes from the environment" })),
  object: Type.Literal("organization.provider.key"),
  last4: Type.String(),
  source: nullable(Type.String({ description: "The environment variable of the key" })),
  created_by: nullable(Type.String()),
  created_by_email: nullable(Type.String()),
  created_at: nullable(Type.Integer()),
  readable: Type.Boolean({ description: "Whether this gateway has the secrets key that it is encrypted with" }),
  in_force: Type.Boolean({
    description: "Whether calls use it: either the keys of the environment are used, or the stored ones",
  }),
  fields: Type.Record(Type.String(), Type.String(), { description: "Fields of a credential that are not secret" }),
  method: nullable(
    Type.String({ description: "The way to sign in, of `credential_form`; `null` for a single key and if unreadable" }),
  ),
  state: nullable(Circuit),
  health: Type.Object(outcomes),
  attempts: nullable(Attempts),
});
const ProviderObject = Type.Object({
  id: Type.String({ description: "Its name" }),
  object: Type.Literal("organization.provider"),
  name: Type.String(),
  status: Type.String({
    description: "`serving`, `previous`, `no_credential`, `no_models`, `disabled`, `sandbox` or `refused`",
  }),
  error: nullable(Type.String()),
  origin: Type.String({ description: "`built in`, or its file" }),
  managed: Type.Boolean({ description: "Whether it was added here, and can be deleted" }),
  base_url: nullable(Type.String()),
  base_url_source: nullable(Type.Union([Type.Literal("plugin"), Type.Literal("environment")])),
  ...answerFields(providerFields),
  models: Type.Integer({ description: "Number of its models" }),
  served_models: Type.Integer({ description: "Number of models that it serves now" }),
  version: nullable(Type.String()),
  loaded_at: nullable(Type.Integer()),
  credential: nullable(Type.Union([Type.Literal("key"), Type.Literal("none"), Type.Literal("fields")])),
  credential_form: nullable(
    Type.Object(
      {
        fields: Type.Array(
          Type.Object({
            name: Type.String(),
            label: Type.String(),
            secret: Type.Boolean(),
            example: Type.String(),
            hint: nullable(Type.String()),
            choices: Type.Array(Type.Object({ value: Type.String(), label: Type.String() }), {
              description: "The only values that it has; empty: any",
            }),
            is_file: Type.Boolean(),
            variable: Type.String({ description: "The variable of the environment that sets it" }),
          }),
        ),
        methods: Type.Array(
          Type.Object({
            name: Type.String(),
            label: Type.String(),
            hint: nullable(Type.String()),
            fields: Type.Array(Type.String(), { description: "The fields that it needs" }),
            optional: Type.Array(Type.String(), { description: "The fields that it can have as well" }),
          }),
          { description: "The ways to sign in, the usual one first" },
        ),
      },
      { description: "The fields of its credential" },
    ),
  ),
  health: Type.Object({
    ...outcomes,
    since: nullable(Type.Integer()),
    failing_since: nullable(Type.Integer({ description: "The first failure that no success has followed" })),
    last_success_at: nullable(Type.Integer()),
    paused_routes: Type.Integer({
      minimum: 0,
      description: "Routes that take no call after failures, on the gateway that answers",
    }),
    waiting_routes: Type.Integer({ minimum: 0, description: "Routes whose pause is over: the next call tries them" }),
    paused_until: nullable(Type.Integer({ description: "When the first paused route takes a call again" })),
    recent: Type.Object(
      { attempts: Count, errors: Count },
      { description: "Attempts of the latest quarter of an hour with attempts, of all nodes" },
    ),
    strip: Type.Array(Type.Object({ attempts: Count, errors: Count }), {
      description: "The attempts of 24 hours, one entry for each half an hour, the oldest first",
    }),
  }),
  keys: Type.Array(KeyObject),
  routes: Type.Array(
    Type.Object({
      model: Type.String(),
      state: Circuit,
      paused_until: nullable(Type.Integer({ description: "Until then it takes no call; `null`: it takes calls" })),
      priority: Type.Integer(),
      weight: Type.Integer(),
      attempts: Attempts,
    }),
    { description: "The models that it serves, those in trouble first, at most 500" },
  ),
});
const TestObject = Type.Object({
  object: Type.Literal("organization.provider.test"),
  ok: Type.Boolean(),
  model: nullable(Type.String({ description: "The model that was called; `null`: the models were listed" })),
  host: Type.String(),
  ms: Type.Number(),
  error: nullable(Type.String()),
  kind: nullable(Type.String({ description: "Kind of the error, such as `auth`" })),
  note: nullable(Type.String()),
});
const SandboxObject = Type.Object({
  object: Type.Literal("organization.sandbox"),
  setting: SandboxChange.properties.setting,
  source: Type.Union([Type.Literal("environment"), Type.Literal("database"), Type.Literal("default")], {
    description: "`environment`: it cannot be changed here",
  }),
  active: Type.Boolean(),
  simulates: Type.Boolean({ description: "Whether it answers for any model" }),
});
const PluginsObject = Type.Object({
  object: Type.Literal("organization.plugins"),
  manifests: Type.Array(Type.Object({ name: Type.String(), manifest: Type.Unknown() }), {
    description: "Providers that can be added with a key alone",
  }),
  warnings: Type.Array(Type.String(), {
    description: "Errors at loading, except those in a provider's `error`",
  }),
  degraded: Type.Array(Type.String(), { description: "Functions that are degraded now" }),
});

/** Providers and their keys, with the same actions as the dashboard. No answer has a provider's key. */
export function organizationProvidersController(deps: HttpDeps, api: AdminApi) {
  const { providers, kernel } = deps;
  const { actions } = providers;
  const answer = async (name: string) => {
    const provider = readProvider(deps, name);
    return (await withEmails(deps, [provider]))(provider);
  };
  const route = adminRoutes(deps, api, { path: "/organization/providers", area: "providers" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const page = pickPage(listProviders(deps), query, ({ name }) => name);
        return toList(page, readPage(query).limit, await withEmails(deps, page));
      },
      { detail: describeRead("List the providers", listOf(ProviderObject), { query: listParameters }) },
    ),
    route.post(
      "",
      async ({ admin, body }) => {
        const { name, manifest, key, fields, ...change } = body;
        await providers.adoptTest(name, await actions.add(admin, name, manifest, readSecretIfAny({ key, fields })));
        if (Object.keys(change).length > 0) await actions.set(admin.accountId, name, change);
        return await answer(name);
      },
      { body: NewProvider, detail: describeWrite("Add a provider by a manifest, with its first key", ProviderObject) },
    ),
    route.get("/:provider_id", ({ params }) => answer(params.provider_id), {
      detail: describeRead("Retrieve a provider, with its health and its keys without their secrets", ProviderObject),
    }),
    route.post(
      "/:provider_id",
      async ({ admin, body, params: { provider_id: id } }) => {
        readProvider(deps, id);
        const { manifest, ...change } = body;
        if (manifest !== undefined) await actions.replaceManifest(admin, id, manifest);
        if (Object.keys(change).length > 0) await actions.set(admin.accountId, id, change);
        return await answer(id);
      },
      {
        body: ProviderChange,
        detail: describeWrite("Enable, disable or order a provider, or replace its manifest", ProviderObject),
      },
    ),
    route.delete(
      "/:provider_id",
      async ({ admin, params: { provider_id: id } }) => {
        readProvider(deps, id);
        await actions.remove(admin.accountId, id);
        return { id, object: "organization.provider.deleted", deleted: true };
      },
      {
        detail: describeDelete("Delete a provider that was added here, with its keys", "organization.provider.deleted"),
      },
    ),
    route.post(
      "/:provider_id/test",
      async ({ admin, body: { model, key_id: keyId }, params: { provider_id: id } }) => ({
        object: "organization.provider.test" as const,
        ...(await providers.test(kernel.network, admin, id, { model, keyId })),
      }),
      {
        body: Test,
        detail: describeWrite("Send a provider one small request", TestObject, {
          description:
            "It is a real request, which the provider may charge. If it fails, the response has `ok` false. If it succeeds, routes " +
            "that were paused after failures are used again, of the model if one was named.",
        }),
      },
    ),
    route.post(
      "/:provider_id/resume",
      async ({ admin, body, params: { provider_id: id } }) => {
        await providers.resume(admin, id, body.model);
        return await answer(id);
      },
      {
        body: Resume,
        detail: describeWrite("Use the routes of a provider again that are paused after failures", ProviderObject, {
          description: "At every gateway of the database, within a second.",
        }),
      },
    ),
  ];
}

/** A test of a provider or a key before it is saved. Apart from `/providers/…`, where a provider may have any name. */
export function providerTestsController(deps: HttpDeps, api: AdminApi) {
  const { providers, kernel } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/provider_tests", area: "providers" });
  return [
    route.post(
      "",
      async ({ admin, body: { name, manifest, model, ...given } }) => {
        const unsaved = { name, manifest, secret: readSecretIfAny(given), model };
        const result = await providers.testUnsaved(kernel.network, admin, unsaved);
        return { object: "organization.provider.test" as const, ...result };
      },
      {
        body: NewTest,
        detail: describeWrite("Test a provider or key before it is saved", TestObject, {
          description: "Sends one small request as after saving. It is a real request, which the provider may charge.",
        }),
      },
    ),
  ];
}

/** The sandbox, which answers for models without a real provider. */
export function sandboxController(deps: HttpDeps, api: AdminApi) {
  const { providers, kernel } = deps;
  const { settings, actions } = providers;
  const answer = () => {
    const { sandbox: active, registry } = providers.snapshot;
    const simulates = registry.size > 0 && countSimulated(kernel.registry) > 0;
    return { object: "organization.sandbox" as const, ...settings.sandbox, active, simulates };
  };
  const route = adminRoutes(deps, api, { path: "/organization/sandbox", area: "providers" });
  return [
    route.get("", answer, {
      detail: describeRead("Whether models without a real provider are simulated", SandboxObject),
    }),
    route.post(
      "",
      async ({ admin, body }) => {
        await actions.setSandbox(admin.accountId, body.setting);
        return answer();
      },
      { body: SandboxChange, detail: describeWrite("Turn the sandbox on or off", SandboxObject) },
    ),
  ];
}

/** Plugins that could be added, and the warnings of those that were loaded. */
export function pluginsController(deps: HttpDeps, api: AdminApi) {
  const route = adminRoutes(deps, api, { path: "/organization/plugins", area: "providers" });
  return [
    route.get(
      "",
      () => {
        const { snapshot, manifests } = deps.providers;
        const names = new Set(snapshot.states.map(({ name }) => name));
        return {
          object: "organization.plugins" as const,
          manifests: Object.entries(manifests)
            .filter(([name]) => !names.has(name))
            .map(([name, manifest]) => ({ name, manifest })),
          warnings: snapshot.warnings.filter((warning) => snapshot.states.every(({ error }) => error !== warning)),
          degraded: deps.degraded?.() ?? [],
        };
      },
      {
        detail: describeRead(
          "List the providers that can be added with a key alone, and errors at loading",
          PluginsObject,
        ),
      },
    ),
  ];
}

/** The keys of a provider that are stored here. Those of the environment are listed with it, and stay. */
export function providerKeysController(deps: HttpDeps, api: AdminApi) {
  const { providers } = deps;
  const { actions } = providers;
  const readKey = (name: string, id: string) => {
    const key = readProvider(deps, name).keys.find((key) => key.id === id);
    if (key !== undefined) return key;
    throw new GatewayError("not_found", `${name} has no stored key of this id`);
  };
  const set = async (...[admin, name, body, id]: Parameters<typeof actions.setKey>) => {
    const keyId = await actions.setKey(admin, name, readSecret(body as { key?: unknown; fields?: unknown }), id);
    await providers.adoptTest(name, keyId);
    const key = readKey(name, keyId);
    return toKey(key, await readMakers(deps, [key]));
  };
  const route = adminRoutes(deps, api, { path: "/organization/providers/:provider_id/keys", area: "providers" });
  return [
    route.post("", ({ admin, body, params: { provider_id: name } }) => set(admin, name, body), {
      body: NewKey,
      detail: describeWrite("Add a key of a provider", KeyObject),
    }),
    route.post(
      "/:provider_key_id",
      async ({ admin, body, params: { provider_id: name, provider_key_id: id } }) => {
        readKey(name, id);
        return await set(admin, name, body, id);
      },
      { body: NewKey, detail: describeWrite("Replace a key of a provider", KeyObject) },
    ),
    route.delete(
      "/:provider_key_id",
      async ({ admin, params: { provider_id: name, provider_key_id: id } }) => {
        readKey(name, id);
        await actions.removeKey(admin.accountId, name, id);
        return { id, object: "organization.provider.key.deleted", deleted: true };
      },
      { detail: describeDelete("Delete a key of a provider", "organization.provider.key.deleted") },
    ),
  ];
}

type Provider = ReturnType<typeof describeProviders>[number];
type Key = Provider["keys"][number];

function listProviders({ providers, kernel }: HttpDeps): Provider[] {
  return describeProviders(providers, kernel.registry, kernel.now());
}

/** @throws {GatewayError} `not_found` */
export function readProvider(deps: HttpDeps, name: string): Provider {
  const provider = listProviders(deps).find((plugin) => plugin.name === name);
  if (provider !== undefined) return provider;
  throw new GatewayError("not_found", `No provider is called ${quoteValue(name)}`);
}

/** The e-mails of the people who set keys. */
function readMakers({ store }: HttpDeps, keys: readonly Pick<Key, "set_by">[]): Promise<ReadonlyMap<string, string>> {
  return labelsOf(
    store,
    keys.flatMap(({ set_by: by }) => by ?? []),
  );
}

async function withEmails(deps: HttpDeps, providers: readonly Provider[]) {
  const emails = await readMakers(
    deps,
    providers.flatMap<Key>(({ keys }) => keys),
  );
  return (provider: Provider) => toProvider(provider, emails);
}

function toProvider(
  { keys, routes, health, loaded_at: loadedAt, ...provider }: Provider,
  emails: ReadonlyMap<string, string>,
): Static<typeof ProviderObject> & { id: string } {
  return {
    id: provider.name,
    object: "organization.provider" as const,
    ...provider,
    loaded_at: fromIso(loadedAt),
    health: {
      ...toOutcomes(health),
      since: fromIso(health.since),
      failing_since: fromIso(health.failing_since),
      last_success_at: fromIso(health.last_success_at),
      paused_routes: health.paused_routes,
      waiting_routes: health.waiting_routes,
      paused_until: fromIso(health.paused_until),
      recent: health.recent,
      strip: [...health.strip],
    },
    keys: keys.map((key) => toKey(key, emails)),
    routes: routes.map(({ attempts, paused_until: until, ...route }) => ({
      ...route,
      paused_until: fromIso(until),
      attempts: toAttempts(attempts),
    })),
  };
}

function toKey(
  { set_by: by, set_at: at, health, attempts, ...key }: Key,
  emails: ReadonlyMap<string, string>,
): Static<typeof KeyObject> {
  return {
    object: "organization.provider.key",
    ...key,
    created_by: by,
    created_by_email: emails.get(by ?? "") ?? null,
    created_at: fromIso(at),
    health: toOutcomes(health),
    attempts: attempts === null ? null : toAttempts(attempts),
  };
}

function toOutcomes({ state, reason, last_error: error, last_test: test }: Key["health"]) {
  return {
    state,
    reason,
    last_error: error === null ? null : { ...error, at: toSeconds(Date.parse(error.at)) },
    last_test: test === null ? null : { ...test, at: toSeconds(Date.parse(test.at)) },
  };
}

function toAttempts({ last_error: error, ...attempts }: NonNullable<Key["attempts"]>) {
  return { ...attempts, last_error: error === null ? null : { ...error, at: toSeconds(Date.parse(error.at)) } };
}

function fromIso(time: string | null): number | null {
  return time === null ? null : toSeconds(Date.parse(time));
}

/** A key, or the fields of a credential that has several. @throws {GatewayError} `invalid_request` */
function readSecret({ key, fields }: { key?: unknown; fields?: unknown }): unknown {
  if (typeof key === "string" && fields === undefined) return key;
  if (key === undefined && typeof fields === "object" && fields !== null) return fields;
  throw new GatewayError("invalid_request", "key is not a string; expected the provider's key", { param: "key" });
}

function readSecretIfAny({ key, fields }: { key?: unknown; fields?: unknown }): unknown {
  return key === undefined && fields === undefined ? undefined : readSecret({ key, fields });
}
