import { GatewayError } from "../../contract/index.ts";
import {
  createDeviceRequest,
  exchangeCode,
  OauthError,
  type OauthTokens,
  type Origin,
  pollDevice,
  pollSeconds,
  readProgram,
  refreshGrant,
  revokeGrant,
} from "../../identity/index.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders } from "../lifecycle/headers.ts";
import { clientAddressOf, toNetwork } from "../lifecycle/http-call.ts";
import { clientOrigin, parseUrl } from "../lifecycle/origin.ts";
import { belowBaseUrls, type RequestContext, type Route } from "../lifecycle/route.ts";
import { readSmall } from "../lifecycle/session.ts";
import { expectStore } from "../lifecycle/store-timeout.ts";

const metadataPath = "/.well-known/oauth-authorization-server";
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
/** Requests for tokens of a network in a minute: some twenty people who sign in at once. */
const tokensPerMinuteMax = 300;

/**
 * OAuth for programs such as coding agents: the authorization server's metadata (RFC 8414), the device grant (RFC 8628),
 * tokens, and their end (RFC 7009). Clients look for them below their base URL, whichever that is.
 */
export function oauthController(deps: HttpDeps): Route[] {
  return belowBaseUrls(deps.config, endpoints(deps));
}

function endpoints(deps: HttpDeps): Route[] {
  const { store, now } = deps;
  const limit = new RateLimiter(tokensPerMinuteMax, now, { what: "requests for tokens from here" });
  const grants: Readonly<Record<string, (form: URLSearchParams) => Promise<OauthTokens>>> = {
    [deviceGrant]: (form) => pollDevice(store, need(form, "device_code"), now()),
    refresh_token: (form) => refreshGrant(store, need(form, "refresh_token"), now()),
    authorization_code: (form) =>
      exchangeCode(
        store,
        {
          code: need(form, "code"),
          program: need(form, "client_id"),
          redirectUri: need(form, "redirect_uri"),
          verifier: need(form, "code_verifier"),
        },
        now(),
      ),
  };
  return [
    { method: "GET", path: metadataPath, answer: ({ request }) => send(request, toMetadata(deps, request)) },
    post(deps, "/oauth/device_authorization", async (form, origin, request) => {
      const program = readProgram(form.get("client_id") ?? form.get("surface") ?? undefined);
      const { deviceCode, userCode, expiresInSeconds } = await createDeviceRequest(
        store,
        { program, ...origin },
        now(),
      );
      const page = `${pagesOrigin(deps, request)}/device`;
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${userCode}`,
        expires_in: expiresInSeconds,
        interval: pollSeconds,
      };
    }),
    post(deps, "/oauth/token", async (form, { network }) => {
      limit.take(network);
      const type = need(form, "grant_type");
      const grant = Object.hasOwn(grants, type) ? grants[type] : undefined;
      if (grant === undefined) {
        const message = `grant_type must be one of ${Object.keys(grants).join(", ")}`;
        throw new OauthError("unsupported_grant_type", message);
      }
      return toTokenJson(await grant(form), now());
    }),
    post(deps, "/oauth/revoke", async (form, { network }) => {
      limit.take(network);
      await revokeGrant(store, form.get("token") ?? "");
      return {};
    }),
  ];
}

function toTokenJson({ accessToken, refreshToken, expiresAt, email }: OauthTokens, now: number) {
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: Math.max(1, Math.ceil((expiresAt - now) / 1000)),
    refresh_token: refreshToken,
    email,
  };
}

/** Clients take only endpoints of the origin that they know. */
function toMetadata(deps: HttpDeps, request: Request) {
  const issuer = `${clientOrigin(request)}${parseUrl(request).pathname.slice(0, -metadataPath.length)}`;
  return {
    issuer,
    authorization_endpoint: `${pagesOrigin(deps, request)}/authorize`,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    grant_types_supported: [deviceGrant, "refresh_token", "authorization_code"],
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: [],
    gateway_protocol_version: 1,
  };
}

/** Where people open the dashboard. */
function pagesOrigin({ config }: HttpDeps, request: Request): string {
  return config.publicUrl ?? clientOrigin(request);
}

type Work = (form: URLSearchParams, origin: Origin, request: Request) => Promise<object>;

/** An endpoint that takes a form, as every client of OAuth sends it, and needs no cookie. */
function post(deps: HttpDeps, path: string, work: Work): Route {
  const answer = async ({ request }: RequestContext): Promise<Response> => {
    try {
      const address = clientAddressOf(deps.config, request, deps.server());
      const form = new URLSearchParams(await readSmall(deps, request));
      await expectStore(deps);
      return send(request, await work(form, { address, network: toNetwork(address) }, request));
    } catch (error) {
      return refuse(request, error);
    }
  };
  return { method: "POST", path, answer };
}

/** @throws {OauthError} */
function need(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value) return value;
  throw new OauthError("invalid_request", `${name} is missing`);
}

/** Errors in the form of OAuth (RFC 6749, section 5.2). */
function refuse(request: Request, error: unknown): Response {
  if (error instanceof OauthError) {
    return send(request, { error: error.code, error_description: error.message }, error.status);
  }
  if (!(error instanceof GatewayError)) throw error;
  const { code, status, message, retryHeaders } = error;
  const codes: Partial<Record<typeof code, string>> = {
    rate_limit_exceeded: "slow_down",
    unavailable: "temporarily_unavailable",
  };
  const body = { error: codes[code] ?? "invalid_request", error_description: message };
  return send(request, body, status, retryHeaders);
}

function send(request: Request, body: object, status = 200, more: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers: { ...dataHeaders(request), pragma: "no-cache", ...more } });
}
