import { type Static, Type } from "@sinclair/typebox";
import { shapeChecker } from "../lib/check-shape.ts";

/**
 * The claims of an ID token or an access token, which an issuer wrote, signed or not. They are validated by one schema
 * before any decision depends on them, for sign-ins and for calls alike.
 */
const StandardClaims = Type.Object({
  sub: Type.String({ minLength: 1, maxLength: 300 }),
  exp: Type.Optional(Type.Number()),
  nbf: Type.Optional(Type.Number()),
  iat: Type.Optional(Type.Number()),
});

/** Claims that fit the schema; all others are unknown until they are read. */
export type CheckedClaims = Static<typeof StandardClaims> & Readonly<Record<string, unknown>>;

const findShapeError = shapeChecker(StandardClaims);

/** Checks the claims that everything depends on. @param refuse Makes the error of `its claim sub is 7, expected string`. */
export function checkClaims(claims: unknown, refuse: (problem: string) => Error): asserts claims is CheckedClaims {
  const error = findShapeError(claims);
  if (error !== undefined) throw refuse(`its claim ${error.path.slice(1)} is malformed: ${error.reason}`);
}

/**
 * Whether claims say that an e-mail is verified; `undefined` if no claim says. Some issuers write it as text.
 *
 * @param claim The claim that has the e-mail. Its verification is in the claim `…_verified`, such as `email_verified`.
 */
export function readEmailVerified(claims: Readonly<Record<string, unknown>>, claim = "email"): boolean | undefined {
  const value = readClaim(claims, `${claim}_verified`);
  if (value === undefined) return undefined;
  return value === true || (typeof value === "string" && value.toLowerCase() === "true");
}

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
