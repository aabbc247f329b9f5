import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createAdmin, createCaller, createUser, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

/** The status of an answer, and the limit that it names, without its figures. */
const limitOf = ({ status, headers }: Response) => [
  status,
  headers.get("x-modelgate-limit")?.split(";").slice(0, 2).join(";"),
];

describe.skipIf(!hasChromium)("limits of accounts", () => {
  const dashboard = useDashboard();

  test("are set, changed and deleted by an operator on the page of an account, and refuse a call", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      const email = "fay@example.org";
      const { id, ask } = await createCaller(dashboard, email);
      const dialog = page.getByRole("dialog");
      const row = page.locator("tr", { hasText: "gpt-4.1" });
      await page.goto(`/admin/accounts/${id}?tab=account`);
      await seeHeading(page, email);
      await page.getByText("No limits of models").waitFor();

      await page.getByRole("button", { name: "Limit a model" }).click();
      await dialog.getByLabel("Model", { exact: true }).selectOption("gpt-4.1");
      await dialog.getByLabel("With").selectOption("app");
      await dialog.getByLabel("Tokens per minute").fill("1");
      await dialog.getByLabel("Concurrent calls").fill("0");
      expect(await dialog.getByRole("button", { name: "Set limits" }).isDisabled()).toBe(true);
      await dialog.getByLabel("Concurrent calls").fill("");
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Set limits" }).click();
      await row.getByText("app", { exact: true }).waitFor();
      // A call that is larger than the limit is let in when nothing of the minute is used.
      expect(limitOf(await ask())).toEqual([200, undefined]);
      expect(limitOf(await ask())).toEqual([429, "tokens_per_minute;owner=key"]);

      await row.getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("Tokens per minute").fill("1000000");
      await dialog.getByRole("button", { name: "Set limits" }).click();
      await row.getByText("1,000,000").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await row.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("button", { name: "Delete limits" }).click();
      await page.getByText("No limits of models").waitFor();
    }));

  test("are set for a role, and the page of an account says that they are from it", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "ops@example.org");
      await signIn(page, "ops@example.org");
      const email = "gus@example.org";
      const id = await createUser(dashboard, email);
      await page.goto("/admin/budgets");
      const section = page.getByRole("region", { name: "Limits by role" });
      const row = section.locator("tr", { hasText: "Member" });
      const dialog = page.getByRole("dialog");
      await row.waitFor();
      expect(await section.getByRole("button", { name: "Edit the limits of Owner" }).count()).toBe(0);
      await section.getByRole("button", { name: "Edit the limits of Member" }).click();
      await dialog.getByLabel("Requests per minute").fill("0");
      expect(await dialog.getByRole("button", { name: "Set limits" }).isDisabled()).toBe(true);
      await dialog.getByLabel("Requests per minute").fill("77");
      await dialog.getByLabel("Free tokens per day").fill("0");
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Set limits" }).click();
      await row.getByText("77", { exact: true }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.goto(`/admin/accounts/${id}?tab=account`);
      await seeHeading(page, email);
      const limits = page.getByRole("region", { name: "Limits", exact: true });
      await limits.getByText("77 (from the role’s default)").waitFor();
      await limits.getByText("0 (from the role’s default)", { exact: true }).waitFor();
      await limits.getByLabel("Requests per minute").fill("5");
      await limits.getByRole("button", { name: "Set limits" }).click();
      await limits.locator("dd", { hasText: /^5\s*$/ }).waitFor();
    }));

  test("are set for each account on the page of limits, and refuse a call of an account without its own", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "olga@example.org");
      await signIn(page, "olga@example.org");
      const { ask } = await createCaller(dashboard, "hal@example.org");
      await page.goto("/admin/budgets");
      const section = page.getByRole("region", { name: "Limits of models" });
      const row = section.locator("tr", { hasText: "gpt-4.1" });
      const dialog = page.getByRole("dialog");
      await section.getByText("No limits of models").waitFor();

      await section.getByRole("button", { name: "Limit a model" }).click();
      await dialog.getByLabel("Model", { exact: true }).selectOption("gpt-4.1");
      expect(await dialog.getByLabel("With").count()).toBe(0);
      await dialog.getByLabel("Tokens per minute").fill("1");
      await dialog.getByRole("button", { name: "Set limits" }).click();
      await row.waitFor();
      expect(limitOf(await ask())).toEqual([200, undefined]);
      expect(limitOf(await ask())).toEqual([429, "tokens_per_minute;owner=account"]);

      expect(await findViolations(page)).toEqual([]);
      await row.getByRole("button", { name: "Delete" }).click();
      await dialog.getByRole("button", { name: "Delete limits" }).click();
      await section.getByText("No limits of models").waitFor();
    }));
});
