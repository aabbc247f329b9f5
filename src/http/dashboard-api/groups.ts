import { eachAccount, groupRolesMax, listGroupRoles, listPushedGroups, namesOf } from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { withAdminSession } from "../lifecycle/session.ts";

/** Groups of the identity provider that are named. */
const groupsMax = 1000;

/** GET /admin/groups: the roles of groups in all teams and in the gateway, and the groups that the identity provider pushed. */
export function groupsController(deps: HttpDeps) {
  const { store } = deps;
  const route = withAdminSession(deps, "/admin");
  return [
    route.get("/groups", async () => {
      const [rows, pushed] = await Promise.all([
        listGroupRoles(store, undefined, { limit: groupRolesMax }),
        listPushedGroups(store, groupsMax),
      ]);
      const owners = await namesOf(store, [...new Set(rows.map(({ account_id: account }) => account))]);
      const members = new Map(pushed.map((group) => [group.nameKey, group.members]));
      const inUse = new Set(rows.map(({ name_key: key }) => key));
      return {
        data: rows.map(({ id, account_id: account, group_name: group, name_key: key, role, leavers_keys: keys }) => ({
          id,
          group,
          role,
          leavers_keys: keys,
          /** `null`: a role in the gateway. */
          team: account === eachAccount ? null : { id: account, label: owners.get(account)?.label ?? account },
          /** `null`: the identity provider has not pushed a group of this name. */
          members: members.get(key) ?? null,
        })),
        /** Groups that give no role. */
        unused: pushed.filter(({ nameKey }) => !inUse.has(nameKey)).map(({ name, members }) => ({ name, members })),
      };
    }),
  ];
}
