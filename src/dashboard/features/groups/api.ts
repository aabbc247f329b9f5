import useSWR, { mutate } from "swr";
import { api, organization, request, slowRefresh } from "../../data/api.ts";

const getGroups = () => request(api.admin.groups.get());

/** A group of the identity provider, with the role of its people in a team or in the gateway. */
export type GroupRole = Awaited<ReturnType<typeof getGroups>>["data"][number];

export function useGroups() {
  return useSWR(["group role"], getGroups, slowRefresh);
}

const rolesOf = (team: string | null) =>
  team === null ? organization.group_roles : organization.projects({ project_id: team }).group_roles;

export async function removeGroupRole({ id, team }: GroupRole): Promise<void> {
  await request(rolesOf(team?.id ?? null)({ group_role_id: id }).delete());
  await mutate(["group role"]);
}
