import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, fillSignIn, ownPassword, seeHeading, signIn, useDashboard } from "./dashboard.ts";
import { seeTexts } from "./seen.ts";

const pictures = process.env.PROGRAM_PICTURES;

describe.skipIf(!hasChromium)("a program that asks to be signed in", () => {
  const dashboard = useDashboard({ SIGNUP: "closed" });

  const post = async (path: string, form: Record<string, string>) => {
    const response = await fetch(`${dashboard.gateway.origin}${path}`, {
      method: "POST",
      body: new URLSearchParams(form),
    });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  const poll = (device: Record<string, string>) =>
    post("/oauth/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: device.device_code as string,
    });
  const shoot = async (page: Page, name: string) => {
    if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
  };

  test("is approved on a page that says who asks, once the person has signed in and sent the code", async () => {
    await createUser(dashboard, "ada@example.org");
    const { gateway } = dashboard;
    await gateway.cli("account", "create", "--email", "team@example.org", "--name", "Search team");
    const { token } = await gateway.cli<{ token: string }>(
      ...["team", "invite", "team@example.org", "--role", "member", "--email", "ada@example.org"],
    );
    const { body: device } = await post("/oauth/device_authorization", { surface: "claude_code" });
    await dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org");
      await page.goto(`/#team=${token}`);
      await page.getByRole("button", { name: "Join team" }).click();
      await page.getByRole("option", { name: "Search team", selected: true }).waitFor({ state: "attached" });
      await page.context().clearCookies();
      await page.goto(device.verification_uri_complete as string);
      await page.getByLabel("Email").waitFor();
      await fillSignIn(page, "ada@example.org", ownPassword);
      await seeHeading(page, "Sign in a program");
      expect(await page.getByLabel("Code").inputValue()).toBe(device.user_code as string);
      expect(await findViolations(page)).toEqual([]);
      await shoot(page, "device-code");
      await page.getByRole("button", { name: "Continue" }).click();
      await seeHeading(page, "Sign in Claude Code?");
      await page.getByText("127.0.0.1").waitFor();
      await page.getByText("just now").waitFor();
      const payer = page.getByLabel("Account that pays");
      await seeTexts(payer.locator("option"), ["ada@example.org (own)", "Search team"]);
      expect(await payer.locator("option:checked").textContent()).toBe("Search team");
      expect(await findViolations(page)).toEqual([]);
      await shoot(page, "device-question");
      await payer.selectOption("ada@example.org (own)");
      await page.getByRole("button", { name: "Approve" }).click();
      await seeHeading(page, "Claude Code is signed in");
      expect(await findViolations(page)).toEqual([]);
      await shoot(page, "device-approved");
    });
    expect(await poll(device)).toMatchObject({ status: 200, body: { email: "ada@example.org" } });
    const keys = await gateway.cli<{ name: string }[]>("key", "list", "--account", "ada@example.org");
    expect(keys.map(({ name }) => name)).toContain("Claude Code of ada@example.org");
  });

  test("is denied, or its wrong code is named at the field", async () => {
    await createUser(dashboard, "ben@example.org");
    const { body: device } = await post("/oauth/device_authorization", { client_id: "my own tool" });
    await dashboard.visit(async (page) => {
      await signIn(page, "ben@example.org");
      await page.goto("/device");
      await page.getByLabel("Code").fill("BCDF-BCDF");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText("No program waits with this code").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Code").fill(device.user_code as string);
      await page.getByRole("button", { name: "Continue" }).click();
      await seeHeading(page, "Sign in my own tool?");
      await page.getByRole("button", { name: "Deny" }).click();
      await seeHeading(page, "my own tool was denied");
      await page.getByRole("button", { name: "Go to the dashboard" }).click();
      await page.locator("#content").waitFor();
    });
    expect((await poll(device)).body.error).toBe("access_denied");
  });

  test("gets a code at its loopback address, and an address elsewhere gets nothing", async () => {
    await createUser(dashboard, "cleo@example.org");
    const verifier = "v".repeat(43);
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const arrived = Promise.withResolvers<URL>();
    const program = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch(request) {
        const url = new URL(request.url);
        if (url.pathname === "/callback") arrived.resolve(url);
        return new Response("<title>Back</title>You may close this page", { headers: { "content-type": "text/html" } });
      },
    });
    try {
      const redirect = `http://127.0.0.1:${program.port}/callback`;
      const query = (redirect_uri: string) =>
        new URLSearchParams({
          response_type: "code",
          client_id: "codex",
          redirect_uri,
          code_challenge: challenge,
          code_challenge_method: "S256",
          state: "a state",
        });
      await dashboard.visit(async (page, tab) => {
        await signIn(page, "cleo@example.org");
        await page.goto(`/authorize?${query("https://evil.example/callback")}`);
        await page.getByText("redirect_uri is not http://127.0.0.1:PORT/callback").waitFor();
        expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
        await page.goto(`/authorize?${query(redirect)}`);
        await seeHeading(page, "Sign in Codex?");
        await page.getByText(`127.0.0.1:${program.port}`).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await shoot(page, "authorize-question");
        await page.getByRole("button", { name: "Approve" }).click();
        const { searchParams } = await arrived.promise;
        expect(searchParams.get("state")).toBe("a state");
        const tokens = await post("/oauth/token", {
          grant_type: "authorization_code",
          client_id: "codex",
          code: searchParams.get("code") as string,
          redirect_uri: redirect,
          code_verifier: verifier,
        });
        expect(tokens).toMatchObject({ status: 200, body: { email: "cleo@example.org" } });
        await page.getByText("You may close this page").waitFor();
        await page.goto("/");
        tab.forgive(/^left the host: http:\/\/127\.0\.0\.1:\d+\/callback\?/);
      });
    } finally {
      await program.stop(true);
    }
  });
});
