import { createHmac } from "node:crypto";

/** The cookie of a session as the gateway signs it. */
export function sessionCookieOf(token: string, secret: string): string {
  const signature = createHmac("sha256", secret).update(token).digest("base64");
  return `session=${encodeURIComponent(`${token}.${signature}`)}`;
}
