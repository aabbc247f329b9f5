/** Areas that an admin key may read, or read and write. */
export const adminKeyAreas = [
  "accounts",
  "keys",
  "providers",
  "catalogue",
  "alerts",
  "usage",
  "audit",
  "scim",
] as const;
export type AdminKeyArea = (typeof adminKeyAreas)[number];

/** A right of an admin key: to write includes to read, and `all` is all that there is, also later. */
export type AdminScope = "all" | `${AdminKeyArea}:${"read" | "write"}`;

export const adminScopes: readonly AdminScope[] = [
  "all",
  ...adminKeyAreas.flatMap((area) => [`${area}:read`, `${area}:write`] as const),
];

/** Scopes that give access to money or roles; only owners may grant them. */
export const scopesOfOwners: ReadonlySet<AdminScope> = new Set(["all", "accounts:write", "keys:write", "scim:write"]);

/** Whether scopes hold a right. */
export function hasScope(scopes: readonly AdminScope[], area: AdminKeyArea, access: "read" | "write"): boolean {
  if (scopes.includes("all") || scopes.includes(`${area}:write`)) return true;
  return access === "read" && scopes.includes(`${area}:read`);
}
