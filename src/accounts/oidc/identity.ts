import { jwtVerify } from "jose";
import { GatewayError } from "../../contract/index.ts";
import { type Issuer, issuerWaitMs } from "./issuer.ts";

/** Who an issuer says that somebody is. */
export interface Identity {
  /** The issuer's name for the person, which never changes. */
  readonly id: string;
  /** Lower case; absent when the issuer does not tell. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly name: string | undefined;
}

interface Tokens {
  readonly idToken?: string | undefined;
  readonly accessToken?: string | undefined;
}

/**
 * Reads an ID token, whose signature, issuer, audience and time are checked, and asks for what it leaves out. `undefined`
 * where the issuer sent none, or speaks of two people.
 *
 * @throws {GatewayError} `unavailable`, shown as `invalid_answer`, when what it sent does not hold or cannot be read.
 */
export async function readIdentity(tokens: Tokens, issuer: Issuer, clientId: string): Promise<Identity | undefined> {
  try {
    return await checkedIdentity(tokens, issuer, clientId);
  } catch (cause) {
    const sentence = "What the provider of identities says of a person does not hold, or cannot be read";
    throw new GatewayError("unavailable", sentence, { shownCode: "invalid_answer", cause });
  }
}

async function checkedIdentity(
  { idToken, accessToken }: Tokens,
  issuer: Issuer,
  clientId: string,
): Promise<Identity | undefined> {
  if (idToken === undefined) return undefined;
  const { payload } = await jwtVerify(idToken, issuer.keys, {
    issuer: issuer.id,
    audience: clientId,
    requiredClaims: ["sub", "exp"],
  });
  if (typeof payload.email === "string" || accessToken === undefined) return identityOf(payload);
  const response = await fetch(issuer.userInfoUrl, {
    headers: { authorization: `Bearer ${accessToken}` },
    signal: AbortSignal.timeout(issuerWaitMs),
  });
  if (!response.ok) return undefined;
  const told = (await response.json()) as Record<string, unknown>;
  return told.sub === payload.sub ? identityOf(told) : undefined;
}

function identityOf(claims: Record<string, unknown>): Identity {
  const { sub, email, email_verified, name } = claims;
  return {
    id: String(sub),
    email: typeof email === "string" ? email.trim().toLowerCase() : undefined,
    // Some send it as text.
    emailVerified: email_verified === true || email_verified === "true",
    name: typeof name === "string" && name.trim() !== "" ? name.trim().slice(0, 200) : undefined,
  };
}
