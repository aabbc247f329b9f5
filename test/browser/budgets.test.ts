import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createAdmin, createCaller, goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

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
      // A sum of each name that clients make up would be kept for ever.
      expect(await dialog.getByRole("option", { name: "in all" }).isDisabled()).toBe(true);
      await dialog.getByText("“In all” is for one of them by name").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByLabel("Whose").selectOption("One of them");
      await dialog.getByLabel("Period").selectOption("in all");
      await dialog.getByLabel("Whose").selectOption("Each by itself");
      expect(await dialog.getByLabel("Period").inputValue()).toBe("day");
      await page.getByRole("button", { name: "Create budget" }).click();
      await row("each end user").getByText("each by itself").waitFor();

      await open();
      await page.getByLabel("Counts the calls of").selectOption("Sessions");
      await dialog.getByText("Requests that name no session count together as one session").waitFor();
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

      await page.getByRole("button", { name: "Edit the budget of each end user" }).click();
      await page.getByLabel("Budget (USD)").fill("0");
      await page.getByRole("button", { name: "Save" }).click();
      await row("each end user").getByText("$0.00 a day").waitFor();
      const refused = await ask({ user: "ada@example.com" });
      expect([refused.status, (await refused.json()).error.code]).toEqual([403, "budget_exceeded"]);
      await page.getByRole("button", { name: "Edit the budget of each end user" }).click();
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

      await page.getByRole("button", { name: "Delete the budget of each end user" }).click();
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
      await page.getByRole("button", { name: "Edit the budget of the account" }).click();
      await dialog.getByLabel("Period").selectOption("a week");
      await page.getByRole("button", { name: "Save" }).click();
      await row("the account").getByText("$50.00 a week").waitFor();
    }));

  test("for everybody are made on the page of all budgets, the nearest to its limit first", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "hal@example.org");
      await signIn(page, "hal@example.org");
      const { ask } = await createCaller(dashboard, "gil@example.org");
      expect((await ask({}, { "session-id": "run-1" })).status).toBe(200);
      const section = page.getByRole("region", { name: "Budgets", exact: true });
      const dialog = page.getByRole("dialog");
      const row = (text: string) => section.locator("tbody tr", { hasText: text });
      const open = () => page.getByRole("button", { name: "Budget for everybody" }).click();
      const create = () => page.getByRole("button", { name: "Create budget" }).click();
      await goTo(page, "Budgets and limits");
      await seeHeading(page, "Budgets and limits");

      await open();
      await dialog.getByText("The budget of one account is set on its own page").waitFor();
      expect(await dialog.getByRole("option", { name: "One of them" }).isDisabled()).toBe(true);
      await page.getByLabel("Counts the calls of").selectOption("Sessions");
      expect(await dialog.getByLabel("Period").textContent()).toBe("until silent for a day");
      await dialog.getByText("A session goes on over midnight").waitFor();
      await page.getByLabel("Budget (USD)").fill("5");
      await create();
      await row("each session").getByText("$5.00 until silent for a day").waitFor();
      await row("each session").getByText("until it is silent for a day").waitFor();

      await open();
      expect(await dialog.getByLabel("Period").inputValue()).toBe("month");
      await page.getByLabel("Budget (USD)").fill("0.000001");
      expect(await findViolations(page)).toEqual([]);
      await create();
      await row("each account").getByText("most: fay@example.org").waitFor();
      // It is reached, so it comes before all others.
      const first = section.locator("tbody tr").first();
      expect(await first.textContent()).toContain("each account");
      expect(await first.textContent()).toMatch(/[1-9]\d{2,} %.*Paid requests are refused until/);
      const refused = await ask({});
      expect([refused.status, (await refused.json()).error.code]).toEqual([403, "budget_exceeded"]);

      await open();
      await page.getByLabel("Budget (USD)").fill("7");
      await dialog.getByText("There is a budget for this already").waitFor();
      expect(await dialog.getByRole("button", { name: "Create budget" }).isDisabled()).toBe(true);
      await dialog.getByRole("button", { name: "Cancel" }).click();

      await page.getByRole("button", { name: "Budget for one account" }).click();
      await dialog.getByLabel("Search accounts").fill("gil");
      await dialog.getByRole("button", { name: "gil@example.org" }).click();
      await page.getByLabel("Counts the calls of").selectOption("API keys");
      await page.getByLabel("Whose").selectOption("One of them");
      await page.getByLabel("Name").selectOption("app");
      await page.getByLabel("Budget (USD)").fill("40");
      await create();
      await row("key app").getByRole("link", { name: "gil@example.org" }).waitFor();
      await page.getByLabel("Search budgets").fill("gil");
      await row("each session").waitFor({ state: "detached" });
      await page.getByLabel("Search budgets").fill("");
      expect(await findViolations(page)).toEqual([]);
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
      await page.setViewportSize({ width: 1440, height: 900 });

      await section.getByRole("button", { name: "Spenders of each account of everybody" }).click();
      await dialog.getByRole("link").first().waitFor();
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Close" }).last().click();
      await section.getByRole("button", { name: "Delete the budget of each account of everybody" }).click();
      await page.getByRole("button", { name: "Delete budget" }).click();
      await row("each account").waitFor({ state: "detached" });
      expect((await ask({})).status).toBe(200);
    }));

  test("stand in for the wallet of an account that is billed afterwards, which shows what it owes", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "ina@example.org");
      await signIn(page, "ina@example.org");
      const { id, ask } = await createCaller(dashboard, "kim@example.org");
      await dashboard.gateway.cli("wallet", "debit", "--account", id, "--usd", "20", "--note", "nothing left");
      expect((await ask({})).status).toBe(403);
      await page.goto(`/admin/accounts/${id}?tab=account`);
      const section = page.getByRole("region", { name: "Payment" });
      await section.getByText("Paid requests need credit.").waitFor();
      await section.getByLabel("Pays").selectOption("Afterwards, up to its budget");
      expect(await section.getByRole("button", { name: "Set payment" }).isDisabled()).toBe(true);
      await section.getByLabel("Budget of the account (USD)").fill("300");
      expect(await findViolations(page)).toEqual([]);
      await section.getByRole("button", { name: "Set payment" }).click();
      await page.getByText("kim@example.org is billed afterwards").waitFor();
      await page.getByText("Balance, billed afterwards").waitFor();
      expect((await ask({})).status).toBe(200);
      await page.reload();
      await section.getByText(/of \$300.00 spent this month/).waitFor();
      expect(await section.locator(".facts").textContent()).toMatch(/Owes\$0\.0*[1-9]/);
      expect(await section.locator(".facts").textContent()).toMatch(/Charged this month\$0\.0*[1-9]/);

      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Budgets" }).click();
      const row = page.locator("tr", { hasText: "the account" });
      await row.getByText("in place of the wallet").waitFor();
      expect(await row.getByRole("button", { name: "Delete the budget of the account" }).count()).toBe(0);
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Account" }).click();
      await section.getByLabel("Pays").selectOption("From its wallet");
      await section.getByRole("button", { name: "Set payment" }).click();
      await page.getByText("kim@example.org pays from its wallet").waitFor();
      expect((await ask({})).status).toBe(403);
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
