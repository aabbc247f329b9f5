import { describe, expect, test } from "bun:test";
import { hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount, seeTexts } from "./seen.ts";

describe.skipIf(!hasChromium)("a tab that stays open", () => {
  const dashboard = useDashboard();

  test("says that the gateway is away, and that it is back", () =>
    dashboard.visit(async (page, tab) => {
      await signInFirst(page, dashboard.gateway);
      await tab.context.setOffline(true);
      await page.getByText("The gateway doesn't respond").waitFor();
      await goTo(page, "Models");
      await page.getByText("The gateway can't be reached. Retrying…").waitFor();
      await tab.context.setOffline(false);
      await page.locator("tbody tr td.lead button").first().waitFor();
      await page.getByText("The gateway doesn't respond").waitFor({ state: "detached" });
      tab.forgive(/ERR_INTERNET_DISCONNECTED/);
    }));

  test("opens pages after an upgrade that renamed the files", () =>
    dashboard.visit(async (page, tab) => {
      await signIn(page, "owner@localhost");
      let isOld = true;
      await page.route("**/assets/keys-page-*.js", (route) =>
        isOld ? route.fulfill({ status: 404, json: {} }) : route.continue(),
      );
      await goTo(page, "API keys");
      await page.getByText("The gateway can't be reached. Retrying…").waitFor();
      isOld = false;
      await seeHeading(page, "API keys");
      tab.forgive(/MIME type|Failed to fetch|Failed to load module/);
    }));

  test("tells an administrator what is new since the last visit, until it was read", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      // The first visit has remembered the version.
      await page.waitForFunction(() => localStorage.getItem("modelgate-version") !== null);
      expect(await page.getByRole("link", { name: "What's new" }).count()).toBe(0);
      await page.evaluate(() => localStorage.setItem("modelgate-version", "0.9.0"));
      await page.reload();
      await page.getByText("modelgate was upgraded from 0.9.0 to").waitFor();
      await page.getByRole("region", { name: "Notices" }).getByRole("link", { name: "What's new" }).click();
      await seeHeading(page, "What's new");
      await page.getByText("is a gateway for AI models").waitFor();
      expect(await page.getByText("modelgate was upgraded from").count()).toBe(0);
      await page.reload();
      await seeHeading(page, "What's new");
      await page.getByText("is a gateway for AI models").waitFor();
      expect(await page.getByText("modelgate was upgraded from").count()).toBe(0);
    }));

  test("keeps filters, ranges and sorting in the address", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "My account");
      await page.getByRole("button", { name: "7 days" }).click();
      await goTo(page, "Models");
      await page.getByLabel("Search models").fill("gpt-4");
      await page.getByRole("button", { name: "Model", exact: true }).click();
      await page.getByRole("button", { name: "Model", exact: true }).click();
      expect(page.url()).toEndWith("/models?search=gpt-4&sort=-model");
      const names = page.locator("tbody tr td.lead button");
      const before = await names.allInnerTexts();
      expect(before).toEqual(before.toSorted((a, b) => b.localeCompare(a)));
      await page.reload();
      await seeTexts(names, before);
      await page.goBack();
      await seeHeading(page, "Overview");
      expect(await page.getByRole("button", { name: "7 days" }).getAttribute("aria-pressed")).toBe("true");
      await page.getByRole("button", { name: "Custom" }).click();
      await page.getByLabel("From (UTC)").fill("2026-01-01");
      await page.getByText("2026-01-01 to").first().waitFor();
    }));

  test("paints its frame before scripts and styles have arrived", () =>
    dashboard.visit(async (page) => {
      await page.route("**/assets/*", () => new Promise(() => undefined));
      await page.goto("/", { waitUntil: "commit" });
      await page.getByText("Loading…").waitFor();
      expect(await page.locator("#frame").evaluate((frame) => getComputedStyle(frame).position)).toBe("fixed");
    }));

  test("keeps a secret that is shown once until it is said to be saved", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      // The first field has the focus.
      await page.keyboard.type("typed at once");
      await page.getByText("Rate limits").click();
      await page.getByLabel("Requests per minute").fill("60");
      await page.getByLabel("Only selected models").check();
      await page.getByRole("checkbox").first().check();
      const button = await page.getByRole("button", { name: "Create key" }).boundingBox();
      expect((button?.y ?? Number.NaN) + (button?.height ?? Number.NaN)).toBeLessThan(900);
      await page.getByRole("button", { name: "Create key" }).click();
      await page.locator("[data-secret]").waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Escape");
      await seeCount(page.locator("[data-secret]"), 1);
      expect(await page.getByRole("button", { name: "Close" }).count()).toBe(0);
      await page.getByRole("button", { name: "I've saved it" }).click();
      await page.getByText("60 requests/min").waitFor();
      await page.getByRole("button", { name: "Revoke typed at once" }).click();
      await page.getByRole("button", { name: "Revoke key" }).click();
      await page.getByText("“typed at once” revoked").waitFor();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("content");
    }));
});
