import { type Static, Type } from "@sinclair/typebox";
import { optional } from "../../../contract/index.ts";
import { accountRoles, changeRoleLimits, checkRoleLimits, listRoleLimits } from "../../../tenants/index.ts";
import { limitFields, readLimits } from "../../forms/read-fields.ts";
import { toLimitsJson } from "../../forms/serializers.ts";

import { closed, planEntries } from "./plan-entries.ts";
import { defineSection, type FieldChanges } from "./section.ts";

const RoleLimitEntry = Type.Object(
  {
    role: Type.Union(
      accountRoles.map((role) => Type.Literal(role)),
      {
        description: "`none`: accounts that nobody signs in to, such as those of teams",
      },
    ),
    ...limitFields,
    free_tokens_per_day: optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  },
  closed,
);
type RoleLimitEntry = Static<typeof RoleLimitEntry>;

/** Limits of accounts by the role of their holder. Each role is there, and limits that an entry leaves out stay. */
export const roleLimits = defineSection({
  schema: Type.Array(RoleLimitEntry, {
    maxItems: accountRoles.length,
    description: "Of accounts that have none of their own, by the role of their holder",
  }),
  area: "accounts",
  read: async ({ store }) => (await listRoleLimits(store)).map(toEntry),
  async plan({ deps: { store, now }, admin: by }, entries) {
    if (entries.length === 0) return [];
    const present = new Map((await listRoleLimits(store)).map((limits) => [limits.role, toEntry(limits)]));
    const change = ({ role }: RoleLimitEntry, fields: FieldChanges) =>
      changeRoleLimits(store, { by, role, changes: toChanges(fields) }, now());
    return await planEntries<RoleLimitEntry & { status?: undefined }, ReturnType<typeof toEntry>>(entries, {
      section: "role_limits",
      label: ({ role }) => role,
      find: ({ role }) => present.get(role),
      toTarget: ({ role: _, ...target }) => target,
      toCurrent: (entry) => entry,
      check: ({ role }, _, fields) => checkRoleLimits(by, role, toChanges(fields)),
      create: change,
      change: (_, entry, fields) => change(entry, fields),
    });
  },
});

function toEntry({ role, ...limits }: Awaited<ReturnType<typeof listRoleLimits>>[number]) {
  return { role, ...toLimitsJson(limits), free_tokens_per_day: limits.freeTokensPerDay ?? null };
}

function toChanges(fields: FieldChanges) {
  const after = Object.fromEntries(Object.entries(fields).map(([name, change]) => [name, change.after]));
  const changed = after as Omit<Static<typeof RoleLimitEntry>, "role">;
  return { ...readLimits(changed), freeTokensPerDay: changed.free_tokens_per_day };
}
