import type { Config } from "./config.ts";
import { getPublicOrigin } from "./urls.ts";

/** What single sign-on needs; `undefined` when no identity provider is configured. */
export function getOidcOptions(config: Config) {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcRoleClaim: claim } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const roles = claim === undefined ? undefined : { claim, pairs: config.oidcRoles ?? [] };
  const publicOrigin = getPublicOrigin(config, config.port);
  return { issuer, clientId, clientSecret, publicOrigin, scopes: config.oidcScopes, roles };
}
