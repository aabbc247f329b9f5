import { createRemoteJWKSet, type JWTVerifyGetKey } from "jose";
import { GatewayError } from "../../contract/index.ts";

/** What the operator said about a provider of identities (OpenID Connect). */
export interface OidcOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Where the gateway is reached; the issuer sends people back there. */
  readonly publicOrigin: string;
}

/** What an issuer says about itself. */
export interface Issuer {
  readonly id: string;
  readonly authorizationUrl: string;
  readonly tokenUrl: string;
  readonly userInfoUrl: string;
  /** Whether it says in each answer who it is (RFC 9207). */
  readonly namesItself: boolean;
  readonly keys: JWTVerifyGetKey;
}

/** How long anything of the issuer is waited for. */
export const issuerWaitMs = 10_000;
const documentLengthMax = 100_000;

/**
 * Asks an issuer about itself (OpenID Connect Discovery 1.0, section 4).
 *
 * @throws {GatewayError} `unavailable` when it does not answer, or says what cannot be used.
 */
export async function discover({ issuer }: Pick<OidcOptions, "issuer">): Promise<Issuer> {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let text: string;
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(issuerWaitMs) });
    text = response.ok ? await response.text() : "";
  } catch (cause) {
    throw unusable(`it does not answer at ${address}`, cause);
  }
  const said = readObject(text);
  if (said === undefined) throw unusable(`there is no discovery document at ${address}`);
  if (typeof said.issuer !== "string" || said.issuer.replace(/\/$/, "") !== issuer.replace(/\/$/, "")) {
    throw unusable(`it says to be ${JSON.stringify(said.issuer)}`);
  }
  const endpoint = (name: string) => readEndpoint(said, name, issuer);
  return {
    id: said.issuer,
    authorizationUrl: endpoint("authorization_endpoint"),
    tokenUrl: endpoint("token_endpoint"),
    userInfoUrl: endpoint("userinfo_endpoint"),
    namesItself: said.authorization_response_iss_parameter_supported === true,
    keys: createRemoteJWKSet(new URL(endpoint("jwks_uri")), { timeoutDuration: issuerWaitMs }),
  };
}

/** An endpoint is as safe as its issuer: over https, or on this machine where the issuer is. */
function readEndpoint(said: Record<string, unknown>, name: string, issuer: string): string {
  const text = said[name];
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  const { protocol, hostname } = new URL(issuer);
  const isSafe = url?.protocol === "https:" || (protocol === "http:" && url?.hostname === hostname);
  if (url === undefined || !isSafe) throw unusable(`its ${name} is ${JSON.stringify(text)}`);
  return url.href;
}

function readObject(text: string): Record<string, unknown> | undefined {
  if (text.length > documentLengthMax) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function unusable(reason: string, cause?: unknown): GatewayError {
  const sentence = `The provider of identities cannot be used: ${reason}; sign in with a password, or try again later`;
  return new GatewayError("unavailable", sentence, { retryAfterMs: 10_000, cause });
}
