import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("prompts and answers that are kept", () => {
  const dashboard = useDashboard({ CONTENT_LOG: "selected" });
  let accountId: string;
  let key: string;

  beforeAll(async () => {
    accountId = await createUser(dashboard, "ada@example.org");
    ({ key } = await dashboard.gateway.cli<{ key: string }>("key", "create", "--account", accountId, "--name", "app"));
    await dashboard.visit((page) => signInFirst(page, dashboard.gateway));
  });

  const openAccount = async (page: Page) => {
    await signIn(page, "owner@localhost", `/admin/accounts/${accountId}?tab=account`);
    return page.getByRole("region", { name: "Prompts and answers" });
  };
  const openRequest = async (page: Page, model: string) => {
    await page.goto("/requests");
    await page.getByRole("button", { name: model }).click();
    return page.getByRole("dialog").getByRole("region", { name: "Content" });
  };

  test("are switched on by an administrator, shown on the account's pages, and looked at with an audit entry", async () => {
    await dashboard.visit(async (page) => {
      const section = await openAccount(page);
      await section.getByLabel("Keep prompts and answers of the key “app”").click();
      const kept = section.locator(".check input:checked");
      await kept.first().waitFor();
      await section.getByLabel("Keep prompts and answers of all calls of ada@example.org").click();
      await kept.nth(1).waitFor();
      expect(await findViolations(page)).toEqual([]);
    });
    const content = `My mail is ada@example.org. ${"A long story. ".repeat(200)}`;
    const response = await fetch(`${dashboard.gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "famA-4o-mini", messages: [{ role: "user", content }] }),
    });
    expect(response.status).toBe(200);

    await dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", "/keys");
      await page.getByText("prompts kept").waitFor();
      await page.getByText("keeps the prompts and answers of your calls").waitFor();
      expect(await findViolations(page)).toEqual([]);
      // It is written a moment after the answer.
      await page.waitForFunction(async () => (await (await fetch("/dashboard/api/content")).json()).records === 1);
      const panel = await openRequest(page, "gpt-4o-mini");
      await panel.getByRole("button", { name: "Show content" }).click();
      await panel.getByText(/^My mail is .redacted.\./).waitFor();
      await panel
        .getByRole("button", { name: /^Show all/ })
        .first()
        .click();
      await panel.getByText("assistant", { exact: true }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    });

    await dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      const panel = await openRequest(page, "gpt-4o-mini");
      await panel.getByText("recorded in the audit log").waitFor();
      await panel.getByRole("button", { name: "Show content" }).click();
      await panel.getByText(/^My mail is .redacted.\./).waitFor();
      expect(await panel.getByRole("button", { name: "Delete content" }).count()).toBe(0);
      await page.goto("/admin/audit");
      await page.getByText(/^Viewed the content of request req_/).waitFor();
      await page.getByText("Began keeping prompts and answers of the account").waitFor();
    });

    await dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", "/settings");
      await seeHeading(page, "Account settings");
      const section = page.getByRole("region", { name: "Prompts and answers" });
      await section.getByText("Content stored for 1 request").waitFor();
      await section.getByRole("button", { name: "Delete all…" }).click();
      await page.getByRole("button", { name: "Delete content" }).click();
      await section.getByText("Content stored for 0 requests").waitFor();
      await page.goto("/requests");
      await page.getByRole("button", { name: "gpt-4o-mini" }).click();
      await page.getByRole("dialog").getByText("Finish reason").waitFor();
      expect(await page.getByRole("region", { name: "Content" }).count()).toBe(0);
    });
  });
});
