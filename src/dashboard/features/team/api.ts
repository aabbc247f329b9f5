import useSWR, { mutate } from "swr";
import { api, organization, request, slowRefresh } from "../../data/api.ts";
import { forgetAccount } from "../../data/shown-account.ts";
import type { BudgetPeriod } from "../keys/api.ts";
import { endPlaygroundKey } from "../playground/playground-key.ts";

const getTeam = () => request(api.team.get());
const getTeams = () => request(api.teams.get());

export type Team = Awaited<ReturnType<typeof getTeam>>;
export type Person = Team["people"][number];
export type TeamInvitation = Team["invitations"][number];
export type TeamBudget = Team["budget"];
export type Budget = Team["budgets"][number];
export type TeamRole = Person["team_role"];

export const teamRoles: readonly (readonly [TeamRole, string])[] = [
  ["member", "Member"],
  ["admin", "Team admin"],
];

/** The accounts that the user can work in. */
export function useTeams() {
  return useSWR("teams", getTeams);
}

/**
 * Loads the team of an account, for administrators of the gateway; without an account, the team that the user is
 * working in.
 */
export function useTeam(account?: string) {
  return useSWR(
    ["team", account],
    () => (account === undefined ? getTeam() : request(adminTeam(account).get())),
    slowRefresh,
  );
}

const adminTeam = (id: string) => api.admin.accounts({ id }).team;

/** Changes the team, and then loads it anew. */
async function change<Result>(pending: Promise<Result>): Promise<Result> {
  const result = await pending;
  await mutate((key) => Array.isArray(key) && key[0] === "team");
  return result;
}

/** A link, which is shown only once. */
export interface Created {
  readonly url: string;
  readonly until: string;
  /** Where the link was sent, and why it could not be. */
  readonly mail: { readonly to: string; readonly error: string | null } | undefined;
}

export async function inviteToTeam(
  account: string | undefined,
  { role, email, days, isMailed }: { role: TeamRole; email: string; days: number; isMailed: boolean },
): Promise<Created> {
  const body = { role, days, ...(email !== "" && { email }) };
  const options = { query: isMailed ? ({ mail: "send" } as const) : {} };
  const post = () =>
    account === undefined
      ? request(api.team.invitations.post(body, options))
      : request(adminTeam(account).invitations.post(body, options));
  const { token, expires_at, mail_error: error } = await change(post());
  const mail = isMailed ? { to: email, error } : undefined;
  return { url: `${location.origin}/#team=${token}`, until: expires_at, mail };
}

/** Makes a link for setting the password of an account. */
export async function inviteHolder(id: string, email: string, isMailed: boolean): Promise<Created> {
  const options = { query: isMailed ? ({ mail: "send" } as const) : {} };
  const { token, expires_at, mail_error: error } = await request(api.admin.accounts({ id }).invite.post({}, options));
  const mail = isMailed ? { to: email, error } : undefined;
  return { url: `${location.origin}/#invitation=${token}`, until: expires_at, mail };
}

export function deleteTeamInvitation(account: string | undefined, id: string) {
  return change(
    account === undefined
      ? request(api.team.invitations({ id }).delete())
      : request(adminTeam(account).invitations({ invitation: id }).delete()),
  );
}

export function setTeamRole(account: string | undefined, id: string, role: TeamRole) {
  return change(
    account === undefined
      ? request(api.team.people({ id }).patch({ role }))
      : request(adminTeam(account).people({ person: id }).patch({ role })),
  );
}

export function removeFromTeam(account: string | undefined, id: string, revokesKeys: boolean) {
  const query = revokesKeys ? ({ keys: "revoke" } as const) : {};
  return change(
    account === undefined
      ? request(api.team.people({ id }).delete({}, { query }))
      : request(adminTeam(account).people({ person: id }).delete({}, { query })),
  );
}

/** Works in another account from now on. The page is loaded anew, as nothing that it knows is of that account. */
export async function switchAccount(account: string): Promise<void> {
  await endPlaygroundKey().catch(() => undefined);
  await request(api.teams.switch.post({ account }));
  forgetAccount();
  location.assign("/");
}

/** Creates a team and works in it from now on. */
export async function createTeam(name: string): Promise<void> {
  const { account } = await request(api.teams.post({ name }));
  await switchAccount(account);
}

/** Renames the team that the user is working in. */
export async function renameTeam(name: string): Promise<void> {
  await change(request(api.team.patch({ name })));
  await Promise.all([mutate("teams"), mutate("me")]);
}

/** Works again in the account that this tab shows, after another tab has switched. What is on the page stays. */
export async function switchBack(account: string): Promise<void> {
  await request(api.teams.switch.post({ account }));
  await mutate(() => true);
}

export async function leaveTeam(): Promise<void> {
  await endPlaygroundKey().catch(() => undefined);
  await request(api.teams.leave.post());
  forgetAccount();
  location.assign("/");
}

/** Takes an invitation and works in that team from now on. */
export async function joinTeam(token: string): Promise<void> {
  await endPlaygroundKey().catch(() => undefined);
  await request(api.teams.join.post({ token }));
  forgetAccount();
}

/** Reads the invitation behind a link. @throws {ApiError} For a link that cannot be used any more. */
export function readTeamInvitation(token: string) {
  return request(api.invitations.team.post({ token }));
}

/** Sets the budget that all keys of an account share; `null` removes it. */
export function setBudget(account: string | undefined, usd: string | null, period: BudgetPeriod) {
  const body = { budget_usd: usd, budget_period: period };
  return change<unknown>(
    account === undefined
      ? request(api.team.budget.put(body))
      : request(organization.projects({ project_id: account }).post(body)),
  );
}
