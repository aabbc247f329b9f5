import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillWallet } from "../support/gateway.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { signIn, signInFirst, useDashboard } from "./dashboard.ts";

const phone = { width: 390, height: 844 };

describe.skipIf(!hasChromium)("a panel of the playground", () => {
  const dashboard = useDashboard();
  beforeAll(async () => {
    await fillWallet(dashboard.gateway);
    await dashboard.visit((page) => signInFirst(page, dashboard.gateway));
  });

  /** Opens the playground at a panel as the owner, who has money. */
  async function open(page: Page, panel: string): Promise<void> {
    await signIn(page, "owner@localhost");
    await page.goto("/playground");
    await page.getByRole("group", { name: "Capability" }).getByRole("button", { name: panel, exact: true }).click();
  }

  /** Waits for the line below a result that says what the call cost. */
  function seeCost(page: Page): Promise<void> {
    return page.getByText(/(charged|free quota) · total [\d.]+ m?s · sandbox$/).waitFor();
  }

  /** Whether nothing of the page is wider than the window. */
  function fitsWindow(page: Page): Promise<boolean> {
    return page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth);
  }

  test("ranks documents by a query, the most relevant first, and as many as wanted", () =>
    dashboard.visit(async (page) => {
      await open(page, "Rerank");
      const rank = page.getByRole("button", { name: "Rank documents" });
      await page.getByLabel("Query").fill("blue sky");
      expect(await rank.isDisabled()).toBe(true);
      await page.getByLabel("Documents", { exact: true }).fill("Grass is green\n\nThe sky is blue\nBlue paint");
      await page.getByText("One per line; 3 so far").waitFor();
      await rank.click();
      const rows = page.getByRole("list", { name: "Documents by relevance" }).getByRole("listitem");
      await rows.nth(2).waitFor();
      const texts = await rows.allInnerTexts();
      expect(texts.map((row) => row.split("\n").map((part) => part.trim()))).toEqual([
        ["The sky is blue", "1.000"],
        ["Blue paint", "0.500"],
        ["Grass is green", "0.000"],
      ]);
      await seeCost(page);
      await page.getByLabel("Results").fill("1");
      await rank.click();
      await rows.nth(1).waitFor({ state: "detached" });
      expect(await rows.count()).toBe(1);
      await page.getByRole("button", { name: "Show as curl" }).click();
      expect(await page.locator(".code pre").textContent()).toContain('"top_n": 1');
      expect(await findViolations(page)).toEqual([]);
    }));

  test("shows which categories of a moderated text are flagged, with all scores, on a phone as well", () =>
    dashboard.visit(
      async (page) => {
        await open(page, "Moderation");
        await page.getByLabel("Text", { exact: true }).fill("I like trees");
        await page.getByRole("button", { name: "Check text" }).click();
        await page.getByText("Not flagged", { exact: true }).waitFor();
        await page.getByLabel("Text", { exact: true }).fill("This names violence");
        await page.getByRole("button", { name: "Check text" }).click();
        await page.getByText("Flagged", { exact: true }).waitFor();
        const rows = page.getByRole("list", { name: "Categories" }).getByRole("listitem");
        const texts = (await rows.allInnerTexts()).map((row) => row.replaceAll(/\s+/g, " "));
        expect(texts.slice(0, 3)).toEqual([
          "violence flagged 0.900",
          "violence/graphic flagged 0.900",
          "harassment 0.010",
        ]);
        await seeCost(page);
        expect(await fitsWindow(page)).toBe(true);
        expect(await findViolations(page)).toEqual([]);
      },
      { viewport: phone, colorScheme: "dark" },
    ));
});
