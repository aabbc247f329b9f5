import { Elysia } from "elysia";
import { makeCallId } from "../kernel/index.ts";
import type { HttpDeps } from "./deps.ts";
import { checkOrigin, parseUrl } from "./origin.ts";
import { readSmall, rejectNullCharacters } from "./read-body.ts";
import { dataHeaders, isSecure } from "./security-headers.ts";
import { expectStore } from "./store-timeout.ts";

interface Peers {
  requestIP(request: Request): { address: string } | null;
}

/** Everything below /api/auth: sign in, out and up, change the password, end sessions. */
export function signInController(deps: HttpDeps) {
  const answer = async ({ request, server }: { request: Request; server: Peers | null }): Promise<Response> => {
    rejectNullCharacters(parseUrl(request).href, "address");
    checkOrigin(request);
    const small = await bounded(request);
    // Asked first, so that a silent store is told of before anything is begun.
    await expectStore(deps);
    const response = await deps.signIn.handle(small, peerOf(request, server));
    return dressed(deps, response, request);
  };
  const detail = { hide: true };
  return new Elysia().get("/api/auth/*", answer, { detail }).post("/api/auth/*", answer, { detail });
}

/** The request with a body that is read already and small: anyone may send one here. */
async function bounded(request: Request): Promise<Request> {
  if (request.method === "GET") return request;
  const headers = new Headers(request.headers);
  headers.delete("content-length");
  return new Request(request.url, { method: request.method, headers, body: await readSmall(request) });
}

/** Whose attempts are counted together. A proxy on this machine is believed about whom it speaks for. */
function peerOf(request: Request, server: Peers | null): string {
  const address = server?.requestIP(request)?.address ?? "unknown";
  const forwarded = request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  return /^(127\.|::1$|::ffff:127\.)/.test(address) && forwarded ? forwarded : address;
}

/** With what every answer carries; cookies that came over TLS are sent over nothing else. */
function dressed(deps: HttpDeps, response: Response, request: Request): Response {
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(dataHeaders(request))) headers.set(name, value);
  headers.delete("set-cookie");
  for (const cookie of response.headers.getSetCookie())
    headers.append("set-cookie", isSecure(request) ? `${cookie}; Secure` : cookie);
  headers.set("x-request-id", makeCallId(deps.now()));
  return new Response(response.body, { status: response.status, headers });
}
