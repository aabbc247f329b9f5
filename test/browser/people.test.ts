import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import { createAdmin, createUser, goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

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
      await goTo(page, "Accounts");
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

  test("an administrator sees the teams of somebody who leaves, and ends the keys that they made there with one button", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const id = await createUser(dashboard, "eva@example.org");
      const { id: team } = await gateway.cli<{ id: string }>(
        "account",
        "create",
        "--email",
        "search@example.org",
        "--name",
        "Search",
      );
      const made = await gateway.cli<{ value?: string; key?: string }>(
        ...(["admin-key", "create", "--name", "test", "--scopes", "accounts:write"] as const),
      );
      const added = await fetch(`${gateway.origin}/v1/organization/projects/${team}/users`, {
        method: "POST",
        headers: { authorization: `Bearer ${made.value ?? made.key}`, "content-type": "application/json" },
        body: JSON.stringify({ user_id: id, role: "owner" }),
      });
      expect(added.status).toBe(200);
      await signIn(page, "eva@example.org");
      const value = await page.evaluate(async (account) => {
        const post = async (path: string, body: object) => {
          const headers = { "content-type": "application/json" };
          const response = await fetch(`/dashboard/api${path}`, {
            method: "POST",
            headers,
            body: JSON.stringify(body),
          });
          return (await response.json()) as { key: string };
        };
        await post("/teams/switch", { account });
        return (await post("/keys", { name: "eva-script" })).key;
      }, team);
      const ask = () => fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${value}` } });
      expect((await ask()).status).toBe(200);
      await page.context().clearCookies();
      await createAdmin(dashboard, "olga@example.org");
      await signIn(page, "olga@example.org", `/admin/accounts/${id}`);
      await seeHeading(page, "eva@example.org");
      await openPart(page, "Account");
      await page.getByRole("region", { name: "Teams" }).getByRole("link", { name: "search@example.org" }).waitFor();
      await page.getByRole("link", { name: "1 key made in other accounts" }).click();
      await seeHeading(page, "All API keys");
      await page.getByRole("button", { name: "Revoke eva-script" }).waitFor();
      await seeCount(page.getByRole("button", { name: /^Revoke / }), 1);
      expect(await findViolations(page)).toEqual([]);
      await page.goBack();
      await page.getByRole("button", { name: "Disable account…" }).click();
      await page.getByText("eva-script (search@example.org)").waitFor();
      await page
        .getByText("Nobody else who can sign in is admin of search@example.org: make another member admin there.")
        .waitFor();
      await page.getByText("Stays a member of search@example.org, without access while disabled.").waitFor();
      expect(await page.getByLabel("Revoke this key").isChecked()).toBe(true);
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Disable account", exact: true }).click();
      await page.getByText("eva@example.org is disabled, and 1 key in other accounts revoked").waitFor();
      expect((await ask()).status).toBe(401);
      await page.goto("/admin/accounts?search=search");
      await page.getByRole("link", { name: "no admin" }).click();
      await page.getByRole("region", { name: "Team", exact: true }).getByText("eva@example.org").waitFor();
      expect(new URL(page.url()).hash).toBe("#team");
    }));

  test("a viewer sees the pages of administrators without anything to change, and a demoted one sees them no more", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const id = await createUser(dashboard, "vic@example.org");
      await gateway.cli("account", "set", id, "--role", "viewer");
      await signIn(page, "vic@example.org");
      await goTo(page, "Accounts");
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
        ["Models and prices", "Add model"],
        ["API keys", "Create API key"],
      ] as const) {
        await goTo(page, link);
        await seeHeading(page, link);
        expect([link, await page.getByRole("button", { name: button }).count()]).toEqual([link, 0]);
      }
      await gateway.cli("account", "set", id, "--role", "member");
      await page.getByRole("link", { name: "Accounts", exact: true }).waitFor({ state: "hidden" });
    }));
});
