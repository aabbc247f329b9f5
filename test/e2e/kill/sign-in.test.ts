import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, ownerEmail, startGateway } from "../../support/gateway.ts";
import { newDatabase, whyNoPostgres } from "../../support/postgres.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
type Json = Record<string, string>;

async function post(origin: string, path: string, form: Json): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${origin}${path}`, { method: "POST", body: new URLSearchParams(form) });
  return { status: response.status, body: (await response.json()) as Json };
}

/** The owner's cookie, by the password that the first start has printed. */
async function enter({ origin, firstStdout }: Gateway): Promise<string> {
  const [, password] = /Sign in {2,}\S+ with (\S+)/.exec(firstStdout()) ?? [];
  const send = async (path: string, body: object, cookie = "") => {
    const headers = { origin, "content-type": "application/json", cookie };
    const response = await fetch(`${origin}/api/auth/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  };
  const first = await send("sign-in/email", { email: ownerEmail, password });
  return await send("change-password", { currentPassword: password, newPassword: "a password of one's own" }, first);
}

async function approve({ origin }: Gateway, cookie: string, userCode: string | undefined): Promise<void> {
  const headers = { cookie, origin, "content-type": "application/json" };
  const me = (await (await fetch(`${origin}/dashboard/api/me`, { headers })).json()) as Json;
  const body = JSON.stringify({ user_code: userCode, account: me.account });
  const response = await fetch(`${origin}/dashboard/api/programs/device/approve`, { method: "POST", headers, body });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

const ask = async ({ origin }: Gateway, token: string | undefined) =>
  (await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status;

/** How long it takes until a node refuses a token, asked as often as it answers. */
async function msUntilRefused(gateway: Gateway, token: string | undefined): Promise<number> {
  const startedAt = performance.now();
  while ((await ask(gateway, token)) !== 401) {
    if (performance.now() - startedAt > 10_000) throw new Error("The token is accepted after ten seconds");
  }
  return performance.now() - startedAt;
}

/** Starts gateways that share a state, kills one between approval and poll, and returns the tokens of the next. */
async function signInOverKill(start: () => Promise<Gateway>) {
  const first = await start();
  const cookie = await enter(first);
  const { body: device } = await post(first.origin, "/oauth/device_authorization", { surface: "claude_code" });
  await approve(first, cookie, device.user_code);
  process.kill(first.pid, "SIGKILL");
  await first.ended;
  const next = await start();
  const poll = () =>
    post(next.origin, "/oauth/token", { grant_type: deviceGrant, device_code: device.device_code as string });
  const tokens = await poll();
  expect(tokens.status).toBe(200);
  expect(await ask(next, tokens.body.access_token)).toBe(200);
  expect(await poll()).toMatchObject({ status: 400, body: { error: "expired_token" } });
  return { next, cookie };
}

describe("a sign-in of a program, whose gateway is killed between approval and poll,", () => {
  const homes = [0, 1, 2].map(() => mkdtempSync(join(tmpdir(), "modelgate-test-")));
  afterAll(() => {
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });

  test("goes on with an embedded database", async () => {
    const { next } = await signInOverKill(() => startGateway({ home: homes[0] as string, env: { SANDBOX: "on" } }));
    await next.stop();
  });

  describe.skipIf(whyNoPostgres !== undefined)("goes on with PostgreSQL", () => {
    let url: string;
    beforeAll(async () => {
      url = await newDatabase();
    });

    test("and every way to end it reaches the other node within a second", async () => {
      const start = (home = homes[1] as string) => startGateway({ home, env: { SANDBOX: "on", DATABASE_URL: url } });
      const { next, cookie } = await signInOverKill(start);
      const other = await start(homes[2] as string);
      try {
        const signIn = async () => {
          const { body: device } = await post(next.origin, "/oauth/device_authorization", { client_id: "codex" });
          await approve(next, cookie, device.user_code);
          const form = { grant_type: deviceGrant, device_code: device.device_code as string };
          const { body } = await post(other.origin, "/oauth/token", form);
          expect([await ask(next, body.access_token), await ask(other, body.access_token)]).toEqual([200, 200]);
          return body;
        };
        const ofToken = await signIn();
        await post(next.origin, "/oauth/revoke", { token: ofToken.refresh_token as string });
        expect(await ask(next, ofToken.access_token)).toBe(401);
        expect(await msUntilRefused(other, ofToken.access_token)).toBeLessThan(1000);

        const ofKey = await signIn();
        const headers = { cookie, origin: next.origin };
        const path = `${next.origin}/dashboard/api/keys`;
        const { data } = (await (await fetch(path, { headers })).json()) as { data: { id: string; name: string }[] };
        const id = data.find(({ name }) => name.startsWith("Codex of"))?.id;
        expect((await fetch(`${path}/${id}`, { method: "DELETE", headers })).status).toBe(200);
        for (const node of [next, other]) expect(await msUntilRefused(node, ofKey.access_token)).toBeLessThan(1000);

        const both = await signIn();
        const refresh = (node: Gateway) =>
          post(node.origin, "/oauth/token", {
            grant_type: "refresh_token",
            refresh_token: both.refresh_token as string,
          });
        const answers = await Promise.all([next, other, next, other].map(refresh));
        expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
        const { body: device } = await post(next.origin, "/oauth/device_authorization", { client_id: "codex" });
        await approve(other, cookie, device.user_code);
        const form = { grant_type: deviceGrant, device_code: device.device_code as string };
        const polls = await Promise.all(
          [next, other, next, other].map(({ origin }) => post(origin, "/oauth/token", form)),
        );
        expect(polls.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
      } finally {
        await Promise.all([next.stop(), other.stop()]);
      }
    });
  });
});
