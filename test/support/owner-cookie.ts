import { type Gateway, ownerEmail } from "./gateway.ts";

/** The cookie of the first administrator, signed in by HTTP, with a password that is no longer the first one. */
export async function ownerCookie({ cli, origin }: Pick<Gateway, "cli" | "origin">): Promise<string> {
  const { password } = await cli<{ password: string }>("account", "password", ownerEmail);
  const newPassword = "a password of one's own";
  const post = async (path: string, body: unknown, cookie = "") => {
    const headers = { origin, "content-type": "application/json", cookie };
    const response = await fetch(`${origin}/api/auth/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} is answered with ${response.status}: ${await response.text()}`);
    return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  };
  const first = await post("sign-in/email", { email: ownerEmail, password });
  await post("change-password", { currentPassword: password, newPassword }, first);
  return await post("sign-in/email", { email: ownerEmail, password: newPassword });
}
