import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { codeOf } from "../support/authenticator.ts";
import { hasChromium } from "./chromium.ts";
import { createUser, fillSignIn, ownPassword, seeHeading, signIn, testMsMax, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("signing in by the page", () => {
  const dashboard = useDashboard({ SIGNUP: "open" });

  test(
    "an invitation's link sets a password, and leads in",
    () =>
      dashboard.visit(async (page) => {
        const { gateway } = dashboard;
        const { id } = await gateway.cli<{ id: string }>("account", "create", "--email", "ada@example.org");
        const { url } = await gateway.cli<{ url: string }>("account", "invite", id);
        await page.goto(url);
        await seeHeading(page, "Welcome");
        expect(page.url()).not.toContain("invitation");
        await page.getByLabel("New password").fill("short");
        await page.getByRole("button", { name: "Set password and sign in" }).click();
        await page.getByText("expected 10 to 200").waitFor();
        await page.getByLabel("New password").fill(ownPassword);
        await page.getByRole("button", { name: "Set password and sign in" }).click();
        await seeHeading(page, "Overview");
        await page.getByRole("button", { name: "Sign out", exact: true }).click();
        await seeHeading(page, "Sign in");
        await page.goto(url);
        await page.getByLabel("New password").fill(ownPassword);
        await page.getByRole("button", { name: "Set password and sign in" }).click();
        await page.getByRole("alert").waitFor();
      }),
    testMsMax,
  );

  test(
    "a wrong password is told in the page, and so is an unknown e-mail, in the same words",
    () =>
      dashboard.visit(async (page) => {
        await createUser(dashboard, "ben@example.org");
        await page.goto("/billing");
        const told: (string | null)[] = [];
        for (const email of ["ben@example.org", "nobody@example.org"]) {
          await fillSignIn(page, email, "not the password");
          await page.getByRole("alert").waitFor();
          told.push(await page.getByRole("alert").textContent());
          await page.reload();
        }
        expect(new Set(told).size).toBe(1);
        await fillSignIn(page, "ben@example.org", ownPassword);
        await seeHeading(page, "Billing");
      }),
    testMsMax,
  );

  test(
    "whoever signs out everywhere is out in every tab",
    () =>
      dashboard.visit(async (page, { context }) => {
        await createUser(dashboard, "cleo@example.org");
        await signIn(page, "cleo@example.org");
        const other = await context.newPage();
        await other.goto("/settings");
        await other.getByRole("button", { name: "Sign out everywhere" }).click();
        await seeHeading(other, "Sign in");
        await seeHeading(page, "Sign in");
      }),
    testMsMax,
  );

  test(
    "where the gateway is open, a stranger makes an account",
    () =>
      dashboard.visit(async (page) => {
        await page.goto("/");
        await page.getByRole("button", { name: "Create an account" }).click();
        await page.getByLabel("Name").fill("<b>Dora</b>");
        await page.getByLabel("E-mail").fill("dora@example.org");
        await page.getByLabel("Password", { exact: true }).fill("short");
        await page.getByRole("button", { name: "Create account" }).click();
        await page.getByText("expected 10 to 200").waitFor();
        await page.getByLabel("Password", { exact: true }).fill(ownPassword);
        await page.getByRole("button", { name: "Create account" }).click();
        await seeHeading(page, "Overview");
        await page.getByText("<b>Dora</b>").waitFor();
      }),
    testMsMax,
  );

  test(
    "with two steps, a code of the authenticator is asked for, or a written one",
    () =>
      dashboard.visit(async (page) => {
        await createUser(dashboard, "fay@example.org");
        await signIn(page, "fay@example.org");
        await page.goto("/settings");
        await page.getByRole("button", { name: "Set up" }).click();
        expect(await page.getByText("Single sign-on").count()).toBe(0);
        await page.getByLabel("Your password").fill(ownPassword);
        await page.getByRole("button", { name: "Go on" }).click();
        const address = (await page.locator("[data-totp]").getAttribute("data-totp")) ?? "";
        const written = (await page.locator(".codes span").first().textContent()) ?? "";
        await page.getByLabel("The code that the app shows now").fill(codeOf(address));
        await page.getByRole("button", { name: "Switch on" }).click();
        await page.getByText("From now on a sign-in takes a code as well").waitFor();

        await page.getByRole("button", { name: "Sign out", exact: true }).click();
        await fillSignIn(page, "fay@example.org", ownPassword);
        await seeHeading(page, "One more step");
        await page.getByLabel("Code of six digits").fill("nonsense");
        await page.getByRole("button", { name: "Go on" }).click();
        await page.getByRole("alert").waitFor();
        await page.getByRole("button", { name: "I cannot use my authenticator" }).click();
        await page.getByLabel("Written code").fill(written);
        await page.getByRole("button", { name: "Go on" }).click();
        await seeHeading(page, "Account settings");
        await page.getByText("this browser").waitFor();
      }),
    testMsMax,
  );

  test(
    "where there is a provider of identities, its button leads there, and what came of it is told",
    () =>
      dashboard.visit(async (page) => {
        const { origin } = dashboard.gateway;
        await offerOidc(page);
        await page.route("**/api/auth/sign-in/oauth2", (route) =>
          route.fulfill({ json: { url: `${origin}/keys#sign-in-error=access_denied` } }),
        );
        await page.goto("/");
        await page.getByRole("button", { name: "Single sign-on" }).click();
        await page.getByText("Sign-in was declined there").waitFor();
        expect(page.url()).toBe(`${origin}/keys`);
      }),
    testMsMax,
  );

  test(
    "where there is one, the settings say that its sign-ins take no code",
    () =>
      dashboard.visit(async (page) => {
        await offerOidc(page);
        await createUser(dashboard, "gil@example.org");
        await signIn(page, "gil@example.org");
        await page.goto("/settings");
        await page.getByText("Single sign-on asks for no code here").waitFor();
      }),
    testMsMax,
  );
});

/** As it is where the gateway has a provider of identities. */
async function offerOidc(page: Page): Promise<void> {
  await page.route("**/dashboard/api/gateway", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), oidc: true } });
  });
}
