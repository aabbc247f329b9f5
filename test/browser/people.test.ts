import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

const openPart = (page: Page, name: string) =>
  page.getByRole("group", { name: "Part" }).getByRole("button", { name, exact: true }).click();

describe.skipIf(!hasChromium)("roles", () => {
  const dashboard = useDashboard();

  test("an owner makes a second administrator, who manages members, and not the owner", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      const id = await createUser(dashboard, "ben@example.org");
      await createUser(dashboard, "carl@example.org");
      await page.goto(`/admin/accounts/${id}?tab=account`);
      await seeHeading(page, "ben@example.org");
      await page.getByLabel("Role", { exact: true }).selectOption("Administrator");
      await page.getByLabel("Name").fill("Ben");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("ben@example.org saved").waitFor();

      // The owner is the last one.
      await page.getByRole("link", { name: "All accounts" }).click();
      await page.getByRole("link", { name: "owner@localhost", exact: true }).click();
      await seeHeading(page, "owner@localhost");
      await openPart(page, "Account");
      await page.getByLabel("Role", { exact: true }).selectOption("Member");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("This is the last owner who can sign in").waitFor();

      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await seeHeading(page, "Sign in");
      await signIn(page, "ben@example.org");
      await page.locator(".nav").getByRole("link", { name: "Accounts", exact: true }).click();
      await page.getByRole("link", { name: "owner@localhost", exact: true }).click();
      await seeHeading(page, "owner@localhost");
      await openPart(page, "Account");
      expect(await page.getByLabel("Role", { exact: true }).count()).toBe(0);
      await openPart(page, "Sign-in");
      await page.getByRole("region").first().waitFor();
      expect(await page.getByRole("button", { name: "Create invitation" }).count()).toBe(0);
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("link", { name: "All accounts" }).click();
      await page.getByRole("link", { name: "carl@example.org" }).click();
      await openPart(page, "Account");
      await page.getByLabel("Email").fill("carla@example.org");
      await page.getByRole("button", { name: "Save" }).click();
      await seeHeading(page, "carla@example.org");
      await page.getByLabel("Only selected models").check();
      await page.getByLabel("Search models").fill("4.1-nano");
      await page.getByRole("checkbox", { name: /^gpt-4\.1-nano/ }).check();
      await page.getByRole("button", { name: "Set models" }).click();
      await page.getByText("carla@example.org may use 1 model").waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));

  test("a viewer sees the pages of administrators without anything to change, and a demoted one sees them no more", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const id = await createUser(dashboard, "vic@example.org");
      await gateway.cli("account", "set", id, "--role", "viewer");
      await signIn(page, "vic@example.org");
      await page.locator(".nav").getByRole("link", { name: "Accounts", exact: true }).click();
      await page.getByRole("link", { name: "owner@localhost", exact: true }).click();
      await seeHeading(page, "owner@localhost");
      await openPart(page, "Account");
      await page.getByText("Requests per minute").waitFor();
      const changes = [
        "Save",
        "Add credit",
        "Set quota",
        "Set models",
        "Disable account…",
        "Create API key",
        "Create invitation",
      ];
      for (const part of ["Account", "API keys", "Activity", "Sign-in"]) {
        await openPart(page, part);
        await page.getByRole("region").first().waitFor();
        for (const name of changes) {
          expect([part, name, await page.locator("main").getByRole("button", { name }).count()]).toEqual([
            part,
            name,
            0,
          ]);
        }
      }
      expect(await findViolations(page)).toEqual([]);
      for (const [link, button] of [
        ["Vouchers", "New voucher"],
        ["API keys", "Create API key"],
      ] as const) {
        await page.getByRole("link", { name: link, exact: true }).click();
        await seeHeading(page, link);
        expect(await page.getByRole("button", { name: button }).count()).toBe(0);
      }
      await gateway.cli("account", "set", id, "--role", "member");
      await page.getByRole("link", { name: "Accounts", exact: true }).waitFor({ state: "hidden" });
    }));
});
