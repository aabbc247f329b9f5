import { type Static, Type } from "@sinclair/typebox";
import { createAudited } from "../../audit/index.ts";
import {
  accountLabel,
  DisplayName,
  formatUsd,
  GatewayError,
  nullable,
  optional,
  toRealEmail,
} from "../../contract/index.ts";
import { creditWallet } from "../../ledger/index.ts";
import { answerFields, bodyFields, readBudget, toColumns, toJson, Usd } from "../../lib/fields.ts";
import {
  type Account,
  accountFields,
  changeProject,
  createProject,
  findTeamsWithoutAdmin,
  isVerified,
  listAccountsPage,
  type ProjectChanges,
  readAccountBudget,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf, Email, Period, readCredit, withModelIds } from "../forms/read-fields.ts";
import { toIso, toWalletJson } from "../forms/serializers.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeRead, describeWrite } from "./guard.ts";
import { invalid, listOf, listParameters, readFlag, readPage, toList, toSeconds, toSecondsOrNull } from "./lists.ts";

const decided = {
  ...bodyFields(accountFields),
  budget_usd: optional(Usd),
  budget_period: Type.Optional(Period),
};
const NewProject = formBody({ name: Type.Optional(DisplayName), email: Type.Optional(Email), ...decided });
const Role = Type.Union(
  [Type.Literal("owner"), Type.Literal("admin"), Type.Literal("viewer"), Type.Literal("member")],
  { description: "Role in the gateway of the person whose account it is, also before they sign in" },
);
const ProjectChange = formBody({
  name: optional(DisplayName),
  email: Type.Optional(Email),
  status: Type.Optional(Type.Union([Type.Literal("active"), Type.Literal("archived")])),
  role: Type.Optional(Role),
  ...decided,
});
const Credit = formBody({
  usd: Usd,
  note: Type.String({ minLength: 1, maxLength: 500 }),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
});

const ProjectObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project"),
  name: Type.String(),
  created_at: Type.Integer(),
  archived_at: nullable(Type.Integer()),
  status: Type.Union([Type.Literal("active"), Type.Literal("archived")]),
  email: nullable(Type.String({ description: "`null`: a team without one" })),
  verified: nullable(
    Type.Boolean({
      description: "`false`: someone signed up with this e-mail without verifying it; `null`: the project has no user",
    }),
  ),
  without_admin: Type.Boolean({
    description: "Whether it is a team none of whose admins can sign in: make another member admin",
  }),
  ...answerFields(accountFields),
});
const ProjectWithMoney = Type.Intersect([
  ProjectObject,
  Type.Object({
    wallet: Type.Object({ balance_usd: Usd, held_usd: Usd }),
    budget: nullable(
      Type.Object({
        budget_usd: Usd,
        budget_period: Period,
        used_usd: Usd,
        resets_at: Type.String({ format: "date-time" }),
      }),
    ),
  }),
]);
const CreditObject = Type.Object({
  object: Type.Literal("organization.project.credit"),
  balance_usd: Usd,
  repeated: Type.Boolean({ description: "Whether this reference was already credited; nothing was added then" }),
});

/** The account that is a project. @throws {GatewayError} `not_found` */
export async function readProject({ accounts }: HttpDeps, id: string): Promise<Account> {
  const account = await accounts.find(id);
  // A path has an id, not an e-mail.
  if (account?.id === id) return account;
  throw new GatewayError("not_found", "No project has this id");
}

/** Accounts and teams; OpenAI calls each of them a project. */
export function projectsController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const answer = async (id: string) => toProjectWithMoney(deps, await readProject(deps, id));
  const route = adminRoutes(deps, api, { path: "/organization/projects", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { limit, after } = readPage(query);
        const includesDisabled = readFlag(query, "include_archived");
        const accounts = await listAccountsPage(store, { limit: limit + 1, after, includesDisabled });
        const orphans = await readTeamsWithoutAdmin(store, accounts);
        return toList(accounts, limit, (account) => toProject(deps, account, orphans));
      },
      {
        detail: describeRead("List projects: accounts and teams", listOf(ProjectObject), {
          query: {
            ...listParameters,
            include_archived: { description: "Include archived projects", schema: { type: "boolean" } },
          },
        }),
      },
    ),
    route.post(
      "",
      async ({ admin, body }) => {
        const { name, email } = body;
        return await answer(
          await createProject(
            store,
            { by: admin, name, email, changes: readProjectChanges(withModelIds(deps, body, admin.accountId)) },
            now,
          ),
        );
      },
      {
        body: NewProject,
        detail: describeWrite("Create a project", ProjectWithMoney, {
          description:
            "With an e-mail it is the account of a person; without, a team without members, which needs a name.",
        }),
      },
    ),
    route.get("/:project_id", ({ params }) => answer(params.project_id), {
      detail: describeRead("Retrieve a project with its wallet and budget", ProjectWithMoney),
    }),
    route.post(
      "/:project_id",
      async ({ admin, params, body }) => {
        const { id } = await readProject(deps, params.project_id);
        const isDisabled = body.status === undefined ? undefined : body.status === "archived";
        const { name, email, role } = body;
        const changed = readProjectChanges(withModelIds(deps, body, admin.accountId));
        const changes = { ...changed, name, email, role, isDisabled };
        await changeProject(store, { by: admin, accountId: id, changes }, now);
        return await answer(id);
      },
      { body: ProjectChange, detail: describeWrite("Modify a project; `null` removes what is set", ProjectWithMoney) },
    ),
    route.post(
      "/:project_id/archive",
      async ({ admin, params }) => {
        const { id } = await readProject(deps, params.project_id);
        await changeProject(store, { by: admin, accountId: id, changes: { isDisabled: true } }, now);
        return await answer(id);
      },
      { detail: describeWrite("Archive a project: its keys and people are refused", ProjectWithMoney) },
    ),
  ];
}

/** The money of projects. */
export function projectCreditsController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const route = adminRoutes(deps, api, { path: "/organization/projects", area: "accounts" });
  return [
    route.post(
      "/:project_id/credits",
      async ({ admin, params, body }) => {
        const { id: accountId } = await readProject(deps, params.project_id);
        const { note, reference } = body;
        const nanodollars = readCredit(body.usd);
        const { balanceNanodollars, repeated } = await createAudited(store, now)(
          (scope) => creditWallet(scope, { accountId, nanodollars, note, reference }, now),
          (credit) => {
            const entry = { accountId: admin.accountId, action: "account.credit", subject: accountId };
            return { ...entry, detail: { usd: formatUsd(nanodollars), note, repeated: credit.repeated } };
          },
        );
        return {
          object: "organization.project.credit" as const,
          balance_usd: formatUsd(balanceNanodollars),
          repeated,
        };
      },
      {
        body: Credit,
        detail: describeWrite("Add money to the wallet of a project", CreditObject, {
          description: "A `reference` is credited once, however often it is sent.",
        }),
      },
    ),
  ];
}

/** @throws {GatewayError} `invalid_request` */
export function readProjectChanges(body: Static<typeof NewProject> | Static<typeof ProjectChange>): ProjectChanges {
  const { budget_usd: usd, budget_period: period } = body;
  if (usd === undefined && period !== undefined) {
    throw invalid("budget_usd", "budget_period is set without budget_usd; send both");
  }
  return {
    ...toColumns<Account, typeof accountFields>(accountFields, body),
    budget: typeof usd === "string" ? { limitNanodollars: readBudget(usd), period: period ?? "month" } : usd,
  };
}

async function readTeamsWithoutAdmin(
  store: HttpDeps["store"],
  accounts: readonly Account[],
): Promise<ReadonlySet<string>> {
  const teams = await findTeamsWithoutAdmin(store, { accountIds: accounts.map(({ id }) => id) });
  return new Set(teams.map(({ id }) => id));
}

/** @param orphans The ids of teams without an admin. */
function toProject(deps: HttpDeps, account: Account, orphans: ReadonlySet<string>): Static<typeof ProjectObject> {
  return {
    id: account.id,
    object: "organization.project",
    name: account.name ?? accountLabel(account),
    created_at: toSeconds(account.createdAt),
    archived_at: toSecondsOrNull(account.disabledAt),
    status: account.disabledAt === undefined ? "active" : "archived",
    email: toRealEmail(account.email),
    verified: isVerified(account) ?? null,
    without_admin: orphans.has(account.id),
    ...toJson<Account, typeof accountFields>(accountFields, account),
    allowed_models: account.allowedModels?.map((id) => displayNameOf(deps, id)) ?? null,
  };
}

async function toProjectWithMoney(deps: HttpDeps, account: Account): Promise<Static<typeof ProjectWithMoney>> {
  const { store, ledger, now } = deps;
  const [wallet, budget, orphans] = await Promise.all([
    ledger.readWalletState(account.id),
    readAccountBudget(store, account.id, now()),
    readTeamsWithoutAdmin(store, [account]),
  ]);
  return {
    ...toProject(deps, account, orphans),
    wallet: toWalletJson(wallet),
    budget:
      budget === undefined
        ? null
        : {
            budget_usd: formatUsd(budget.limitNanodollars),
            budget_period: budget.period,
            used_usd: formatUsd(budget.spentNanodollars),
            resets_at: toIso(budget.resetsAt) as string,
          },
  };
}
