import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { codeOf } from "../support/authenticator.ts";
import { hasChromium } from "./chromium.ts";
import { createUser, fillSignIn, ownPassword, seeFirstPage, seeHeading, signIn, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("signing in", () => {
  const dashboard = useDashboard({ SIGNUP: "open" });

  test("an invitation link sets a password and signs in", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const { id } = await gateway.cli<{ id: string }>("account", "create", "--email", "ada@example.org");
      const { url } = await gateway.cli<{ url: string }>("account", "invite", id);
      await page.goto(url);
      await seeHeading(page, "Welcome");
      expect(page.url()).not.toContain("invitation");
      await page.getByText("The operator of this gateway invited you").waitFor();
      expect(await page.getByLabel("Email").inputValue()).toBe("ada@example.org");
      await page.getByLabel("New password").fill("short");
      await page.getByRole("button", { name: "Set password and sign in" }).click();
      await page.getByText("expected 10 to 200").waitFor();
      await page.getByLabel("New password").fill(ownPassword);
      await page.getByRole("button", { name: "Set password and sign in" }).click();
      await seeFirstPage(page);
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await seeHeading(page, "Sign in");
      await page.goto(url);
      await page.getByRole("alert").filter({ hasText: "invalid, used or expired" }).waitFor();
    }));

  test("a wrong password and an unknown email show the same error", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "ben@example.org");
      await page.goto("/billing");
      const messages: (string | null)[] = [];
      for (const email of ["ben@example.org", "nobody@example.org"]) {
        await fillSignIn(page, email, "not the password");
        await page.getByRole("alert").waitFor();
        messages.push(await page.getByRole("alert").textContent());
        await page.reload();
      }
      expect(new Set(messages).size).toBe(1);
      await fillSignIn(page, "ben@example.org", ownPassword);
      await seeHeading(page, "Billing");
    }));

  test("signing out everywhere ends the session in every tab", () =>
    dashboard.visit(async (page, { context }) => {
      await createUser(dashboard, "cleo@example.org");
      await signIn(page, "cleo@example.org");
      const other = await context.newPage();
      await other.goto("/settings");
      await other.getByRole("button", { name: "Sign out everywhere" }).click();
      await seeHeading(other, "Sign in");
      await seeHeading(page, "Sign in");
    }));

  test("anyone can create an account where sign-up is open", () =>
    dashboard.visit(async (page) => {
      await page.goto("/");
      await page.getByRole("button", { name: "Create an account" }).click();
      await createUser(dashboard, "dan@example.org");
      await page.getByLabel("Name").fill("Dan");
      await page.getByLabel("Email").fill("dan@example.org");
      await page.getByLabel("Password", { exact: true }).fill("not the password of Dan");
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByText("If you have an account, sign in to it").waitFor();
      await page.getByLabel("Name").fill("<b>Dora</b>");
      await page.getByLabel("Email").fill("dora@example.org");
      await page.getByLabel("Password", { exact: true }).fill("short");
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByText("expected 10 to 200").waitFor();
      await page.getByLabel("Password", { exact: true }).fill(ownPassword);
      await page.getByRole("button", { name: "Create account" }).click();
      await seeFirstPage(page);
      await page.getByText("<b>Dora</b>").waitFor();
    }));

  test("two-step sign-in takes a code of the authenticator app or a backup code", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "fay@example.org");
      await signIn(page, "fay@example.org");
      await page.goto("/settings");
      await page.getByRole("button", { name: "Set up" }).click();
      expect(await page.getByText("single sign-on").count()).toBe(0);
      await page.getByRole("dialog").getByLabel("Current password").fill(ownPassword);
      await page.getByRole("button", { name: "Continue" }).click();
      const address = (await page.locator("[data-totp]").getAttribute("data-totp")) ?? "";
      const backupCode = (await page.locator(".codes span").first().textContent()) ?? "";
      await page.getByLabel("Enter the 6-digit code from the app").fill(codeOf(address));
      await page.getByRole("button", { name: "Turn on" }).click();
      await page.getByText("Two-step sign-in is on").waitFor();

      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await fillSignIn(page, "fay@example.org", ownPassword);
      await seeHeading(page, "Two-step sign-in");
      await page.getByLabel("6-digit code").fill("nonsense");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByRole("button", { name: "Use a backup code" }).click();
      await page.getByLabel("Backup code").fill(backupCode);
      await page.getByRole("button", { name: "Continue" }).click();
      await seeHeading(page, "Account settings");
      await page.getByText("this browser").waitFor();
    }));

  test("nothing of a session is left for the next one in the same tab", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "hal@example.org");
      await createUser(dashboard, "ida@example.org");
      await signIn(page, "hal@example.org");
      await page.goto("/playground");
      await page.getByLabel("Your message").fill("What Hal alone may read");
      await page.keyboard.press("Enter");
      await page.locator(".turn-end").waitFor();
      await page.goto("/settings");
      await page.getByText("this browser").waitFor();
      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await fillSignIn(page, "ida@example.org", ownPassword);
      await page.getByText("this browser").waitFor();
      await page.goto("/playground");
      await page.getByLabel("Your message").waitFor();
      expect(await page.getByText("What Hal alone may read").count()).toBe(0);
    }));

  test("single sign-on redirects to the identity provider and shows its error", () =>
    dashboard.visit(async (page) => {
      const { origin } = dashboard.gateway;
      await offerOidc(page);
      await page.route("**/api/auth/sign-in/oauth2", (route) =>
        route.fulfill({ json: { url: `${origin}/keys#sign-in-error=access_denied` } }),
      );
      await page.goto("/");
      // The state that a session leaves when it expires without a sign-out.
      await page.evaluate(() => sessionStorage.setItem("modelgate-chat-left", "[]"));
      await page.getByRole("button", { name: "Single sign-on" }).click();
      await page.getByText("Single sign-on was cancelled or denied").waitFor();
      expect(await page.evaluate(() => sessionStorage.getItem("modelgate-chat-left"))).toBeNull();
      expect(page.url()).toBe(`${origin}/keys`);
    }));

  test("the settings say that single sign-on needs no code", () =>
    dashboard.visit(async (page) => {
      await offerOidc(page);
      await createUser(dashboard, "gil@example.org");
      await signIn(page, "gil@example.org");
      await page.goto("/settings");
      await page.getByText("Not required for single sign-on").waitFor();
    }));
});

/** Pretends that an identity provider is configured. */
async function offerOidc(page: Page): Promise<void> {
  await page.route("**/dashboard/api/gateway", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), oidc: true } });
  });
}
