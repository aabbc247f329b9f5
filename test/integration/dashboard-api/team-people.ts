import { expect } from "bun:test";
import { cookieOf, dashboardHttp, origin, password } from "../../unit/http/dashboard-http.ts";

const api = "/dashboard/api";

/** Ada with an account of which Ben is asked to become a part, and Carl, who is asked for nothing. */
export async function teamOfAda(env: Record<string, string> = {}) {
  const parts = await dashboardHttp(env);
  const enter = async (email: string) => withJson(await parts.enter(email));
  const [ada, ben, carl] = [
    await enter("ada@example.org"),
    await enter("ben@example.org"),
    await enter("carl@example.org"),
  ];
  const invite = async (fields: object = { role: "member" }) =>
    (await (await ada.post(`${api}/team/invitations`, fields)).json()) as { id: string; token: string };
  const join = async (who: typeof ben, role = "member") => {
    const { token } = await invite({ role });
    expect((await who.post(`${api}/teams/join`, { token })).status).toBe(200);
  };
  /** Signs in once more, and returns a browser. */
  const signIn = async (email: string) => {
    const body = JSON.stringify({ email, password });
    const headers = { origin, "content-type": "application/json" };
    const cookie = cookieOf(await parts.send("/api/auth/sign-in/email", { method: "POST", headers, body }));
    const json = async (path: string) => (await parts.send(path, { headers: { cookie } })).json();
    const post = (path: string, sent: unknown) =>
      parts.send(path, { method: "POST", headers: { ...headers, cookie }, body: JSON.stringify(sent) });
    return { json, post };
  };
  const publicPost = (path: string, body: unknown) =>
    parts.send(path, {
      method: "POST",
      headers: { origin, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { ...parts, ada, ben, carl, invite, join, signIn, publicPost };
}

export function withJson<Who extends { get(path: string): Promise<Response> | Response }>(who: Who) {
  return { ...who, json: async (path: string) => (await who.get(path)).json() };
}

/** An administrator and an owner of the gateway. */
export async function withOperator() {
  const parts = await dashboardHttp();
  const admin = withJson(await parts.enter("admin@example.org", "admin"));
  const owner = withJson(await parts.enter("owner@example.org", "owner"));
  return { ...parts, admin, owner };
}
