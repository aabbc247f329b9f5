/**
 * Reads a claim by its name, or by a path with dots: `realm_access.roles`. Names may have dots themselves, as
 * `kubernetes.io.namespace` within Kubernetes' `kubernetes.io`.
 */
export function readClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let dot = name.indexOf("."); dot !== -1; dot = name.indexOf(".", dot + 1)) {
    const outer = Object.hasOwn(claims, name.slice(0, dot)) ? claims[name.slice(0, dot)] : undefined;
    if (typeof outer !== "object" || outer === null) continue;
    const value = readClaim(outer as Record<string, unknown>, name.slice(dot + 1));
    if (value !== undefined) return value;
  }
  return undefined;
}
