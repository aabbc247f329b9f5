import { type Me, useMe } from "./session.ts";

export type Role = Me["role"];

/** From the most rights to the fewest. */
export const roleNames: readonly (readonly [Role, string])[] = [
  ["owner", "Owner"],
  ["admin", "Administrator"],
  ["viewer", "Viewer"],
  ["member", "Member"],
];

export const roleHints: Readonly<Record<Role, string>> = {
  owner: "Full access, including to owners and administrators",
  admin: "Full access, except to owners",
  viewer: "Read-only access to everything",
  member: "Access only to their own account",
};

export function toRoleName(role: Role): string {
  return roleNames.find(([name]) => name === role)?.[1] ?? role;
}

/** Whether the role sees the pages of administrators. */
export function maySeeAll(role: Role): boolean {
  return role !== "member";
}

/** Whether the role changes accounts and the like of the whole gateway. */
export function mayAdminister(role: Role): boolean {
  return role === "owner" || role === "admin";
}

/** Whether the user may change anything but their own sign-in; viewers may not. */
export function useMayChange(): boolean {
  const { data: me } = useMe();
  return me !== undefined && me.role !== "viewer";
}

/** Whether the user changes accounts, providers and the like of the whole gateway. */
export function useMayAdminister(): boolean {
  const { data: me } = useMe();
  return me !== undefined && mayAdminister(me.role);
}
