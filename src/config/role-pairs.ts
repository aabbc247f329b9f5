const pairPattern = /^.{1,500}=(owner|admin|viewer|member)$/su;

/**
 * Splits `gateway-admins=admin,auditors=viewer`. A value may have commas itself, as the names of a directory do:
 * `cn=admins,ou=gateway=admin`.
 *
 * @returns Each pair as it is written; `undefined` when a part has no role.
 */
export function parseRolePairs(text: string): readonly string[] | undefined {
  const pairs: string[] = [];
  let pending = "";
  for (const part of text.split(",")) {
    pending = pending === "" ? part.trim() : `${pending},${part}`;
    if (!pairPattern.test(pending)) continue;
    pairs.push(pending);
    pending = "";
  }
  return pending === "" && pairs.length > 0 ? pairs : undefined;
}
