import { type Static, Type } from "@sinclair/typebox";
import { createAudited } from "../../audit/index.ts";
import { getPublicOrigin } from "../../config/index.ts";
import { accountLabel, GatewayError, nullable } from "../../contract/index.ts";
import {
  accountActions,
  addToTeam,
  deleteInvitation,
  inviteUser,
  type KeyElsewhere,
  listInvitationsPage,
  listKeysElsewhere,
  listPeople,
  listUsersPage,
  type OpenInvitation,
  type Person,
  readInvitation,
  readUserOf,
  teamActions,
  type User,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { Email } from "../forms/read-fields.ts";
import { parseUrl } from "../lifecycle/origin.ts";
import { formBody } from "../lifecycle/validate.ts";
import { type AdminApi, adminRoutes, describeDelete, describeRead, describeWrite } from "./guard.ts";
import { invalid, listOf, listParameters, pickPage, readAll, readFlag, readPage, toList, toSeconds } from "./lists.ts";
import { readProject } from "./projects.ts";

/** Roles of the gateway, and OpenAI's name of the least. */
const Role = Type.Union(["owner", "admin", "viewer", "member", "reader"].map((role) => Type.Literal(role)));
/** Roles in a project: OpenAI's `owner` is an admin of the team. */
const ProjectRole = Type.Union(["owner", "member"].map((role) => Type.Literal(role)));
const Id = Type.String({ minLength: 1, maxLength: 100 });
const UserChange = formBody({ role: Role });
const NewInvite = formBody({
  email: Email,
  role: Role,
  projects: Type.Optional(Type.Array(Type.Object({ id: Id, role: ProjectRole }), { maxItems: 50 })),
});
const NewProjectUser = formBody({
  role: ProjectRole,
  user_id: Type.Optional(nullable(Id)),
  email: Type.Optional(nullable(Email)),
});
const ProjectUserChange = formBody({ role: ProjectRole });

const UserObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.user"),
  email: Type.String(),
  name: nullable(Type.String()),
  role: Role,
  verified: Type.Boolean({
    description: "`false`: someone signed up with this e-mail without verifying it",
  }),
  added_at: Type.Integer(),
  disabled: Type.Boolean(),
});
const ProjectUserObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.project.user"),
  email: Type.String(),
  name: nullable(Type.String()),
  role: ProjectRole,
  verified: Type.Boolean({
    description: "`false`: they signed up with this e-mail without verifying it",
  }),
  added_at: Type.Integer(),
});
const InviteObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.invite"),
  email: Type.String(),
  role: Role,
  status: Type.Union([Type.Literal("pending"), Type.Literal("expired")]),
  created_at: Type.Integer(),
  expires_at: Type.Integer(),
  accepted_at: Type.Null(),
  projects: Type.Array(Type.Object({ id: Type.String(), role: ProjectRole })),
});
const InviteWithLink = Type.Intersect([
  InviteObject,
  Type.Object({ url: Type.String({ description: "The link for the person, which is shown only here" }) }),
]);

const EndedSessions = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.user.sessions.deleted"),
  deleted: Type.Boolean(),
  sessions: Type.Integer({ description: "Sessions that ended" }),
});

const EndedUser = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.user.deleted"),
  deleted: Type.Boolean(),
  sessions: Type.Integer({ description: "Sessions that ended" }),
  programs: Type.Integer({ description: "Programs that were signed out" }),
  invitations: Type.Integer({ description: "Invitations that ended, theirs and those that they made" }),
  revoked_keys: Type.Integer({ description: "Keys that they made in other projects and that were revoked" }),
});
const KeyElsewhereObject = Type.Object({
  id: Type.String(),
  object: Type.Literal("organization.user.api_key"),
  name: Type.String(),
  created_at: Type.Integer(),
  project: Type.Object({ id: Type.String(), name: Type.String() }),
});

/** People who sign in. */
export function usersController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const actions = accountActions(createAudited(store, now), now);
  const route = adminRoutes(deps, api, { path: "/organization/users", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const query = parseUrl(request).searchParams;
        const { limit, after } = readPage(query);
        const emails = readAll(query, "emails");
        return toList(await listUsersPage(store, { limit: limit + 1, after, emails }), limit, toUser);
      },
      {
        detail: describeRead("List the users", listOf(UserObject), {
          query: {
            ...listParameters,
            emails: {
              description: "Only users with these e-mails",
              schema: { type: "array", items: { type: "string" } },
            },
          },
        }),
      },
    ),
    route.get("/:user_id", async ({ params: { user_id: id } }) => toUser(await readUserOf(store, id)), {
      detail: describeRead("Retrieve a user", UserObject),
    }),
    route.post(
      "/:user_id",
      async ({ admin, params: { user_id: id }, body }) => {
        await readUserOf(store, id);
        await actions.changeAccount(admin, id, { role: toRole(body.role) });
        return toUser(await readUserOf(store, id));
      },
      { body: UserChange, detail: describeWrite("Give a user another role in the gateway", UserObject) },
    ),
    route.delete(
      "/:user_id",
      async ({ admin, request, params: { user_id: id } }) => {
        const revokes = readFlag(parseUrl(request).searchParams, "revoke_keys");
        await readUserOf(store, id);
        const ended = await actions.setDisabled(admin, id, true, revokes ? "revoke" : "keep");
        const { sessions = 0, programs = 0, invitations = 0, keys = 0 } = ended ?? {};
        const counts = { sessions, programs, invitations, revoked_keys: keys };
        return { id, object: "organization.user.deleted", deleted: true, ...counts };
      },
      {
        detail: describeWrite("Disable a user with their own account and its keys", EndedUser, {
          description:
            "Their sessions, programs and invitations end. Their calls stay in the ledger, so the account stays too, as an " +
            "archived project.",
          query: {
            revoke_keys: {
              description: "`true`: revoke the keys that they made in other projects too",
              schema: { type: "boolean", default: false },
            },
          },
        }),
      },
    ),
    route.get(
      "/:user_id/api_keys",
      async ({ request, params: { user_id: personId } }) => {
        await readUserOf(store, personId);
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const keys = await listKeysElsewhere(store, { personId, limit: limit + 1, after }, now());
        return toList(keys, limit, toKeyElsewhere);
      },
      {
        detail: describeRead("List the usable keys that a user made in other projects", listOf(KeyElsewhereObject), {
          description: "Also those whose secret they were given by the latest rotation.",
          query: listParameters,
        }),
      },
    ),
    route.delete(
      "/:user_id/sessions",
      async ({ admin, params: { user_id: id } }) => {
        await readUserOf(store, id);
        const ended = await actions.endSessions(admin, id);
        return { id, object: "organization.user.sessions.deleted", deleted: true, sessions: ended };
      },
      { detail: describeWrite("Sign a user out everywhere; API keys stay", EndedSessions) },
    ),
  ];
}

/** Invitations of people who have not set a password yet. */
export function invitesController(deps: HttpDeps, api: AdminApi) {
  const { store, now, config } = deps;
  const answer = async (id: string) => toInvite(await readInvitation(store, id, now()));
  const route = adminRoutes(deps, api, { path: "/organization/invites", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request }) => {
        const { limit, after } = readPage(parseUrl(request).searchParams);
        const page = { limit: limit + 1, after: after && toAccountId(after) };
        return toList(await listInvitationsPage(store, page, now()), limit, toInvite);
      },
      { detail: describeRead("List pending invitations", listOf(InviteObject), { query: listParameters }) },
    ),
    route.post(
      "",
      async ({ admin, body }) => {
        const projects = body.projects ?? [];
        for (const { id } of projects) await readProject(deps, id);
        const teams = projects.map(({ id, role }) => ({ accountId: id, role: toTeamRole(role) }));
        const user = { email: body.email, role: toRole(body.role), teams };
        const { accountId, token } = await inviteUser(store, { by: admin, user }, now);
        const url = `${getPublicOrigin(config, config.port)}/#invitation=${token}`;
        return { ...(await answer(accountId)), projects, url };
      },
      {
        body: NewInvite,
        detail: describeWrite("Invite a person; `url` is the link to give them, and shown only here", InviteWithLink, {
          description:
            "If someone signed up with this e-mail without verifying it, the account is taken back from them at once, and " +
            "everything they created in it ends.",
        }),
      },
    ),
    route.get("/:invite_id", ({ params }) => answer(toAccountId(params.invite_id)), {
      detail: describeRead("Retrieve an invitation", InviteObject),
    }),
    route.delete(
      "/:invite_id",
      async ({ admin, params: { invite_id: id } }) => {
        const { accountId } = await readInvitation(store, toAccountId(id), now());
        await deleteInvitation(store, { by: admin, accountId }, now);
        return { id, object: "organization.invite.deleted", deleted: true };
      },
      { detail: describeDelete("Delete an invitation; its link stops working", "organization.invite.deleted") },
    ),
  ];
}

/** The people of a project: the holder of the account and the members of the team. */
export function projectUsersController(deps: HttpDeps, api: AdminApi) {
  const { store, now } = deps;
  const actions = teamActions(store, now);
  const readPerson = async (accountId: string, id: string) => {
    const { createdAt } = await readProject(deps, accountId);
    const person = (await listPeople(store, accountId)).find((one) => one.id === id);
    if (person === undefined) throw new GatewayError("not_found", "No member of the project has this id");
    return toProjectUser(person, createdAt);
  };
  const route = adminRoutes(deps, api, { path: "/organization/projects/:project_id/users", area: "accounts" });
  return [
    route.get(
      "",
      async ({ request, params }) => {
        const { id, createdAt } = await readProject(deps, params.project_id);
        const query = parseUrl(request).searchParams;
        const page = pickPage(await listPeople(store, id), query, (person) => person.id);
        return toList(page, readPage(query).limit, (person) => toProjectUser(person, createdAt));
      },
      { detail: describeRead("List the people of a project", listOf(ProjectUserObject), { query: listParameters }) },
    ),
    route.post(
      "",
      async ({ admin, params, body }) => {
        const { id: accountId } = await readProject(deps, params.project_id);
        const { user_id: id, email } = body;
        if ((id == null) === (email == null)) throw invalid("user_id", "Send either user_id or email");
        const personId = id ?? (await deps.accounts.findRecipient(email as string))?.id ?? "";
        await addToTeam(store, { by: admin, accountId, personId, role: toTeamRole(body.role) }, now);
        return await readPerson(accountId, personId);
      },
      {
        body: NewProjectUser,
        detail: describeWrite("Add a user to a project", ProjectUserObject, {
          description:
            "A user with an unverified e-mail is a `conflict`: invite them to the " +
            "project instead, which takes the account back from a stranger.",
        }),
      },
    ),
    route.get("/:user_id", ({ params }) => readPerson(params.project_id, params.user_id), {
      detail: describeRead("Retrieve a person of a project", ProjectUserObject),
    }),
    route.post(
      "/:user_id",
      async ({ admin, params: { project_id: accountId, user_id: personId }, body }) => {
        await readProject(deps, accountId);
        const by = { ...admin, isOperator: true };
        await actions.setRole(by, { accountId, personId, role: toTeamRole(body.role) });
        return await readPerson(accountId, personId);
      },
      {
        body: ProjectUserChange,
        detail: describeWrite("Give a person of a project another role in it", ProjectUserObject),
      },
    ),
    route.delete(
      "/:user_id",
      async ({ admin, params: { project_id: accountId, user_id: personId } }) => {
        await readProject(deps, accountId);
        await actions.remove({ ...admin, isOperator: true }, { accountId, personId, revokesKeys: false });
        return { id: personId, object: "organization.project.user.deleted", deleted: true };
      },
      {
        detail: describeDelete("Remove a person from a project; their keys stay", "organization.project.user.deleted"),
      },
    ),
  ];
}

function toRole(role: Static<typeof Role>): User["role"] {
  return (role === "reader" ? "member" : role) as User["role"];
}

function toTeamRole(role: Static<typeof ProjectRole>): Person["teamRole"] {
  return role === "owner" ? "admin" : "member";
}

function toUser({ id, email, name, role, isVerified, createdAt, isDisabled }: User): Static<typeof UserObject> {
  const state = { verified: isVerified, added_at: toSeconds(createdAt), disabled: isDisabled };
  return { id, object: "organization.user", email, name: name ?? null, role, ...state };
}

function toKeyElsewhere({ id, name, createdAt, account }: KeyElsewhere): Static<typeof KeyElsewhereObject> {
  const project = { id: account.id, name: accountLabel(account) };
  return { id, object: "organization.user.api_key", name, created_at: toSeconds(createdAt), project };
}

/** The holder has been there since the account was made. */
function toProjectUser(person: Person, createdAt: number): Static<typeof ProjectUserObject> {
  return {
    id: person.id,
    object: "organization.project.user",
    email: person.email,
    name: person.name ?? null,
    role: person.teamRole === "admin" ? "owner" : "member",
    verified: person.isVerified,
    added_at: toSeconds(person.joinedAt ?? createdAt),
  };
}

/** An account has one invitation at most, which is known by it. */
function toInvite(invitation: OpenInvitation): Static<typeof InviteObject> {
  return {
    id: `invite_${invitation.accountId}`,
    object: "organization.invite",
    email: invitation.email,
    role: invitation.role ?? "member",
    status: invitation.isGood ? "pending" : "expired",
    created_at: toSeconds(invitation.createdAt),
    expires_at: toSeconds(invitation.expiresAt),
    accepted_at: null,
    projects: [],
  };
}

function toAccountId(inviteId: string): string {
  return inviteId.replace(/^invite_/, "");
}
