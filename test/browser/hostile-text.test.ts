import { describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { hasChromium } from "./chromium.ts";
import { createUser, signIn, testMsMax, useDashboard } from "./dashboard.ts";

const hostile = `"'><img src=x onerror=alert(1)><script>alert(2)</script>`;

/** Whether anything of it became more than text. */
async function ranIn(page: Page): Promise<string[]> {
  const images = await page.locator("img[src='x']").count();
  const scripts = await page.locator("script:not([src])").count();
  return [...(images > 0 ? ["an image"] : []), ...(scripts > 0 ? ["a script"] : [])];
}

describe.skipIf(!hasChromium)("what people write", () => {
  const dashboard = useDashboard();

  test(
    "is shown as the text it is, in every field",
    () =>
      dashboard.visit(async (page) => {
        page.on("dialog", (dialog) => {
          throw new Error(`A script ran: ${dialog.message()}`);
        });
        const email = "eve@example.org";
        await createUser(dashboard, email);
        await dashboard.gateway.cli("wallet", "credit", "--account", email, "--usd", "1", "--note", hostile);
        await signIn(page, email);

        await page.getByRole("link", { name: "API keys" }).click();
        await page.getByRole("button", { name: "New API key" }).first().click();
        await page.getByRole("textbox", { name: "Name" }).fill(hostile);
        await page.getByRole("button", { name: "Make key" }).click();
        await page.getByRole("button", { name: "I have kept it" }).click();
        await page.getByRole("cell", { name: hostile }).first().waitFor();
        expect(await ranIn(page)).toEqual([]);
        await page.getByRole("button", { name: `Revoke ${hostile}` }).click();
        await page.getByRole("button", { name: "Revoke key" }).click();
        await page.getByText(`“${hostile}” is revoked`).waitFor();

        await page.getByRole("link", { name: "Billing" }).click();
        await page.getByRole("cell", { name: hostile }).waitFor();
        await page.getByRole("textbox", { name: "Redeem a voucher" }).fill(hostile);
        await page.getByRole("button", { name: "Redeem" }).click();
        await page.getByText("No voucher has this code").waitFor();
        expect(await ranIn(page)).toEqual([]);

        await page.getByRole("link", { name: "Models" }).click();
        await page.getByRole("searchbox").fill(hostile);
        await page.getByText("No model fits").waitFor();

        await page.goto(`/playground?model=${encodeURIComponent(hostile)}`);
        await page.getByLabel("System message").fill(hostile);
        await page.getByLabel("Your message").fill(hostile);
        await page.keyboard.press("Enter");
        await page.locator(".turn.is-user").getByText(hostile).waitFor();
        await page.locator(".turn.is-assistant .turn-end").waitFor();
        expect(await page.locator(".turn.is-assistant .turn-text").textContent()).toContain(hostile);
        expect(await ranIn(page)).toEqual([]);

        await page.goto(`/admin/${encodeURIComponent(hostile)}`);
        await page.getByText("There is no such page").waitFor();
        expect(await ranIn(page)).toEqual([]);
      }),
    testMsMax,
  );

  test(
    "and is too long is refused with what is wrong, and nothing is made",
    () =>
      dashboard.visit(async (page) => {
        await createUser(dashboard, "max@example.org");
        await signIn(page, "max@example.org");
        await page.getByRole("link", { name: "API keys" }).click();
        await page.getByRole("button", { name: "New API key" }).first().click();
        await page.getByRole("textbox", { name: "Name" }).fill("x".repeat(10_000));
        await page.getByText("10000 of at most 200 characters").waitFor();
        await page.getByRole("button", { name: "Make key" }).click();
        await page.locator(".wrong").waitFor();
        expect(await page.locator(".wrong").textContent()).toContain("name");
        expect(await page.getByRole("textbox", { name: "Name" }).getAttribute("aria-invalid")).toBe("true");
        await page.getByRole("button", { name: "Cancel" }).click();
        await page.getByText("No API key is active").waitFor();
      }),
    testMsMax,
  );
});
