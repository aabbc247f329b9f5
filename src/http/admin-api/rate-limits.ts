import { type Static, Type } from "@sinclair/typebox";
import { GatewayError, nullable, optional, quoteValue } from "../../contract/index.ts";
import type { ModelLimitsTable } from "../../db/index.ts";
import { bodyFields, defineFields, Limit, toColumns, toJson } from "../../lib/fields.ts";
import {
  type Account,
  accountRoles,
  changeModelLimits,
  changeProject,
  changeRoleLimits,
  deleteModelLimits,
  eachAccount,
  listModelLimits,
  listRoleLimits,
  type RoleLimits,
  readRoleLimits,
  type StoredModelLimits,
  setModelLimits,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, idOfCountedModel } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite } from "./guard.ts";
import { invalid, listOf, listParameters, readPage, toList } from "./lists.ts";
import { readProject } from "./projects.ts";

const ModelName = Type.String({ minLength: 1, maxLength: 200, description: "Any name of the model" });
const KeyId = Type.String({ minLength: 1, maxLength: 100, description: "`null`: all keys of the project together" });
/** The fields of limits by the names that OpenAI's API has for them. */
const limits = defineFields<ModelLimitsTable>()({
  max_requests_per_1_minute: { schema: optional(Limit), column: "requests_per_minute" },
  max_tokens_per_1_minute: { schema: optional(Limit), column: "tokens_per_minute" },
  max_concurrent_calls: { schema: optional(Limit), column: "concurrent_calls" },
});
const bounds = bodyFields(limits);
const NewLimit = formBody({ model: ModelName, ...bounds });
const NewProjectLimit = formBody({ model: ModelName, api_key_id: optional(KeyId), ...bounds });
const LimitChange = formBody(bounds);

const RateLimitObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("project.rate_limit"),
  model: Type.String({ description: "`*`: all models together" }),
  api_key_id: nullable(Type.String()),
  max_requests_per_1_minute: nullable(Type.Integer()),
  max_tokens_per_1_minute: nullable(Type.Integer()),
  max_concurrent_calls: nullable(Type.Integer({ description: "Calls that may run at once" })),
});
type RateLimitObject = Static<typeof RateLimitObject>;

const RoleLimitChange = formBody({
  ...bounds,
  free_tokens_per_day: optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
});
const RoleLimitObject = Type.Object({
  id: Type.Union(
    accountRoles.map((role) => Type.Literal(role)),
    {
      description: "The role of the holder of an account; `none`: nobody signs in to it, as to that of a team",
    },
  ),
  object: Type.Literal("organization.role_limit"),
  max_requests_per_1_minute: nullable(Type.Integer()),
  max_tokens_per_1_minute: nullable(Type.Integer()),
  max_concurrent_calls: nullable(Type.Integer({ description: "Calls that may run at once" })),
  free_tokens_per_day: nullable(Type.Integer({ description: "The daily free quota" })),
});

/** The limits of a project for all of its models together. */
const limitOfAll = "all";
const each = "Each project by itself that has no limits of its own for the model; those of its keys apply as well.";

/** The limits of projects per minute and at once: for all models together, and for single ones. */
export function rateLimitsController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/projects/:project_id/rate_limits", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request, params }) => {
        const account = await readProject(deps, params.project_id);
        const ofModels = await listModelLimits(store, [account.id]);
        return toPage(request, [
          await readRateLimitOfAll(deps, account),
          ...ofModels.map((row) => toRateLimit(deps, row)),
        ]);
      },
      {
        detail: describeRead("List the rate limits of a project", listOf(RateLimitObject), {
          description: "The first one, `all`, is for all models together.",
          query: listParameters,
        }),
      },
    ),
    route.post(
      "",
      async ({ admin, params, body }) => {
        const { id: accountId } = await readProject(deps, params.project_id);
        const { api_key_id: keyId, ...others } = body;
        return await set(deps, { by: admin, accountId, ...(keyId != null && { key_id: keyId }) }, others);
      },
      {
        body: NewProjectLimit,
        detail: describeWrite("Set the limits of a model for a project or one of its keys", RateLimitObject, {
          description: "In place of those that the model has there. A call keeps to all limits that are for it.",
        }),
      },
    ),
    route.post(
      "/:rate_limit_id",
      async ({ admin, params, body }) => {
        const { id: accountId } = await readProject(deps, params.project_id);
        const { rate_limit_id: id } = params;
        if (id !== limitOfAll) {
          const changes = toColumns<ModelLimitsTable, typeof limits>(limits, body);
          return toRateLimit(deps, await changeModelLimits(store, { by: admin, accountId, id, changes }, now()));
        }
        await changeProject(store, { by: admin, accountId, changes: readBounds(body) }, now);
        return await readRateLimitOfAll(deps, await readProject(deps, accountId));
      },
      {
        body: LimitChange,
        detail: describeWrite("Modify a rate limit of a project", RateLimitObject, {
          description:
            "`null` removes a limit of a model, and gives back that of the role or the configured one for all models.",
        }),
      },
    ),
    route.delete(
      "/:rate_limit_id",
      async ({ admin, params: { project_id: accountId, rate_limit_id: id } }) => {
        await deleteModelLimits(store, { by: admin, accountId, id }, now());
        return toDeleted(id);
      },
      { detail: describeDelete("Delete the limits of a model for a project or a key", "project.rate_limit.deleted") },
    ),
  ];
}

/** The limits of models for each project. */
export function sharedRateLimitsController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/rate_limits", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request }) =>
        toPage(
          request,
          (await listModelLimits(store, [eachAccount])).map((row) => toRateLimit(deps, row)),
        ),
      {
        detail: describeRead("List the limits of models for each project", listOf(RateLimitObject), {
          description: each,
          query: listParameters,
        }),
      },
    ),
    route.post("", ({ admin, body }) => set(deps, { by: admin, accountId: eachAccount }, body), {
      body: NewLimit,
      detail: describeWrite("Set the limits of a model for each project", RateLimitObject, {
        description: `In place of those that the model has there. ${each}`,
      }),
    }),
    route.post(
      "/:rate_limit_id",
      async ({ admin, params: { rate_limit_id: id }, body }) => {
        const changes = toColumns<ModelLimitsTable, typeof limits>(limits, body);
        const change = { by: admin, accountId: eachAccount, id, changes };
        return toRateLimit(deps, await changeModelLimits(store, change, now()));
      },
      {
        body: LimitChange,
        detail: describeWrite("Modify the limits of a model for each project", RateLimitObject, {
          description: "`null` removes a limit.",
        }),
      },
    ),
    route.delete(
      "/:rate_limit_id",
      async ({ admin, params: { rate_limit_id: id } }) => {
        await deleteModelLimits(store, { by: admin, accountId: eachAccount, id }, now());
        return toDeleted(id);
      },
      { detail: describeDelete("Delete the limits of a model for each project", "project.rate_limit.deleted") },
    ),
  ];
}

/** The limits that projects have by the role of their holder, where they have none of their own. */
export function roleLimitsController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/role_limits", area: "accounts" });
  return [
    route.get("", async ({ request }) => toPage(request, (await listRoleLimits(store)).map(toRoleLimit)), {
      detail: describeRead("List the limits of projects by role", listOf(RoleLimitObject), {
        description: "Of each role, in force for projects that have none of their own. `null`: the configured one.",
        query: listParameters,
      }),
    }),
    route.post(
      "/:role",
      async ({ admin, params, body }) => {
        const role = accountRoles.find((one) => one === params.role);
        if (role === undefined) {
          throw new GatewayError(
            "not_found",
            `There is no role ${quoteValue(params.role)}; the roles are ${accountRoles.join(", ")}`,
          );
        }
        const changes = { ...readBounds(body), freeTokensPerDay: body.free_tokens_per_day };
        return toRoleLimit({ role, ...(await changeRoleLimits(store, { by: admin, role, changes }, now())) });
      },
      {
        body: RoleLimitChange,
        detail: describeWrite("Modify the limits of projects of a role", RoleLimitObject, {
          description: "`null` gives back the configured one. Only owners change those of owners.",
        }),
      },
    ),
  ];
}

function toRoleLimit({ role, ...limits }: RoleLimits & { readonly role: (typeof accountRoles)[number] }) {
  return {
    id: role,
    object: "organization.role_limit" as const,
    max_requests_per_1_minute: limits.requestsPerMinute ?? null,
    max_tokens_per_1_minute: limits.tokensPerMinute ?? null,
    max_concurrent_calls: limits.concurrentCalls ?? null,
    free_tokens_per_day: limits.freeTokensPerDay ?? null,
  };
}

type Target = Pick<Parameters<typeof setModelLimits>[1], "by" | "accountId" | "key_id">;

async function set(deps: HttpDeps, target: Target, { model: name, ...body }: Static<typeof NewLimit>) {
  const columns = toColumns<ModelLimitsTable, typeof limits>(limits, body);
  const model = idOfCountedModel(deps, name);
  return toRateLimit(deps, await setModelLimits(deps.store, { ...target, model, ...columns }, deps.now()));
}

function readBounds(body: Static<typeof LimitChange>) {
  return {
    requestsPerMinute: body.max_requests_per_1_minute,
    tokensPerMinute: body.max_tokens_per_1_minute,
    concurrentCalls: body.max_concurrent_calls,
  };
}

/** There are never many, so that all were read. */
function toPage<Entry extends { readonly id: string }>(request: Request, all: readonly Entry[]) {
  const { limit, after } = readPage(parseUrl(request).searchParams);
  const last = after === undefined ? -1 : all.findIndex(({ id }) => id === after);
  if (after !== undefined && last === -1) throw invalid("after", "is no limit of this list");
  return toList(all.slice(last + 1), limit, (entry) => entry);
}

function toRateLimit(deps: HttpDeps, row: StoredModelLimits): RateLimitObject {
  return {
    id: row.id,
    object: "project.rate_limit",
    model: displayNameOf(deps, row.model),
    api_key_id: row.key_id === "" ? null : row.key_id,
    ...toJson(limits, row),
  };
}

async function readRateLimitOfAll({ config, store }: HttpDeps, account: Account): Promise<RateLimitObject> {
  const ofRole = await readRoleLimits(store, account.id);
  return {
    id: limitOfAll,
    object: "project.rate_limit",
    model: "*",
    api_key_id: null,
    max_requests_per_1_minute: account.requestsPerMinute ?? ofRole.requestsPerMinute ?? config.requestsPerMinute,
    max_tokens_per_1_minute: account.tokensPerMinute ?? ofRole.tokensPerMinute ?? config.tokensPerMinute,
    max_concurrent_calls: account.concurrentCalls ?? ofRole.concurrentCalls ?? config.concurrentCalls ?? null,
  };
}

function toDeleted(id: string) {
  return { id, object: "project.rate_limit.deleted" as const, deleted: true };
}
