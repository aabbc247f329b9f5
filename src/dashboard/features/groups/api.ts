import useSWR, { mutate } from "swr";
import { api, organization, request, slowRefresh } from "../../data/api.ts";

const getGroups = () => request(api.admin.groups.get());

/** A group of the identity provider, with the role of its people in a team or in the gateway. */
export type GroupRole = Awaited<ReturnType<typeof getGroups>>["data"][number];

export function useGroups() {
  return useSWR("groups", getGroups, slowRefresh);
}

const rolesOf = (team: string | null) =>
  team === null ? organization.group_roles : organization.projects({ project_id: team }).group_roles;

/** Changes the table, and then loads it anew. */
async function change(pending: Promise<unknown>): Promise<void> {
  await pending;
  await mutate("groups");
}

export interface RoleOfGroup {
  readonly role: GroupRole["role"];
  /** `null`: the keys of people who leave the team are revoked. */
  readonly leavers_keys: "keep" | null;
}

/** @param team `null`: in the gateway. */
export function addGroupRole(team: string | null, row: RoleOfGroup & { readonly group: string }) {
  return change(request(rolesOf(team).post(row)));
}

export function changeGroupRole({ id, team }: GroupRole, row: RoleOfGroup) {
  return change(request(rolesOf(team?.id ?? null)({ group_role_id: id }).post(row)));
}

export function removeGroupRole({ id, team }: GroupRole) {
  return change(request(rolesOf(team?.id ?? null)({ group_role_id: id }).delete()));
}
