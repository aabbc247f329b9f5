import { betterAuth } from "better-auth";
import { genericOAuth } from "better-auth/plugins/generic-oauth";
import { type AuthGround, authOptions } from "../better-auth.ts";
import { signInAddressOf } from "../sign-in-address.ts";
import { type Identity, readIdentity } from "./identity.ts";
import type { Issuer, OidcOptions } from "./issuer.ts";
import { oidcProvider, welcomeIdentity } from "./person-of.ts";

export interface OidcGround extends AuthGround {
  readonly oidc: OidcOptions;
  readonly issuer: Issuer;
  readonly signUp: "open" | "closed";
  readonly now: () => number;
}

/** better-auth for sign-ins by the issuer. It makes no person by itself: {@link welcomeIdentity} does, with an account. */
export function openOidc(ground: OidcGround): (request: Request) => Promise<Response> {
  const { store, issuer, oidc, signUp, now } = ground;
  const options = authOptions(ground);
  const auth = betterAuth({
    ...options,
    // What the tokens were for is done.
    databaseHooks: {
      account: { create: { before: async (account) => ({ data: { ...account, ...noTokens } }) } },
    },
    account: { ...options.account, updateAccountOnSignIn: false },
    onAPIError: { ...options.onAPIError, errorURL: "/" },
    plugins: [
      genericOAuth({
        config: [
          {
            providerId: oidcProvider,
            clientId: oidc.clientId,
            clientSecret: oidc.clientSecret,
            issuer: issuer.id,
            requireIssuerValidation: issuer.namesItself,
            authorizationUrl: issuer.authorizationUrl,
            tokenUrl: issuer.tokenUrl,
            redirectURI: `${oidc.publicOrigin}/api/auth/oauth2/callback/${oidcProvider}`,
            scopes: ["openid", "email", "profile"],
            pkce: true,
            disableSignUp: true,
            async getUserInfo(tokens) {
              const identity = await readIdentity(tokens, issuer, oidc.clientId);
              if (identity === undefined) return null;
              await welcomeIdentity(store, identity, { signUp, now: now() });
              return userInfoOf(identity);
            },
          },
        ],
      }),
    ],
  });
  return (request) => auth.handler(request);
}

const noTokens = { accessToken: null, refreshToken: null, idToken: null };

/** By the address under which people are kept here. */
function userInfoOf({ id, email, emailVerified, name }: Identity) {
  const address = email === undefined ? undefined : signInAddressOf(email);
  return { id, email: address as string, emailVerified, name: name ?? email ?? id };
}
