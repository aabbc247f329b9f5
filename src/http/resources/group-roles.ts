import { Type } from "@sinclair/typebox";
import {
  changeGroupRole,
  checkGroupRole,
  createGroupRole,
  deleteGroupRole,
  eachAccount,
  groupRoleFields,
  listGroupRoles,
  type NewGroupRole,
  readGroupRole,
  type StoredGroupRole,
} from "../../tenants/index.ts";
import { defineResource } from "./resource.ts";

const changes = "The members of the group get the role at once.";

/** The roles that the groups of the identity provider give, in a team or in the gateway. */
export const groupRoles = defineResource<
  StoredGroupRole,
  typeof groupRoleFields,
  { object: "organization.group_role"; created_at: number }
>()({
  name: "group role",
  area: "accounts",
  idName: "group_role_id",
  fields: groupRoleFields,
  derived: { object: Type.Literal("organization.group_role"), created_at: Type.Integer() },
  verbs: ["list", "show", "create", "change", "remove"],
  deleted: "organization.group_role.deleted",
  mounts: [
    {
      path: "/organization/projects/:project_id/group_roles",
      owner: "project",
      lists: "The groups whose members belong to the project, by the name that the identity provider gives them.",
      creates:
        "Who joins the group becomes a member or an admin of the project, and who leaves it is removed, however they joined.",
      changes,
    },
    {
      path: "/organization/group_roles",
      owner: "gateway",
      lists: "The groups whose members have a role in the gateway.",
      creates: "Who leaves all such groups is a `member`. Only owners name a group whose members are owners.",
      changes,
    },
  ],
  document: {
    section: "group_roles",
    description: "Roles of the groups of the identity provider, in a team or, without an account, in the gateway",
    identity: ["group"],
    label: ({ group }) => String(group),
    each: "gateway",
    check: (columns, { by, owner, present }) => {
      if (present !== undefined) checkGroupRole(by, present);
      // A team that the document makes has an account as well.
      checkGroupRole(by, { ...columns, account_id: owner ?? "new" });
    },
  },
  commands: {
    group: "group-role",
    create: "--account search@teams.invalid --group search-developers --role member",
    change: "ID --role admin",
  },
  section: "own",
  eachOwner: eachAccount,
  ownerOf: ({ account_id }) => account_id,
  list: ({ store }, owners, page) => listGroupRoles(store, owners, page),
  read: ({ store }, owner, id) => readGroupRole(store, owner, id),
  create: ({ store, now }, by, accountId, columns) =>
    createGroupRole(store, { by, accountId, ...(columns as NewGroupRole) }, now()),
  change: ({ store, now }, by, { owner: accountId, id }, changed) =>
    changeGroupRole(store, { by, accountId, id, changes: changed }, now()),
  remove: ({ store, now }, by, { owner: accountId, id }) => deleteGroupRole(store, { by, accountId, id }, now()),
  derive: async () => (row) => ({
    object: "organization.group_role",
    created_at: Math.floor(row.created_at / 1000),
  }),
});
