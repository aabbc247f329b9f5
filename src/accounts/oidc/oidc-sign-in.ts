import { GatewayError } from "../../contract/index.ts";
import { backToPage, clean, failedSignIn } from "../auth-answer.ts";
import { requestOf } from "../auth-request.ts";
import type { AuthGround } from "../better-auth.ts";
import type { OidcOptions } from "./issuer.ts";
import { oidcProvider } from "./person-of.ts";

/** The two steps of a sign-in by the issuer. */
export interface OidcSignIn {
  /** Says to which address the browser goes. @throws {GatewayError} `unavailable` when the issuer does not answer. */
  begin(request: Request): Promise<Response>;
  /** The browser is back: signed in, or with the code of what went wrong behind `#sign-in-error=`. */
  end(request: Request): Promise<Response>;
}

export interface OidcSignInOptions extends AuthGround {
  readonly oidc: OidcOptions;
  readonly signUp: "open" | "closed";
  readonly now: () => number;
}

/** What an issuer says about itself is asked for again after an hour, and before the first sign-in. */
const knownMs = 3_600_000;
const answerWaitMs = 20_000;

type Handler = (request: Request) => Promise<Response>;

export function createOidcSignIn(options: OidcSignInOptions): OidcSignIn {
  const { oidc, now, report } = options;
  let known: { readonly handler: Promise<Handler>; readonly until: number } | undefined;
  const open = async (): Promise<Handler> => {
    // What most gateways never need is loaded here, as better-auth is.
    const [{ discover }, { openOidc }] = await Promise.all([import("./issuer.ts"), import("./open-oidc.ts")]);
    return openOidc({ ...options, issuer: await discover(oidc) });
  };
  const handlerOf = async (): Promise<Handler> => {
    if (known === undefined || known.until <= now()) known = { handler: open(), until: now() + knownMs };
    const { handler } = known;
    try {
      return await handler;
    } catch (error) {
      if (known?.handler === handler) known = undefined;
      throw error;
    }
  };
  const ask = async (request: Request) => inTime((await handlerOf())(request));
  return {
    async begin(request) {
      const body = { providerId: oidcProvider, callbackURL: "/", errorCallbackURL: "/" };
      return clean(await ask(requestOf(request, "sign-in/oauth2", body)));
    },
    async end(request) {
      try {
        return backToPage(await ask(request));
      } catch (error) {
        report(error);
        const code = error instanceof GatewayError ? error.shownCode : "internal_error";
        return new Response(null, { status: 302, headers: { location: failedSignIn(code) } });
      }
    },
  };
}

/** better-auth waits for an issuer as long as it likes. */
async function inTime(answer: Promise<Response>): Promise<Response> {
  const { promise, reject } = Promise.withResolvers<never>();
  const refuse = () =>
    reject(new GatewayError("unavailable", "The provider of identities does not answer in time; try again"));
  const timer = setTimeout(refuse, answerWaitMs);
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}
