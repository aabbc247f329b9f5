import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { hasChromium } from "./chromium.ts";
import { createUser, goTo, signIn, useDashboard } from "./dashboard.ts";

const hostile = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;

/** Lists what was interpreted as HTML. */
async function findInjected(page: Page): Promise<string[]> {
  const images = await page.locator("img[src='x']").count();
  const scripts = await page.locator("script:not([src])").count();
  return [...(images > 0 ? ["an image"] : []), ...(scripts > 0 ? ["a script"] : [])];
}

describe.skipIf(!hasChromium)("hostile text", () => {
  const dashboard = useDashboard();

  test("is rendered as plain text in every field", () =>
    dashboard.visit(async (page) => {
      page.on("dialog", (dialog) => {
        throw new Error(`A script ran: ${dialog.message()}`);
      });
      const email = "eve@example.org";
      await createUser(dashboard, email);
      await dashboard.gateway.cli("wallet", "credit", "--account", email, "--usd", "1", "--note", hostile);
      await signIn(page, email);

      await goTo(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      await page.getByRole("textbox", { name: "Name" }).fill(hostile);
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("button", { name: "I've saved it" }).click();
      await page.getByRole("cell", { name: hostile }).first().waitFor();
      expect(await findInjected(page)).toEqual([]);
      await page.getByRole("button", { name: `Revoke ${hostile}` }).click();
      await page.getByRole("button", { name: "Revoke key" }).click();
      await page.getByText(`“${hostile}” revoked`).waitFor();

      await goTo(page, "Billing");
      await page.getByRole("cell", { name: hostile }).waitFor();
      await page.getByRole("textbox", { name: "Redeem a voucher" }).fill(hostile);
      await page.getByRole("button", { name: "Redeem" }).click();
      await page.getByText("No voucher has this code").waitFor();
      expect(await findInjected(page)).toEqual([]);

      await goTo(page, "Models");
      await page.getByRole("searchbox").fill(hostile);
      await page.getByText("No models match").waitFor();

      await page.goto(`/playground?model=${encodeURIComponent(hostile)}`);
      await page.getByLabel("System message").fill(hostile);
      await page.getByLabel("Your message").fill(hostile);
      await page.keyboard.press("Enter");
      await page.locator(".turn.is-user").getByText(hostile).waitFor();
      await page.locator(".turn.is-assistant .turn-end").waitFor();
      expect(await page.locator(".turn.is-assistant .turn-text").textContent()).toContain(hostile);
      expect(await findInjected(page)).toEqual([]);

      await page.goto(`/admin/${encodeURIComponent(hostile)}`);
      await page.getByText("Page not found").waitFor();
      expect(await findInjected(page)).toEqual([]);
    }));

  test("that is too long is rejected with an error at the field, and creates nothing", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "max@example.org");
      await signIn(page, "max@example.org");
      await goTo(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      await page.getByRole("textbox", { name: "Name" }).fill("x".repeat(10_000));
      await page.getByText("10000 of at most 200 characters").waitFor();
      await page.getByRole("button", { name: "Create key" }).click();
      await page.locator(".wrong").waitFor();
      expect(await page.locator(".wrong").textContent()).toContain("name");
      expect(await page.getByRole("textbox", { name: "Name" }).getAttribute("aria-invalid")).toBe("true");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("No active API keys").waitFor();
    }));
});
