import { GatewayError } from "../../contract/index.ts";
import { failedSignInUrl, redirectToPage, toAuthRequest, toCleanResponse } from "../auth-http.ts";
import type { OidcSignInOptions } from "./open-oidc.ts";

/** The two steps of a sign-in with the identity provider. */
export interface OidcSignIn {
  /**
   * Redirects the browser to the identity provider. @throws {GatewayError} `unavailable` without the identity provider.
   */
  begin(request: Request): Promise<Response>;
  /** Handles the browser's return: it is signed in, or redirected with an error code after `#sign-in-error=`. */
  end(request: Request): Promise<Response>;
}

/** How long the identity provider's metadata is used before it is read again. */
const metadataMs = 3_600_000;

type Handler = (request: Request) => Promise<Response>;

export function createOidcSignIn(options: OidcSignInOptions): OidcSignIn {
  const { oidc, now, report } = options;
  let cache: { readonly handler: Promise<Handler>; readonly until: number } | undefined;
  const open = async (): Promise<Handler> => {
    // Loaded at the first sign-in, as most gateways never need it.
    const [{ discover }, { openOidc }] = await Promise.all([
      import("./identity-provider.ts"),
      import("./open-oidc.ts"),
    ]);
    return openOidc(options, await discover(oidc));
  };
  const getHandler = async (): Promise<Handler> => {
    if (cache === undefined || cache.until <= now()) cache = { handler: open(), until: now() + metadataMs };
    const { handler } = cache;
    try {
      return await handler;
    } catch (error) {
      if (cache?.handler === handler) cache = undefined;
      throw error;
    }
  };
  return {
    async begin(request) {
      const handle = await getHandler();
      const body = { providerId: "oidc", callbackURL: "/", errorCallbackURL: "/" };
      return withNonce(await toCleanResponse(await handle(toAuthRequest(request, "sign-in/oauth2", body))));
    },
    async end(request) {
      try {
        return redirectToPage(await (await getHandler())(request));
      } catch (error) {
        report(error);
        const code = error instanceof GatewayError ? error.publicCode : "internal_error";
        return new Response(null, { status: 302, headers: { location: failedSignInUrl(code) } });
      }
    },
  };
}

/**
 * Adds a nonce to the address of the authorization endpoint, which better-auth does not. It is the PKCE code challenge:
 * the callback computes it again from the verifier, so nothing more has to be kept, and an identity provider that ignores
 * PKCE is still held to this sign-in.
 */
async function withNonce(response: Response): Promise<Response> {
  const body = (await response.json()) as { url: string };
  const url = new URL(body.url);
  url.searchParams.set("nonce", url.searchParams.get("code_challenge") ?? "");
  return new Response(JSON.stringify({ ...body, url: url.href }), { headers: response.headers });
}
