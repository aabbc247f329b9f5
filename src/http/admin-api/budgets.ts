import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Administrator } from "../../audit/index.ts";
import { type BudgetSubject, budgetPeriods, budgetSubjects, formatUsd } from "../../contract/index.ts";
import {
  type BudgetChanges,
  changeBudget,
  createBudget,
  deleteBudget,
  eachAccount,
  listBudgets,
  readBudgetOf,
  readSpentBySubject,
  readSpentOfBudgets,
  type StoredBudget,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { idOfModel, readBudget, Usd } from "../forms/read-fields.ts";
import { toBudgetJson } from "../forms/serializers.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite, writeOnce } from "./guard.ts";
import { invalid, listOf, listParameters, nullable, readPage, removable, toList } from "./lists.ts";
import { readProject } from "./projects.ts";

const Subject = Type.Unsafe<BudgetSubject>(
  Type.Union(
    budgetSubjects.map((subject) => Type.Literal(subject)),
    { description: "Whose calls it counts" },
  ),
);
const Period = Type.Unsafe<StoredBudget["period"]>(Type.Union(budgetPeriods.map((period) => Type.Literal(period))));
const Name = Type.String({ minLength: 1, maxLength: 200, description: "Which of them; `null`: each by itself" });
const Until = Type.Integer({ minimum: 1, maximum: 10_000_000_000, description: "Seconds since 1970" });
const raise = { raise_usd: removable(Usd), raise_until: removable(Until) };

/** The fields that say what a budget counts, and of which there is one budget each. */
export const budgetTarget = {
  subject: Subject,
  name: removable(Name),
  api_key_id: removable(Type.String({ minLength: 1, maxLength: 100, description: "`null`: all keys of the project" })),
  budget_period: Period,
};
/** The fields that can be changed. */
export const budgetAmounts = { budget_usd: Usd, ...raise };
const NewBudget = formBody({ ...budgetTarget, ...budgetAmounts });
const BudgetChange = formBody({ budget_usd: Type.Optional(Usd), budget_period: Type.Optional(Period), ...raise });

const BudgetObject = Type.Object({
  id: Type.String(),
  object: Type.Union([Type.Literal("organization.project.budget"), Type.Literal("organization.budget")]),
  subject: Subject,
  name: nullable(Name),
  api_key_id: nullable(Type.String()),
  budget_usd: Usd,
  budget_period: Period,
  raise_usd: nullable(Type.String({ description: "What is added to it until `raise_until`" })),
  raise_until: nullable(Type.Integer()),
  used_usd: nullable(Type.String({ description: "In this period; `null` where each has its own" })),
  resets_at: nullable(Type.String({ format: "date-time" })),
  created_at: Type.Integer(),
});
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

/** Answers the routes, for the budgets of a project or the gateway. */
function budgetActions(deps: HttpDeps) {
  const { store, now } = deps;
  const answer = async (budget: StoredBudget) => (await toBudgets(deps, [budget]))(budget);
  return {
    list: async (request: Request, owner: string) => {
      const { limit, after } = readPage(parseUrl(request).searchParams);
      const last = after === undefined ? undefined : await readBudgetOf(store, owner, after);
      const budgets = await listBudgets(store, [owner], { limit: limit + 1, after: last });
      return toList(budgets, limit, await toBudgets(deps, budgets));
    },
    create: async (by: Administrator, accountId: string, body: Static<typeof NewBudget>) => {
      const target = { ...toTarget(deps, body), limitNanodollars: readBudget(body.budget_usd) };
      const { raise } = readBudgetChanges(body);
      return await answer(await createBudget(store, { by, accountId, ...target, raise: raise ?? undefined }, now()));
    },
    read: async (owner: string, id: string) => answer(await readBudgetOf(store, owner, id)),
    change: async (by: Administrator, accountId: string, id: string, body: Static<typeof BudgetChange>) => {
      const changes = readBudgetChanges(body);
      return await answer(await changeBudget(store, { by, accountId, id, changes }, now()));
    },
    remove: async (by: Administrator, accountId: string, id: string) => {
      await deleteBudget(store, { by, accountId, id }, now());
      return { id, object: "organization.project.budget.deleted" as const, deleted: true };
    },
    usage: async (request: Request, owner: string, id: string) => {
      const { limit } = readPage(parseUrl(request).searchParams);
      const budget = await readBudgetOf(store, owner, id);
      const subjects = await readSpentBySubject(store, budget, { limit: limit + 1, now: now() });
      const data = subjects.slice(0, limit).map(({ accountId, name, spentNanodollars }) => {
        return { project_id: accountId, name: name === "" ? null : name, used_usd: formatUsd(spentNanodollars) };
      });
      return { object: "list" as const, data, has_more: subjects.length > limit };
    },
  };
}

const details = {
  list: (whose: string) =>
    describeRead(`List the budgets of ${whose}`, listOf(BudgetObject), { query: listParameters }),
  read: describeRead("Retrieve a budget and what is spent of it", BudgetObject),
  change: describeWrite("Change the amount or the period of a budget, or raise it for a time", BudgetObject, {
    description: "`raise_usd` is added to it until `raise_until`; `null` ends the raise. What is spent stays.",
  }),
  remove: describeDelete("Delete a budget with what it has counted", "organization.project.budget.deleted"),
  usage: describeRead("Who has spent the most of a budget in its running period", BudgetUsage, {
    query: { limit: listParameters.limit },
  }),
};

/** The budgets of a project: of itself, its keys, and the end users, tags, sessions and models of its calls. */
export function budgetsController(deps: HttpDeps, api: AdminApi) {
  const budgets = budgetActions(deps);
  return new Elysia({ prefix: "/organization/projects/:project_id/budgets" })
    .use(adminRoutes(deps, api, "accounts"))
    .get("", async ({ request, params }) => budgets.list(request, (await readProject(deps, params.project_id)).id), {
      detail: details.list("a project"),
    })
    .post(
      "",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () =>
          budgets.create(admin, (await readProject(deps, params.project_id)).id, body),
        ),
      {
        body: NewBudget,
        detail: describeWrite("Create a budget", BudgetObject, {
          description:
            "With a `name` it counts the calls of one end user, tag, session, model or key, without one those of each by " +
            "itself, and calls that name none as one more. Who has a budget of its own is not one of each. What was spent in its " +
            "period before counts too.",
        }),
      },
    );
}

/** One budget of a project. */
export function budgetController(deps: HttpDeps, api: AdminApi) {
  const budgets = budgetActions(deps);
  return new Elysia({ prefix: "/organization/projects/:project_id/budgets" })
    .use(adminRoutes(deps, api, "accounts"))
    .get("/:budget_id", ({ params }) => budgets.read(params.project_id, params.budget_id), { detail: details.read })
    .post(
      "/:budget_id",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, () =>
          budgets.change(admin, params.project_id, params.budget_id, body),
        ),
      { body: BudgetChange, detail: details.change },
    )
    .delete(
      "/:budget_id",
      ({ request, admin, params }) =>
        writeOnce(deps, { request, admin }, () => budgets.remove(admin, params.project_id, params.budget_id)),
      { detail: details.remove },
    )
    .get("/:budget_id/usage", ({ request, params }) => budgets.usage(request, params.project_id, params.budget_id), {
      detail: details.usage,
    });
}

/** The budgets of the gateway, over each account, team, key, end user, tag, session or model by itself. */
export function gatewayBudgetsController(deps: HttpDeps, api: AdminApi) {
  const budgets = budgetActions(deps);
  return new Elysia({ prefix: "/organization/budgets" })
    .use(adminRoutes(deps, api, "accounts"))
    .get("", ({ request }) => budgets.list(request, eachAccount), { detail: details.list("the gateway") })
    .post(
      "",
      ({ request, admin, body }) =>
        writeOnce(deps, { request, admin, body }, () => budgets.create(admin, eachAccount, body)),
      {
        body: NewBudget,
        detail: describeWrite("Create a budget over all projects", BudgetObject, {
          description:
            "It bounds each project, team, key, end user, tag, session or model by itself, beside the budgets that projects have. " +
            "Two projects never share an end user, a tag or a session. What was spent in its period before counts too.",
        }),
      },
    )
    .get("/:budget_id", ({ params }) => budgets.read(eachAccount, params.budget_id), { detail: details.read })
    .post(
      "/:budget_id",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, () => budgets.change(admin, eachAccount, params.budget_id, body)),
      { body: BudgetChange, detail: details.change },
    )
    .delete(
      "/:budget_id",
      ({ request, admin, params }) =>
        writeOnce(deps, { request, admin }, () => budgets.remove(admin, eachAccount, params.budget_id)),
      { detail: details.remove },
    )
    .get("/:budget_id/usage", ({ request, params }) => budgets.usage(request, eachAccount, params.budget_id), {
      detail: details.usage,
    });
}

/** The subject that a budget counts. A model may have any of its names. */
export function toTarget(deps: HttpDeps, body: Pick<Static<typeof NewBudget>, keyof typeof budgetTarget>) {
  const name = body.name ?? undefined;
  return {
    subject: body.subject,
    name: body.subject === "model" && name !== undefined ? idOfModel(deps, name) : name,
    keyId: body.api_key_id ?? undefined,
    period: body.budget_period,
  };
}

type BudgetBody = {
  readonly [Field in keyof Static<typeof BudgetChange>]: Static<typeof BudgetChange>[Field] | undefined;
};

/** @throws {GatewayError} `invalid_request` for half a raise. */
export function readBudgetChanges(body: BudgetBody): BudgetChanges {
  const { budget_usd: usd, budget_period: period, raise_usd: raiseUsd, raise_until: until } = body;
  if ((raiseUsd == null) !== (until == null)) {
    throw invalid("raise_until", "raise_usd and raise_until are given or left out together");
  }
  const isRaise = raiseUsd != null && until != null;
  const raise = isRaise ? { nanodollars: readBudget(raiseUsd, "raise_usd"), until: until * 1000 } : undefined;
  const ended = raiseUsd === null ? null : undefined;
  return { limitNanodollars: usd === undefined ? undefined : readBudget(usd), period, raise: raise ?? ended };
}

/** Writes budgets with what is spent of them. */
async function toBudgets({ store, now }: HttpDeps, budgets: readonly StoredBudget[]) {
  const spent = await readSpentOfBudgets(store, budgets, now());
  return (budget: StoredBudget): Static<typeof BudgetObject> => toBudgetJson(budget, spent.get(budget.id), now());
}
