import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createAdmin, createUser, goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount, seeTexts } from "./seen.ts";

describe.skipIf(!hasChromium)("an operator", () => {
  const dashboard = useDashboard();

  test("reverses a credit in the transactions of an account, once, and sees it in the statement and the audit log", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await signInFirst(page, gateway);
      const id = await createUser(dashboard, "ada@example.org");
      const { code } = await gateway.cli<{ code: string }>("voucher", "create", "--usd", "3");
      await dashboard.visit(async (holder) => {
        await signIn(holder, "ada@example.org", "/billing");
        await holder.getByLabel("Redeem a voucher").fill(code);
        await holder.getByRole("button", { name: "Redeem" }).click();
        await holder.getByText("Belongs to its voucher").waitFor({ state: "detached" });
        await holder.getByText("$3.00").first().waitFor();
        // Holders reverse nothing.
        expect(await holder.getByRole("button", { name: /^Reverse/ }).count()).toBe(0);
      });
      const credit = (usd: string, note: string) =>
        gateway.cli("wallet", "credit", "--account", id, "--usd", usd, "--note", note);
      await credit("50000", "Invoice 7");
      await page.goto(`/admin/accounts/${id}`);
      const section = page.getByRole("region", { name: "Transactions" });
      await section.getByText("Belongs to its voucher").waitFor();
      await section.getByRole("button", { name: "Reverse the credit of $50,000.00: Invoice 7" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Reason").fill("Meant 5");
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Reverse credit" }).click();
      await page.getByText("The credit is reversed; the balance is $3.00").waitFor();
      await section.getByText("Reversal: Meant 5").waitFor();
      await section.getByText("Reversed", { exact: true }).waitFor();
      await seeCount(section.getByRole("button", { name: /^Reverse/ }), 0);
      expect(await findViolations(page)).toEqual([]);

      const rows = await gateway.cli<{ id: string; kind: string; irreversible: string | null }[]>(
        ...["wallet", "list", "--account", id],
      );
      expect(rows.map(({ kind, irreversible }) => [kind, irreversible])).toEqual([
        ["debit", "debit"],
        ["credit", "reversed"],
        ["credit", "voucher"],
      ]);
      await page.goto(`/statement?account=${id}`);
      await page.getByText("Reversal: Meant 5").waitFor();
      await goTo(page, "Audit log");
      await page.getByText("Reversed a credit of $50,000.00: Meant 5").waitFor();
    }));

  test("gives the people of a group a role in a team and in the gateway, changes it and takes it away", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await createAdmin(dashboard, "olga@example.org");
      await signIn(page, "olga@example.org");
      await gateway.cli("team", "create", "--name", "Search", "--person", "olga@example.org");
      const { key } = await gateway.cli<{ key: string }>(
        ...["admin-key", "create", "--name", "entra", "--scopes", "scim:write"],
      );
      const push = (path: string, body: object) =>
        fetch(`${gateway.origin}/scim/v2${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/scim+json" },
          body: JSON.stringify(body),
        });
      const user = (await (await push("/Users", { userName: "ben@example.org" })).json()) as { id: string };
      const group = { displayName: "search-developers", members: [{ value: user.id }] };
      expect((await push("/Groups", group)).status).toBe(201);

      await goTo(page, "Groups");
      await seeHeading(page, "Groups");
      await page.getByText("search-developers (1 person)").waitFor();
      const dialog = page.getByRole("dialog");
      const rows = page.locator("tbody tr");
      const add = () => page.getByRole("button", { name: "Add a group" }).click();
      await add();
      await dialog.getByLabel("Group").fill("Search-Developers");
      await dialog.getByLabel("Role in").selectOption("Search");
      await dialog.getByLabel("Keys that people made").check();
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Add group" }).click();
      await page.getByRole("button", { name: "Change Search-Developers in Search" }).waitFor();
      expect(await rows.first().textContent()).toMatch(/1 person.*Search.*Member.*stay/);

      await add();
      await dialog.getByLabel("Group").fill("auditors");
      expect(await dialog.getByRole("option", { name: "Owner" }).isDisabled()).toBe(true);
      await dialog.getByText("Only owners name a group whose people are owners").waitFor();
      await dialog.getByRole("button", { name: "Add group" }).click();
      await page.getByText("not pushed yet").waitFor();
      await seeTexts(rows.locator("td:nth-child(2)"), ["Search", "The gateway"]);
      expect(await findViolations(page)).toEqual([]);

      await page.getByRole("button", { name: "Change Search-Developers in Search" }).click();
      await dialog.getByLabel("Role").selectOption("Team admin");
      await dialog.getByRole("button", { name: "Save" }).click();
      await rows.first().getByText("Team admin").waitFor();
      await page.getByRole("link", { name: "Search", exact: true }).click();
      await page.getByRole("region", { name: "Team" }).last().getByText("ben@example.org").first().waitFor();
      await page.goBack();

      await page.getByRole("button", { name: "Remove Search-Developers in Search" }).click();
      await dialog.getByText("leave the team Search").waitFor();
      await dialog.getByRole("button", { name: "Remove", exact: true }).click();
      await page.getByText("search-developers (1 person)").waitFor();
    }));
});
