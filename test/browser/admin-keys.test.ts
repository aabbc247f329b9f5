import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signInFirst, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("keys", () => {
  const dashboard = useDashboard();

  test("an owner creates an admin key that works, sees it once and revokes it, and rotates an API key", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const statusOf = async (path: string, key: string | null) =>
        (await fetch(`${gateway.origin}/v1${path}`, { headers: { authorization: `Bearer ${key}` } })).status;
      await signInFirst(page, gateway);
      await goTo(page, "Admin keys");
      await seeHeading(page, "Admin keys");
      await page.getByText("No admin keys yet").waitFor();
      await page.getByRole("button", { name: "Create admin key" }).first().click();
      await page.getByRole("textbox", { name: "Name" }).fill("terraform");
      await page.getByLabel("Projects, wallets and people").selectOption("Read");
      await page.getByLabel("Allowed networks").fill("everywhere");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByText("is not a network").waitFor();
      await page.getByLabel("Allowed networks").fill("127.0.0.0/8, ::1");
      await page.getByRole("button", { name: "Create key" }).click();
      const secret = await page.locator("[data-secret]").textContent();
      expect(secret).toStartWith("sk-mg-admin-");
      expect(await statusOf("/organization/projects", secret)).toBe(200);
      await page.getByRole("button", { name: "I've saved it" }).click();
      await page.getByText("accounts:read, usage:read").waitFor();
      expect(await page.content()).not.toContain(secret);
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Revoke terraform" }).click();
      await page.getByText("or an admin key that it created").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Revoke key" }).click();
      await page.getByText("revoked", { exact: true }).waitFor();
      expect(await statusOf("/organization/projects", secret)).toBe(401);

      await goTo(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      await page.getByRole("textbox", { name: "Name" }).fill("laptop");
      await page.getByRole("button", { name: "Create key" }).click();
      const first = await page.locator("[data-secret]").textContent();
      await page.getByRole("button", { name: "I've saved it" }).click();
      await page.getByRole("button", { name: "Rotate laptop" }).click();
      await page.getByLabel("The old secret still works for").selectOption("Not at all");
      await page.getByRole("button", { name: "Rotate key" }).click();
      const second = await page.locator("[data-secret]").textContent();
      expect(await findViolations(page)).toEqual([]);
      expect([await statusOf("/key", first), await statusOf("/key", second)]).toEqual([401, 200]);
    }));
});
