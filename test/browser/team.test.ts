import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, ownPassword, seeFirstPage, seeHeading, signIn, useDashboard } from "./dashboard.ts";
import { seeTexts } from "./seen.ts";

describe.skipIf(!hasChromium)("a team", () => {
  const dashboard = useDashboard({ SIGNUP: "closed" });

  test("takes in a new person by a link, who switches between two accounts, and loses one when removed", async () => {
    await createUser(dashboard, "ada@example.org");
    let link = "";
    await dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", "/team");
      await page.getByRole("button", { name: "Invite to team" }).click();
      await page.getByLabel("Email (optional)").fill("ben@example.org");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Create link" }).click();
      await page.getByText("Invitation created").waitFor();
      link = (await page.locator(".dialog pre").textContent()) ?? "";
      expect(link).toContain("/#team=");
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByText("invited", { exact: true }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    });
    await dashboard.visit(async (page) => {
      await page.goto(link);
      await seeHeading(page, "Join ada@example.org");
      expect(await page.getByLabel("Email").inputValue()).toBe("ben@example.org");
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Name").fill("Ben");
      await page.getByLabel("Password", { exact: true }).fill(ownPassword);
      await page.getByRole("button", { name: "Create and join" }).click();
      await seeFirstPage(page);
      expect(new URL(page.url()).hash).toBe("");
      const accounts = page.getByLabel("Account", { exact: true });
      await accounts.waitFor();
      await seeTexts(accounts.locator("option"), ["Ben (own)", "ada@example.org"]);
      expect(await accounts.locator("option:checked").textContent()).toBe("ada@example.org");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Team", exact: true }).click();
      await seeHeading(page, "Team");
      await page.getByText("Account holder").waitFor();
      expect(await page.getByRole("button", { name: "Invite to team" }).count()).toBe(0);

      await accounts.selectOption("Ben (own)");
      await seeFirstPage(page);
      await page.getByRole("option", { name: "Ben (own)", selected: true }).waitFor({ state: "attached" });
      await accounts.selectOption("ada@example.org");
      await page.getByRole("option", { name: "ada@example.org", selected: true }).waitFor({ state: "attached" });

      const tab = await page.context().newPage();
      await tab.goto("/keys");
      await tab.getByRole("button", { name: "Create API key" }).first().click();
      await tab.getByRole("textbox", { name: "Name" }).fill("laptop");
      // The tab does not hear of the switch before it writes.
      await tab.route("**/dashboard/api/me*", (route) => route.abort());
      await accounts.selectOption("Ben (own)");
      await page.getByRole("option", { name: "Ben (own)", selected: true }).waitFor({ state: "attached" });
      await tab.getByRole("button", { name: "Create key" }).click();
      await tab.getByText("Nothing was changed: this page shows another account").waitFor();
      await tab.unroute("**/dashboard/api/me*");
      await tab.getByText("Account switched elsewhere").waitFor();
      expect(await findViolations(tab)).toEqual([]);
      await tab.getByRole("button", { name: "Switch back" }).click();
      await tab.getByText("Account switched elsewhere").waitFor({ state: "detached" });
      await tab.getByRole("button", { name: "Create key" }).click();
      await tab.getByText("API key created").waitFor();
      await tab.close();
      await page.getByText("You are now working in ada@example.org").waitFor();
      await page.getByRole("button", { name: "Reload" }).click();
      await page.getByRole("option", { name: "ada@example.org", selected: true }).waitFor({ state: "attached" });

      await dashboard.visit(async (holder) => {
        await signIn(holder, "ada@example.org", "/team");
        await holder.getByRole("button", { name: "Remove ben@example.org" }).click();
        await holder.getByLabel("Revoke the API keys").waitFor();
        expect(await findViolations(holder)).toEqual([]);
        await holder.getByRole("button", { name: "Remove", exact: true }).click();
        await holder.getByText("ben@example.org is removed").waitFor();
      });
      // The session in the team has ended; a new one begins in the own account.
      await page.getByLabel("Password", { exact: true }).waitFor();
      await signIn(page, "ben@example.org");
      expect(await page.getByLabel("Account", { exact: true }).count()).toBe(0);
    });
  });

  test("takes in a signed-in person, and shows administrators who is in it", async () => {
    const id = await createUser(dashboard, "dora@example.org");
    await createUser(dashboard, "eve@example.org");
    await dashboard.gateway.cli("account", "set", id, "--role", "owner");
    await dashboard.visit(async (page) => {
      await signIn(page, "eve@example.org");
      const { url } = await dashboard.gateway.cli<{ url: string }>("team", "invite", "dora@example.org");
      await page.goto(new URL(url).pathname + new URL(url).hash);
      await seeHeading(page, "Join dora@example.org");
      await page.getByRole("button", { name: "Join team" }).click();
      await page.getByRole("option", { name: "dora@example.org", selected: true }).waitFor({ state: "attached" });
      await page.goto("/team");
      await page.getByRole("button", { name: "Leave team" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Leave team" }).click();
      await seeFirstPage(page);
      await page.getByLabel("Account", { exact: true }).waitFor({ state: "detached" });
    });
    await dashboard.visit(async (page) => {
      await signIn(page, "dora@example.org", `/admin/accounts/${id}?tab=account`);
      await page.getByText("Account holder").waitFor();
      await page.getByRole("button", { name: "Invite to team" }).waitFor();
      expect(await findViolations(page)).toEqual([]);

      await page.goto("/team");
      await page.getByRole("button", { name: "Create team" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("Search team");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("dialog").getByRole("button", { name: "Create team" }).click();
      await page.getByRole("option", { name: "Search team", selected: true }).waitFor({ state: "attached" });
      await page.goto("/team");
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("Ranking team");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("option", { name: "Ranking team", selected: true }).waitFor({ state: "attached" });
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Switch to dora@example.org" }).click();
      await page.getByRole("option", { name: "dora@example.org (own)", selected: true }).waitFor({ state: "attached" });
    });
  });

  test("shows the budgets by subject of its account, beside what is spent of them", async () => {
    const id = await createUser(dashboard, "fay@example.org");
    const { key } = await dashboard.gateway.cli<{ key: string }>(
      ...["admin-key", "create", "--name", "budgets", "--scopes", "all"],
    );
    const until = Math.floor(Date.now() / 1000) + 86_400;
    for (const budget of [
      { subject: "end_user", budget_usd: "1.00", budget_period: "day" },
      { subject: "end_user", name: "ada@example.com", budget_usd: "20.00", budget_period: "month" },
      {
        subject: "model",
        name: "gpt-4.1",
        budget_usd: "5",
        budget_period: "lifetime",
        raise_usd: "2",
        raise_until: until,
      },
    ]) {
      const response = await fetch(`${dashboard.gateway.origin}/v1/organization/projects/${id}/budgets`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify(budget),
      });
      expect(response.status).toBe(200);
    }
    await dashboard.visit(async (page) => {
      await signIn(page, "fay@example.org", "/team");
      const row = (text: string) => page.locator("tr", { hasText: text });
      await row("each end user").getByText("each by itself").waitFor();
      expect(await row("end user ada@example.com").textContent()).toContain("$20.00 a month");
      const ofModel = await row("4.1").textContent();
      expect(ofModel).toContain("$0.00");
      expect(ofModel).toContain("$7.00 in all");
      expect(ofModel).toContain("raised until");
      expect(await findViolations(page)).toEqual([]);
    });
  });
});
