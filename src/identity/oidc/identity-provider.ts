import {
  allowInsecureRequests,
  authorizationCodeGrant,
  type Configuration,
  type CustomFetchOptions,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  skipStateCheck,
} from "openid-client";
import { GatewayError, toName } from "../../contract/index.ts";
import type { Role } from "../../db/index.ts";
import { fetchDocuments } from "../bounded-documents.ts";
import { checkClaims, readClaim, readEmailVerified } from "../read-claim.ts";
import { type RoleClaim, toRole } from "./role-claim.ts";

/** The OpenID Connect identity provider that the operator configured. */
export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where browsers reach the gateway; the identity provider redirects them back there. */
  readonly publicOrigin: string;
  /** Separated by spaces. */
  readonly scopes: string;
  /** The claim that decides roles; absent: the identity provider has no say in them. */
  readonly roles: RoleClaim | undefined;
}

/** A person, as the identity provider describes them. */
export interface Identity {
  /** The subject identifier; it never changes. */
  readonly id: string;
  /** Lower case; absent when the identity provider does not send one. */
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly name: string | undefined;
  /** Absent when the identity provider does not decide roles. */
  readonly role: Role | undefined;
}

/** Parameters of the callback of a sign-in. */
interface AuthorizationCode {
  readonly code: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

const timeoutSeconds = 10;
const endpoints = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"] as const;

/**
 * Reads the identity provider's metadata (OpenID Connect Discovery 1.0).
 *
 * @throws {GatewayError} `unavailable` when it does not answer, or the metadata cannot be used.
 */
export async function discover({ issuer, clientId, clientSecret }: OidcOptions): Promise<Configuration> {
  const address = `${withoutSlash(issuer)}/.well-known/openid-configuration`;
  const isLocal = new URL(issuer).protocol === "http:";
  const config = await discovery(new URL(address), clientId, clientSecret, undefined, {
    timeout: timeoutSeconds,
    [customFetch]: fetchDocuments<CustomFetchOptions>((url, options) => fetch(url, options as RequestInit)),
    execute: isLocal ? [allowInsecureRequests] : [],
  }).catch((cause) => {
    throw unusable(`there is no discovery document at ${address}`, cause);
  });
  const metadata = config.serverMetadata();
  // openid-client compares the issuer only where it makes the address itself, and then a trailing slash has to agree.
  if (withoutSlash(metadata.issuer) !== withoutSlash(issuer)) {
    throw unusable(`its issuer is ${JSON.stringify(metadata.issuer)}`);
  }
  for (const name of endpoints) {
    if (!isSafe(metadata[name], issuer)) throw unusable(`its ${name} is ${JSON.stringify(metadata[name])}`);
  }
  // The ID token comes straight from the token endpoint, so the standard leaves this check to the client.
  enableNonRepudiationChecks(config);
  return config;
}

/**
 * Exchanges an authorization code for a checked ID token (signature, issuer, audience, nonce, expiry). Queries the
 * userinfo endpoint when the token has no e-mail or no claim for the role.
 *
 * @throws {GatewayError} `unavailable` when a check fails or an answer cannot be read.
 */
export async function readIdentity(
  config: Configuration,
  callback: AuthorizationCode,
  roles: RoleClaim | undefined,
): Promise<Identity> {
  const { code, codeVerifier, redirectUri } = callback;
  const url = new URL(redirectUri);
  // State and issuer of the true callback were checked by better-auth, which hands on the code alone.
  url.search = new URLSearchParams({ code, iss: config.serverMetadata().issuer }).toString();
  try {
    const tokens = await authorizationCodeGrant(config, url, {
      pkceCodeVerifier: codeVerifier,
      expectedNonce: await calculatePKCECodeChallenge(codeVerifier),
      expectedState: skipStateCheck,
    });
    const claims: unknown = tokens.claims();
    checkClaims(claims, (problem) => new Error(`The ID token cannot be read: ${problem}`));
    const hasEmail = typeof claims.email === "string";
    const isComplete = hasEmail && (roles === undefined || readClaim(claims, roles.claim) !== undefined);
    const info = isComplete ? claims : await fetchUserInfo(config, tokens.access_token, claims.sub);
    const role = roles && toRole(roles, readClaim(claims, roles.claim) ?? readClaim(info, roles.claim));
    return { ...toIdentity(claims.sub, hasEmail ? claims : info), role };
  } catch (cause) {
    // The cause may contain claims about the person; the log prints only its message.
    throw new GatewayError("unavailable", "The identity provider's answer cannot be trusted or read", { cause });
  }
}

function toIdentity(id: string, claims: Readonly<Record<string, unknown>>): Omit<Identity, "role"> {
  const { email, name } = claims;
  return {
    id,
    email: typeof email === "string" ? email.trim().toLowerCase() : undefined,
    emailVerified: readEmailVerified(claims) === true,
    name: typeof name === "string" ? toName(name) : undefined,
  };
}

/** An endpoint is as safe as its issuer: over https, or on this machine where the issuer is. */
function isSafe(address: unknown, issuer: string): boolean {
  const url = typeof address === "string" ? URL.parse(address) : null;
  const { protocol, hostname } = new URL(issuer);
  return url?.protocol === "https:" || (protocol === "http:" && url?.hostname === hostname);
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, "");
}

function unusable(reason: string, cause?: unknown): GatewayError {
  const message = `The identity provider cannot be used: ${reason}; sign in with a password, or try again later`;
  return new GatewayError("unavailable", message, { retryAfterMs: 10_000, cause });
}
