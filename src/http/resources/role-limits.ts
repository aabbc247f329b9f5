import { Type } from "@sinclair/typebox";
import {
  accountRoles,
  changeRoleLimits,
  checkRoleLimits,
  eachAccount,
  listRoleLimits,
  readRoleLimitsOf,
  roleLimitFields,
  type StoredRoleLimits,
} from "../../tenants/index.ts";
import { defineResource, pageOf } from "./resource.ts";

/**
 * Limits of accounts by the role of their holder. They apply where an account has no limits of its own. There is an
 * entry for each role.
 */
export const roleLimits = defineResource<
  StoredRoleLimits,
  typeof roleLimitFields,
  { object: "organization.role_limit" }
>()({
  name: "role limit",
  area: "accounts",
  idName: "role",
  fields: roleLimitFields,
  verbs: ["list", "show", "change"],
  derived: { object: Type.Literal("organization.role_limit") },
  mounts: [
    {
      path: "/organization/role_limits",
      owner: "gateway",
      lists: "For projects without their own limits. `null`: the configured limit.",
      changes: "`null` restores the configured limit. Only owners can change the limits of owners.",
    },
  ],
  document: {
    section: "role_limits",
    description: "Limits of accounts without their own limits, by the role of their holder",
    identity: ["role"],
    label: ({ role }) => String(role),
    check: (changes, { by, present }) => present && checkRoleLimits(by, present.role, changes),
  },
  commands: {
    group: "role",
    verbs: ["list", "show", "change"],
    change: "member --requests-per-minute 60 --free-tokens-per-day 100000",
    changeName: "set",
    id: { name: "ROLE", choices: accountRoles },
  },
  section: {
    title: "Limits by role",
    page: "budgets",
    about: "For accounts without their own limits. The default is the gateway’s.",
    entry: "the limits of {}",
    form: "They apply at once to all accounts of the role without their own limits.",
    submit: "Set limits",
    saved: "The limits are set",
    none: "Default",
    ofOwners: { role: "owner" },
  },
  eachOwner: eachAccount,
  ownerOf: () => eachAccount,
  list: async ({ store }, _, page) => pageOf(await listRoleLimits(store), page),
  read: ({ store }, _, role) => readRoleLimitsOf(store, role),
  change: ({ store, now }, by, { id: role }, changes) => changeRoleLimits(store, { by, role, changes }, now()),
  derive: async () => () => ({ object: "organization.role_limit" }),
});
