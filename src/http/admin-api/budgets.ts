import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type BudgetSubject, budgetPeriods, budgetSubjects, formatUsd } from "../../contract/index.ts";
import {
  type BudgetChanges,
  changeBudget,
  createBudget,
  deleteBudget,
  listBudgets,
  readBudgetOf,
  readSpentBySubject,
  readSpentOfBudgets,
  type StoredBudget,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { idOfModel, readBudget, Usd } from "../forms/read-fields.ts";
import { toSubjectBudgetJson } from "../forms/serializers.ts";
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
const BudgetChange = formBody({ budget_usd: Type.Optional(Usd), ...raise });

const BudgetObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project.budget"),
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
    Type.Object({ name: nullable(Type.String({ description: "`null`: requests that name none" })), used_usd: Usd }),
  ),
  has_more: Type.Boolean(),
});

/** The budgets of a project by subject: end users, tags, sessions, models, keys, or the project itself. */
export function budgetsController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const answer = async (budget: StoredBudget) => (await toBudgets(deps, [budget]))(budget);
  return new Elysia({ prefix: "/organization/projects/:project_id/budgets" })
    .use(adminRoutes(deps, api, "accounts"))
    .get(
      "",
      async ({ request, params }) => {
        const { id } = await readProject(deps, params.project_id);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const last = after === undefined ? undefined : await readBudgetOf(store, id, after);
        const budgets = await listBudgets(store, [id], { limit: limit + 1, after: last });
        return toList(budgets, limit, await toBudgets(deps, budgets));
      },
      {
        detail: describeRead("List the budgets of a project by subject", listOf(BudgetObject), {
          query: listParameters,
        }),
      },
    )
    .post(
      "",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const { id: accountId } = await readProject(deps, params.project_id);
          const target = { ...toTarget(deps, body), limitNanodollars: readBudget(body.budget_usd) };
          const { raise } = readBudgetChanges(body);
          return await answer(
            await createBudget(store, { by: admin, accountId, ...target, raise: raise ?? undefined }, now()),
          );
        }),
      {
        body: NewBudget,
        detail: describeWrite("Create a budget by subject", BudgetObject, {
          description:
            "With a `name` it counts the calls of one end user, tag, session, model or key, without one those of each by " +
            "itself, and calls that name none as one more. Who has a budget of its own is not one of each.",
        }),
      },
    );
}

/** One budget of a project. */
export function budgetController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const answer = async (budget: StoredBudget) => (await toBudgets(deps, [budget]))(budget);
  return new Elysia({ prefix: "/organization/projects/:project_id/budgets" })
    .use(adminRoutes(deps, api, "accounts"))
    .get("/:budget_id", async ({ params }) => answer(await readBudgetOf(store, params.project_id, params.budget_id)), {
      detail: describeRead("Retrieve a budget and what is spent of it", BudgetObject),
    })
    .post(
      "/:budget_id",
      ({ request, admin, params, body }) =>
        writeOnce(deps, { request, admin, body }, async () => {
          const changes = readBudgetChanges(body);
          const { project_id: accountId, budget_id: id } = params;
          return await answer(await changeBudget(store, { by: admin, accountId, id, changes }, now()));
        }),
      {
        body: BudgetChange,
        detail: describeWrite("Change the amount of a budget, or raise it for a time", BudgetObject, {
          description: "`raise_usd` is added to it until `raise_until`; `null` ends the raise. What is spent stays.",
        }),
      },
    )
    .delete(
      "/:budget_id",
      ({ request, admin, params: { project_id: accountId, budget_id: id } }) =>
        writeOnce(deps, { request, admin }, async () => {
          await deleteBudget(store, { by: admin, accountId, id }, now());
          return { id, object: "organization.project.budget.deleted" as const, deleted: true };
        }),
      { detail: describeDelete("Delete a budget with what it has counted", "organization.project.budget.deleted") },
    )
    .get(
      "/:budget_id/usage",
      async ({ request, params }) => {
        const { limit } = readPage(parseUrl(request).searchParams);
        const budget = await readBudgetOf(store, params.project_id, params.budget_id);
        const subjects = await readSpentBySubject(store, budget, { limit: limit + 1, now: now() });
        const data = subjects.slice(0, limit).map(({ name, spentNanodollars }) => {
          return { name: name === "" ? null : name, used_usd: formatUsd(spentNanodollars) };
        });
        return { object: "list" as const, data, has_more: subjects.length > limit };
      },
      {
        detail: describeRead("Who has spent the most of a budget in its running period", BudgetUsage, {
          query: { limit: listParameters.limit },
        }),
      },
    );
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
  const { budget_usd: usd, raise_usd: raiseUsd, raise_until: until } = body;
  if ((raiseUsd == null) !== (until == null)) {
    throw invalid("raise_until", "raise_usd and raise_until are given or left out together");
  }
  const isRaise = raiseUsd != null && until != null;
  const raise = isRaise ? { nanodollars: readBudget(raiseUsd, "raise_usd"), until: until * 1000 } : undefined;
  const ended = raiseUsd === null ? null : undefined;
  return { limitNanodollars: usd === undefined ? undefined : readBudget(usd), raise: raise ?? ended };
}

/** Writes budgets with what is spent of them. */
async function toBudgets({ store, now }: HttpDeps, budgets: readonly StoredBudget[]) {
  const spent = await readSpentOfBudgets(store, budgets, now());
  return (budget: StoredBudget): Static<typeof BudgetObject> =>
    toSubjectBudgetJson(budget, spent.get(budget.id), now());
}
