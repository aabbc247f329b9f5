import { Elysia } from "elysia";
import { makeCallId } from "../kernel/index.ts";
import { errorResponse } from "./errors.ts";
import { checkOrigin, originOf } from "./origin.ts";
import type { DeskGround } from "./session.ts";

interface Peers {
  requestIP(request: Request): { address: string } | null;
}

/** Everything below /api/auth: sign in, out and up, change the password, end sessions. */
export function signInController(ground: DeskGround) {
  const answer = async ({ request, server }: { request: Request; server: Peers | null }): Promise<Response> => {
    try {
      checkOrigin(request);
      const response = await ground.desk.signIn.handle(request, peerOf(request, server));
      return dressed(ground, response, originOf(request).startsWith("https:"));
    } catch (error) {
      return errorResponse(ground, error);
    }
  };
  const detail = { hide: true };
  return new Elysia().get("/api/auth/*", answer, { detail }).post("/api/auth/*", answer, { detail });
}

/** Whose attempts are counted together. A proxy on this machine is believed about whom it speaks for. */
function peerOf(request: Request, server: Peers | null): string {
  const address = server?.requestIP(request)?.address ?? "unknown";
  const forwarded = request.headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  return /^(127\.|::1$|::ffff:127\.)/.test(address) && forwarded ? forwarded : address;
}

/** With what every answer carries; cookies that came over TLS are sent over nothing else. */
function dressed(ground: DeskGround, response: Response, isSecure: boolean): Response {
  const headers = new Headers(response.headers);
  headers.delete("set-cookie");
  for (const cookie of response.headers.getSetCookie())
    headers.append("set-cookie", isSecure ? `${cookie}; Secure` : cookie);
  headers.set("cache-control", "no-store");
  headers.set("x-request-id", makeCallId(ground.now()));
  return new Response(response.body, { status: response.status, headers });
}
