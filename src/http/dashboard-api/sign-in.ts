import { makeCallId } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";
import { dataHeaders, isSecure } from "../lifecycle/headers.ts";
import { readClientAddress, toNetwork } from "../lifecycle/http-call.ts";
import { checkOrigin, parseUrl } from "../lifecycle/origin.ts";
import type { RequestContext, Route } from "../lifecycle/route.ts";
import { readSmall, rejectNullCharacters } from "../lifecycle/session.ts";
import { expectStore } from "../lifecycle/store-timeout.ts";

/** Everything below /api/auth: sign in, out and up, change the password, end sessions. */
export function signInController(deps: HttpDeps): Route[] {
  const readAddress = readClientAddress(deps.config.trustedProxies);
  const answer = async ({ request }: RequestContext): Promise<Response> => {
    rejectNullCharacters(parseUrl(request).href, "address");
    checkOrigin(request);
    const peer = deps.server()?.requestIP(request)?.address ?? "unknown";
    const address = readAddress(peer, request.headers.get("x-forwarded-for"));
    const small = await readBounded(deps, request, address);
    // Comes first, so an unavailable store is reported before the sign-in begins.
    await expectStore(deps);
    const response = await deps.signIn.handle(small, toNetwork(address));
    return withHeaders(deps, response, request);
  };
  return [
    { method: "GET", path: "/api/auth/*", answer },
    { method: "POST", path: "/api/auth/*", answer },
  ];
}

/**
 * The request with its body read already, and bounded: the sender may be anyone. `x-forwarded-for` has only the address of
 * the client, which better-auth stores with a session.
 */
async function readBounded(deps: HttpDeps, request: Request, address: string): Promise<Request> {
  const headers = new Headers(request.headers);
  headers.set("x-forwarded-for", address);
  if (request.method === "GET") return new Request(request.url, { headers });
  headers.delete("content-length");
  return new Request(request.url, { method: request.method, headers, body: await readSmall(deps, request) });
}

/** Adds our headers, and `Secure` to cookies of a request over TLS. */
function withHeaders(deps: HttpDeps, response: Response, request: Request): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(dataHeaders(request))) headers.set(name, value);
  headers.delete("set-cookie");
  for (const cookie of response.headers.getSetCookie())
    headers.append("set-cookie", isSecure(request) ? `${cookie}; Secure` : cookie);
  headers.set("x-request-id", makeCallId(deps.now()));
  return new Response(response.body, { status: response.status, headers });
}
