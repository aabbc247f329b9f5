import type { Role } from "../db/index.ts";

/** Person or key that makes a change. */
export interface Administrator {
  readonly accountId: string;
  readonly role: Role;
}

/** Commands run on the operator's machine. */
export const commandLine: Administrator = { accountId: "cli", role: "owner" };

/** The first call of a token (JWT), whose issuer the operator trusts with accounts by JWT_ISSUERS. */
export const tokenIssuer: Administrator = { accountId: "jwt", role: "owner" };

/** Whether an actor is a command, an admin key or a token, rather than a person. */
export function isProgram(actorId: string): boolean {
  return actorId === commandLine.accountId || actorId === tokenIssuer.accountId || adminKeyOf(actorId) !== undefined;
}

/** The identity provider, which the operator trusts with roles by OIDC_ROLE_CLAIM. */
export const identityProvider: Administrator = { accountId: "oidc", role: "owner" };

/** A file of the operator, which whoever may write to the machine has changed. */
export const operatorFile: Administrator = { accountId: "file", role: "owner" };

/** Prefix of admin keys as actors: `admin-key:<id>`. */
export const actorPrefix = "admin-key:";

/** The actor that an admin key is in the audit log: `admin-key:<id>`. */
export function toAdminKeyActor(keyId: string): string {
  return `${actorPrefix}${keyId}`;
}

/** The id of the admin key that an actor is; `undefined` for another actor. */
export function adminKeyOf(actorId: string): string | undefined {
  return actorId.startsWith(actorPrefix) && actorId.length > actorPrefix.length
    ? actorId.slice(actorPrefix.length)
    : undefined;
}
