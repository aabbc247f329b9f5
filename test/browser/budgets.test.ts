import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createAdmin, createCaller, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("budgets by subject", () => {
  const dashboard = useDashboard();

  test("are made, looked into, raised and deleted by an operator on the page of an account", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      const email = "fay@example.org";
      const { id, ask } = await createCaller(dashboard, email);
      const dialog = page.getByRole("dialog");
      const row = (text: string) => page.locator("tr", { hasText: text });
      const open = () => page.getByRole("button", { name: "New budget" }).click();
      await page.goto(`/admin/accounts/${id}`);
      await seeHeading(page, email);
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Budgets" }).click();
      await page.getByText("No budgets").waitFor();

      await open();
      await page.getByLabel("Budget (USD)").fill("1.00");
      await dialog.getByLabel("Period").selectOption("in all");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Create budget" }).click();
      await page.getByText("one that never ends has a name").waitFor();
      await dialog.getByLabel("Period").selectOption("a day");
      await page.getByRole("button", { name: "Create budget" }).click();
      await row("each end user").getByText("each by itself").waitFor();

      await open();
      await page.getByLabel("Counts the calls of").selectOption("Models");
      await page.getByLabel("Whose").selectOption("One of them");
      await page.getByLabel("Name").selectOption("gpt-4.1");
      await page.getByLabel("Budget (USD)").fill("5");
      await dialog.getByLabel("Period").selectOption("in all");
      await page.getByRole("button", { name: "Create budget" }).click();
      await row("model gpt-4.1").getByText("$5.00 in all").waitFor();

      expect((await ask({ user: "ada@example.com" })).status).toBe(200);
      await page.getByRole("button", { name: "Spenders of each end user" }).click();
      await dialog.getByText("ada@example.com").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Close" }).last().click();

      await page.getByRole("button", { name: "Edit each end user" }).click();
      await page.getByLabel("Budget (USD)").fill("0");
      await page.getByRole("button", { name: "Save" }).click();
      await row("each end user").getByText("$0.00 a day").waitFor();
      const refused = await ask({ user: "ada@example.com" });
      expect([refused.status, (await refused.json()).error.code]).toEqual([403, "budget_exceeded"]);
      await page.getByRole("button", { name: "Edit each end user" }).click();
      await page.getByLabel("Raise it by (USD)").fill("2.50");
      await page.getByLabel("Through (UTC)").fill(new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10));
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save" }).click();
      await row("each end user").getByText("$2.50 a day").waitFor();
      await row("each end user").getByText("raised until").waitFor();
      expect((await ask({ user: "ada@example.com" })).status).toBe(200);

      await open();
      await page.getByLabel("Counts the calls of").selectOption("Tags");
      await page.getByLabel("With").selectOption("app");
      await page.getByLabel("Budget (USD)").fill("3");
      await page.getByRole("button", { name: "Create budget" }).click();
      await row("each tag with the key app").getByText("$3.00 a day").waitFor();
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "API keys" }).click();
      await page.getByRole("button", { name: "Edit app" }).click();
      await dialog.getByText("each tag with the key app: $3.00 a day").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Name").fill("website");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("“website” saved").waitFor();
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Budgets" }).click();

      await page.getByRole("button", { name: "Delete each end user" }).click();
      await page.getByRole("button", { name: "Delete budget" }).click();
      await row("each end user").waitFor({ state: "detached" });

      await open();
      await page.getByLabel("Counts the calls of").selectOption("The whole account");
      await page.getByLabel("Budget (USD)").fill("50");
      await dialog.getByLabel("Period").selectOption("a month");
      await page.getByRole("button", { name: "Create budget" }).click();
      await row("the account").getByText("$50.00 a month").waitFor();
      // What was spent before it was set counts.
      expect(await row("the account").textContent()).toMatch(/\$0\.0*[1-9]/);
      await page.getByRole("button", { name: "Edit the account" }).click();
      await dialog.getByLabel("Period").selectOption("a week");
      await page.getByRole("button", { name: "Save" }).click();
      await row("the account").getByText("$50.00 a week").waitFor();
    }));

  test("over each account are made on the page of accounts, and show who spent the most", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "hal@example.org");
      await signIn(page, "hal@example.org");
      const { ask } = await createCaller(dashboard, "gil@example.org");
      expect((await ask({})).status).toBe(200);
      const section = page.getByRole("region", { name: "Budgets over each account" });
      const dialog = page.getByRole("dialog");
      await page.goto("/admin/accounts");
      await section.getByText("No budgets").waitFor();
      await section.getByRole("button", { name: "New budget" }).click();
      await page.getByLabel("Counts the calls of").selectOption("Sessions");
      expect(await dialog.getByLabel("Period").textContent()).toBe("until silent for a day");
      await page.getByLabel("Counts the calls of").selectOption("Each account");
      await page.getByLabel("Budget (USD)").fill("0.000001");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Create budget" }).click();
      await section.getByRole("cell", { name: "each account", exact: true }).waitFor();
      const refused = await ask({});
      expect([refused.status, (await refused.json()).error.code]).toEqual([403, "budget_exceeded"]);
      await section.getByRole("button", { name: "Spenders of each account" }).click();
      await dialog.getByRole("link").first().waitFor();
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Close" }).last().click();
      if (process.env.SCREENSHOTS !== undefined)
        await page.screenshot({ path: process.env.SCREENSHOTS, fullPage: true });
      await section.getByRole("button", { name: "Delete each account" }).click();
      await page.getByRole("button", { name: "Delete budget" }).click();
      await section.getByText("No budgets").waitFor();
      expect((await ask({})).status).toBe(200);
    }));

  test("of an owner are read by an administrator, who cannot change them", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "ben@example.org");
      await signIn(page, "ben@example.org", "/admin/accounts");
      await page.getByRole("link", { name: "owner@localhost", exact: true }).click();
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Budgets" }).click();
      await page.getByRole("region", { name: "Budgets" }).waitFor();
      await page.getByText("No budgets").first().waitFor();
      expect(await page.getByRole("button", { name: "New budget" }).count()).toBe(0);
      expect(await page.getByRole("button", { name: /^Edit/ }).count()).toBe(0);
    }));
});
