import { type Static, Type } from "@sinclair/typebox";
import { DisplayName, formatUsd, GatewayError } from "../../contract/index.ts";
import { listTeams, type SessionUser, sessionActions } from "../../identity/index.ts";
import { readBudget, toJson } from "../../lib/fields.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import {
  budgetFields,
  labelsOf,
  listBudgets,
  listPeople,
  listTeamInvitations,
  mayAdminister,
  type Person,
  readAccountBudget,
  readTeamInvitation,
  type SpentOwnBudget,
  type TeamAdministrator,
  teamActions,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { Period } from "../forms/read-fields.ts";
import { toIso } from "../forms/serializers.ts";
import { withAdminSession, withOwnSession, withSession, withTeamSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";
import { deriveBudgets } from "../resources/budgets.ts";
import { createLinkMail } from "./link-mail.ts";

const TeamRole = Type.Union([Type.Literal("admin"), Type.Literal("member")]);
const Invitation = formBody({
  role: TeamRole,
  email: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
  days: Type.Optional(Type.Integer({ minimum: 1, maximum: 30 })),
});
/** `mail=send` sends the link to the e-mail of the invitation too. */
const Sending = Type.Object({ mail: Type.Optional(Type.Literal("send")) });
const Name = formBody({ name: DisplayName });
const RoleChange = formBody({ role: TeamRole });
const Removal = Type.Object({ keys: Type.Optional(Type.Literal("revoke")) });
const Switch = formBody({ account: Type.String({ minLength: 1, maxLength: 100 }) });
const Join = formBody({ token: Type.String({ minLength: 1, maxLength: 100 }) });

const Budget = formBody({
  budget_usd: Type.Union([Type.String({ minLength: 1, maxLength: 30 }), Type.Null()]),
  budget_period: Period,
});

const changesPerMinuteMax = 60;
/** More are a list for a program. */
const budgetsShown = 100;

/** An administrator with the user whose name invitation mails are sent in. */
type Inviter = TeamAdministrator & { readonly user: SessionUser };

/** Handlers of team admins for their own team, and of administrators of the gateway for any. */
function createTeamHandlers(deps: HttpDeps) {
  const { store, now } = deps;
  const mail = createLinkMail(deps);
  const changes = new RateLimiter(changesPerMinuteMax, now, { what: "changes of teams" });
  const actions = teamActions(store, now);
  return {
    read: async (by: SessionUser, accountId: string, isAdmin: boolean) => {
      const invitations = isAdmin ? await listTeamInvitations(store, accountId, now()) : [];
      const emails = await labelsOf(
        store,
        invitations.map(({ createdBy }) => createdBy),
      );
      const budget = await readAccountBudget(store, accountId, now());
      const budgets = await listBudgets(store, [accountId], { limit: budgetsShown });
      const toDerived = await deriveBudgets(deps, budgets);
      return {
        budgets: budgets.map((one) => ({ id: one.id, ...toJson(budgetFields, one), ...toDerived(one) })),
        budget: budget === undefined ? null : toOwnBudgetJson(budget),
        can_mail: isAdmin && (await mail.mayInvite(by)),
        people: (await listPeople(store, accountId)).map(toPersonJson),
        invitations: invitations.map(({ id, role, email, createdBy, expiresAt }) => ({
          id,
          role,
          email: email ?? null,
          created_by: emails.get(createdBy) ?? null,
          expires_at: toIso(expiresAt),
        })),
      };
    },
    invite: async (
      by: Inviter,
      accountId: string,
      { role, email, days, isMailed }: Static<typeof Invitation> & { isMailed: boolean },
    ) => {
      changes.take(by.accountId);
      if (isMailed) {
        if (email === undefined) throw new GatewayError("invalid_request", "email is missing", { param: "email" });
        await mail.expectInvitation(by.user);
      }
      const { id, token, expiresAt } = await actions.invite(by, { accountId, role, email, days });
      const json = { id, token, expires_at: new Date(expiresAt).toISOString() };
      if (email === undefined || !isMailed) return { ...json, mail_error: null };
      const { team } = await readTeamInvitation(store, token, now());
      const error = await mail.send(by.user, { kind: "team", to: email.trim(), token, expiresAt, team });
      return { ...json, mail_error: error ?? null };
    },
    rename: async (by: TeamAdministrator, accountId: string, text: string) => {
      changes.take(by.accountId);
      return { id: accountId, name: (await actions.rename(by, accountId, text)).name };
    },
    deleteInvitation: async (by: TeamAdministrator, accountId: string, id: string) => {
      changes.take(by.accountId);
      await actions.deleteInvitation(by, accountId, id);
      return { id };
    },
    setBudget: async (
      by: TeamAdministrator,
      accountId: string,
      { budget_usd: usd, budget_period }: Static<typeof Budget>,
    ) => {
      changes.take(by.accountId);
      const budget = usd === null ? undefined : { limitNanodollars: readBudget(usd), period: budget_period };
      await actions.setBudget(by, accountId, budget);
      return { budget_usd: usd };
    },
    setRole: async (by: TeamAdministrator, accountId: string, change: { id: string } & Static<typeof RoleChange>) => {
      changes.take(by.accountId);
      const { id, role } = change;
      await actions.setRole(by, { accountId, personId: id, role });
      return { id, role };
    },
    remove: async (
      by: TeamAdministrator,
      accountId: string,
      { id, keys }: { id: string; keys: "revoke" | undefined },
    ) => {
      changes.take(by.accountId);
      await actions.remove(by, { accountId, personId: id, revokesKeys: keys === "revoke" });
      return { id };
    },
  };
}

/** The team of the session's account: its members and invitations. All members may see them. */
export function teamController(deps: HttpDeps) {
  const team = createTeamHandlers(deps);
  const toInviter = (user: SessionUser): Inviter => {
    return { accountId: user.ownAccountId, role: user.role, isOperator: false, user };
  };
  const route = withTeamSession(deps, "/team");
  return [
    route.get("", ({ user }) => team.read(user, user.accountId, user.teamRole === "admin" && user.role !== "viewer")),
    route.post(
      "/invitations",
      ({ user, body, query: { mail } }) =>
        team.invite(toInviter(user), user.accountId, { ...body, isMailed: mail === "send" }),
      { body: Invitation, query: Sending },
    ),
    route.patch("", ({ user, body: { name } }) => team.rename(toInviter(user), user.accountId, name), { body: Name }),
    route.put("/budget", ({ user, body }) => team.setBudget(toInviter(user), user.accountId, body), { body: Budget }),
    route.delete("/invitations/:id", ({ user, params: { id } }) =>
      team.deleteInvitation(toInviter(user), user.accountId, id),
    ),
    route.patch(
      "/people/:id",
      ({ user, params: { id }, body: { role } }) => team.setRole(toInviter(user), user.accountId, { id, role }),
      { body: RoleChange },
    ),
    route.delete(
      "/people/:id",
      ({ user, params: { id }, query: { keys } }) => team.remove(toInviter(user), user.accountId, { id, keys }),
      { query: Removal },
    ),
  ];
}

/** The team of any account, for administrators. */
export function adminTeamController(deps: HttpDeps) {
  const team = createTeamHandlers(deps);
  const toInviter = (user: SessionUser): Inviter => {
    return { accountId: user.accountId, role: user.role, isOperator: true, user };
  };
  const route = withAdminSession(deps, "/admin/accounts/:id/team");
  return [
    route.get("", ({ admin, params: { id } }) => team.read(admin, id, true)),
    route.post(
      "/invitations",
      ({ admin, params: { id }, body, query: { mail } }) =>
        team.invite(toInviter(admin), id, { ...body, isMailed: mail === "send" }),
      { body: Invitation, query: Sending },
    ),
    route.delete("/invitations/:invitation", ({ admin, params: { id, invitation } }) =>
      team.deleteInvitation(toInviter(admin), id, invitation),
    ),
    route.patch(
      "/people/:person",
      ({ admin, params: { id, person }, body: { role } }) => team.setRole(toInviter(admin), id, { id: person, role }),
      { body: RoleChange },
    ),
    route.delete(
      "/people/:person",
      ({ admin, params: { id, person }, query: { keys } }) => team.remove(toInviter(admin), id, { id: person, keys }),
      { query: Removal },
    ),
  ];
}

/** The accounts of the user: list them and switch, and create, join or leave a team. */
export function teamsController(deps: HttpDeps) {
  const { store, now, config } = deps;
  /** A team is an account, and this is who may create accounts. */
  const mayCreate = ({ role }: SessionUser) => mayAdminister(role) || (role === "member" && config.signUp === "open");
  const changes = new RateLimiter(changesPerMinuteMax, now, { what: "changes of teams" });
  const actions = teamActions(store, now);
  const ofSession = sessionActions(store, now);
  const own = withOwnSession(deps, "/teams");
  const joining = withSession(deps, "/teams");
  return [
    own.get("", async ({ user }) => ({
      data: (await listTeams(store, user.userId)).map(({ accountId, email, name, teamRole, isOwn }) => ({
        account: accountId,
        email,
        name: name ?? null,
        team_role: teamRole,
        is_own: isOwn,
        is_current: accountId === user.accountId,
      })),
      can_create: mayCreate(user),
    })),
    own.post(
      "/switch",
      async ({ user, body: { account } }) => {
        changes.take(user.userId);
        await ofSession.switch(user, account);
        return { account };
      },
      { body: Switch },
    ),
    joining.post(
      "/join",
      async ({ user, body: { token } }) => {
        changes.take(user.userId);
        return { account: (await ofSession.join(user, token)).accountId };
      },
      { body: Join },
    ),
    joining.post(
      "",
      async ({ user, body: { name } }) => {
        if (!mayCreate(user)) {
          throw new GatewayError("forbidden", "Only administrators create teams here; ask one of them (SIGNUP=closed)");
        }
        changes.take(user.userId);
        const by = { accountId: user.ownAccountId, role: user.role, isOperator: false };
        return { account: (await actions.create(by, name)).accountId };
      },
      { body: Name },
    ),
    joining.post("/leave", async ({ user: { userId, ownAccountId, accountId, role } }) => {
      changes.take(userId);
      const by = { accountId: ownAccountId, role, isOperator: false };
      await actions.remove(by, { accountId, personId: ownAccountId, revokesKeys: false });
      return { account: accountId };
    }),
  ];
}

function toOwnBudgetJson({ limitNanodollars, period, spentNanodollars, resetsAt }: SpentOwnBudget) {
  const amounts = { usd: formatUsd(limitNanodollars), used_usd: formatUsd(spentNanodollars) };
  return { ...amounts, period, resets_at: new Date(resetsAt).toISOString() };
}

function toPersonJson({ id, email, name, teamRole, isHolder, role, joinedAt, isDisabled }: Person) {
  const team = { team_role: teamRole, is_holder: isHolder, joined_at: toIso(joinedAt) };
  return { id, email, name: name ?? null, ...team, role, disabled: isDisabled };
}
