import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { emailsOf } from "../../accounts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { describeProviders } from "../../providers/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";

/** Checked by hand: the error of a schema shows the value. */
const Secret = Type.Any();
const Name = Type.String({ minLength: 1, maxLength: 60 });
const NewProvider = formBody({
  name: Name,
  manifest: Type.Any(),
  key: Type.Optional(Secret),
  fields: Type.Optional(Secret),
});
const Order = Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 1000 }), Type.Null()]));
const Change = formBody({ enabled: Type.Optional(Type.Boolean()), priority: Order, weight: Order });
const NewKey = formBody({ key: Type.Optional(Secret), fields: Type.Optional(Secret) });
const Test = formBody({
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  key_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
});
const NewTest = formBody({
  name: Name,
  manifest: Type.Optional(Type.Any()),
  key: Type.Optional(Secret),
  fields: Type.Optional(Secret),
  model: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});
const Sandbox = formBody({ setting: Type.Union([Type.Literal("on"), Type.Literal("off"), Type.Literal("auto")]) });

/** Providers, for administrators. No answer has a key. Every change is in the audit log. */
export function providersController(deps: HttpDeps) {
  const { providers, kernel } = deps;
  const { actions } = providers;
  const done = { ok: true };
  return new Elysia({ prefix: "/admin/providers" })
    .use(withAdminSession(deps))
    .get("", () => listProviders(deps))
    .post(
      "",
      async ({ admin, body: { name, manifest, key, fields } }) => {
        const secret = key === undefined && fields === undefined ? undefined : readSecret({ key, fields });
        await providers.adoptTest(name, await actions.add(admin, name, manifest, secret));
        return { name };
      },
      { body: NewProvider },
    )
    .post(
      "/sandbox",
      async ({ admin, body: { setting } }) => {
        await actions.setSandbox(admin.accountId, setting);
        return done;
      },
      { body: Sandbox },
    )
    .post(
      "/test",
      ({ admin, body: { name, manifest, key, fields, model } }) => {
        const secret = key === undefined && fields === undefined ? undefined : readSecret({ key, fields });
        return providers.testUnsaved(kernel.network, admin, { name, manifest, secret, model });
      },
      { body: NewTest },
    )
    .patch(
      "/:id",
      async ({ admin, params: { id }, body }) => {
        await actions.set(admin.accountId, id, body);
        return done;
      },
      { body: Change },
    )
    .delete("/:id", async ({ admin, params: { id } }) => {
      await actions.remove(admin.accountId, id);
      return done;
    })
    .post(
      "/:id/test",
      ({ params: { id }, body: { model, key_id: keyId } }) => providers.test(kernel.network, id, { model, keyId }),
      { body: Test },
    )
    .post(
      "/:id/keys",
      async ({ admin, params: { id }, body }) => {
        const key = await actions.setKey(admin, id, readSecret(body));
        await providers.adoptTest(id, key);
        return { id: key };
      },
      { body: NewKey },
    )
    .post(
      "/:id/keys/:key",
      async ({ admin, params, body }) => {
        const key = await actions.setKey(admin, params.id, readSecret(body), params.key);
        await providers.adoptTest(params.id, key);
        return { id: key };
      },
      { body: NewKey },
    )
    .delete("/:id/keys/:key", async ({ admin, params: { id, key } }) => {
      await actions.removeKey(admin.accountId, id, key);
      return done;
    });
}

/** A key, or the fields of a credential that has several. @throws {GatewayError} `invalid_request` */
export function readSecret({ key, fields }: { key?: unknown; fields?: unknown }): unknown {
  if (typeof key === "string" && fields === undefined) return key;
  if (key === undefined && typeof fields === "object" && fields !== null) return fields;
  throw new GatewayError("invalid_request", "key is not a text, but the provider's key was expected", { param: "key" });
}

async function listProviders({ providers, kernel, store, degraded }: HttpDeps) {
  const { settings, snapshot, manifests } = providers;
  const data = describeProviders(providers, kernel.registry, kernel.now());
  const emails = await emailsOf(
    store,
    data.flatMap(({ keys }) => keys.flatMap(({ set_by }) => set_by ?? [])),
  );
  const names = new Set(data.map(({ name }) => name));
  return {
    data: data.map(({ keys, ...provider }) => ({
      ...provider,
      keys: keys.map((key) => ({ ...key, set_by: emails.get(key.set_by ?? "") ?? key.set_by })),
    })),
    ready: Object.entries(manifests)
      .filter(([name]) => !names.has(name))
      .map(([name, manifest]) => ({ name, manifest })),
    sandbox: {
      ...settings.sandbox,
      active: snapshot.sandbox,
      simulates: snapshot.registry.size > 0 && isSimulating(kernel),
    },
    secrets: settings.box.source,
    /** Load errors beside those of the rows. */
    warnings: snapshot.warnings.filter((warning) => snapshot.states.every(({ error }) => error !== warning)),
    degraded: degraded?.() ?? [],
  };
}

/** Whether any model is answered by the sandbox. */
function isSimulating({ registry }: HttpDeps["kernel"]): boolean {
  return [...registry.modelEntries].some(({ routes }) => routes.some(({ plugin }) => plugin.name === "sandbox"));
}
