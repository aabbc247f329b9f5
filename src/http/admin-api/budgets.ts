import { Type } from "@sinclair/typebox";
import { formatUsd, nullable } from "../../contract/index.ts";
import { Usd } from "../../lib/fields.ts";
import { eachAccount, readBudgetOf, readSpentBySubject } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { type AdminApi, adminRoutes, describeRead } from "./guard.ts";
import { listParameters, readPage } from "./lists.ts";

const BudgetUsage = Type.Object({
  object: Type.Literal("list"),
  data: Type.Array(
    Type.Object({
      project_id: Type.String(),
      name: nullable(Type.String({ description: "`null`: requests without a name, or the project itself" })),
      used_usd: Usd,
    }),
  ),
  has_more: Type.Boolean(),
});

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
  const detail = describeRead("List the largest spenders of a budget in its current period", BudgetUsage, {
    query: { limit: listParameters.limit },
  });
  const route = adminRoutes(deps, api, { path: "/organization", area: "accounts" });
  return [
    route.get(
      "/projects/:project_id/budgets/:budget_id/usage",
      ({ request, params }) => read(request, params.project_id, params.budget_id),
      { detail },
    ),
    route.get("/budgets/:budget_id/usage", ({ request, params }) => read(request, eachAccount, params.budget_id), {
      detail,
    }),
  ];
}
