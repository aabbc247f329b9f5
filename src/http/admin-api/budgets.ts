import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { formatUsd } from "../../contract/index.ts";
import { Usd } from "../../lib/fields.ts";
import { type budgetFields, eachAccount, readBudgetOf, readSpentBySubject } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { budgets, type DerivedOfBudget } from "../resources/budgets.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { listParameters, nullable, readPage } from "./lists.ts";
import { readProject } from "./projects.ts";
import { type Mount, type ResourceApi, resourceRoutes } from "./resource-routes.ts";

const changes = "`raise_usd` is added to it until `raise_until`; `null` ends the raise. What is spent stays.";
const ofProject = {
  path: "/organization/projects/:project_id/budgets",
  whose: "a project",
  creates:
    "With a `name` it counts the calls of one end user, tag, session, model or key, without one those of each by " +
    "itself, and calls that name none as one more. Who has a budget of its own is not one of each. What was spent in its " +
    "period before counts too.",
  changes,
  ownerOf: async (deps, { project_id: id = "" }, isExpected) => (isExpected ? (await readProject(deps, id)).id : id),
} as const satisfies Mount;
const ofGateway = {
  path: "/organization/budgets",
  whose: "the gateway",
  creates:
    "It bounds each project, team, key, end user, tag, session or model by itself, beside the budgets that projects have. " +
    "Two projects never share an end user, a tag or a session. What was spent in its period before counts too.",
  changes,
  ownerOf: () => eachAccount,
} as const satisfies Mount;

const BudgetUsage = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(
    Type.Object({
      project_id: Type.String(),
      name: nullable(Type.String({ description: "`null`: requests that name none, or the project itself" })),
      used_usd: Usd,
    }),
  ),
  has_more: Type.Boolean(),
});

/** The types of the routes of budgets. */
export type BudgetsApi = ResourceApi<(typeof ofProject)["path"], "budget_id", typeof budgetFields, DerivedOfBudget> &
  ResourceApi<(typeof ofGateway)["path"], "budget_id", typeof budgetFields, DerivedOfBudget>;

export function budgetRoutes(deps: HttpDeps, api: AdminApi) {
  return [ofProject, ofGateway].map((mount) => resourceRoutes(deps, api, budgets, mount));
}

/** Lists the largest spenders of a budget, of a project and of the gateway. */
export function budgetUsageController(deps: HttpDeps, api: AdminApi) {
  const read = async (request: Request, owner: string, id: string) => {
    const { limit } = readPage(parseUrl(request).searchParams);
    const budget = await readBudgetOf(deps.store, owner, id);
    const subjects = await readSpentBySubject(deps.store, budget, { limit: limit + 1, now: deps.now() });
    const data = subjects.slice(0, limit).map(({ accountId, name, spentNanodollars }) => {
      return { project_id: accountId, name: name === "" ? null : name, used_usd: formatUsd(spentNanodollars) };
    });
    return { object: "list" as const, data, has_more: subjects.length > limit };
  };
  const detail = describeRead("Who has spent the most of a budget in its running period", BudgetUsage, {
    query: { limit: listParameters.limit },
  });
  return new Elysia({ prefix: "/organization" })
    .use(adminRoutes(deps, api, "accounts"))
    .get(
      "/projects/:project_id/budgets/:budget_id/usage",
      ({ request, params }) => read(request, params.project_id, params.budget_id),
      { detail },
    )
    .get("/budgets/:budget_id/usage", ({ request, params }) => read(request, eachAccount, params.budget_id), {
      detail,
    });
}
