import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillWallet } from "../support/gateway.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, listPages, ownPassword, seeHeading, show, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

/** The narrowest supported screen. */
const phone = { width: 320, height: 700 };

/** Every page of the operator, by the link of the navigation or of the person that leads to it. */
let pages: ReadonlyMap<string, string>;

/** Navigates by the links of the page. */
async function open(page: Page, path: string): Promise<void> {
  const link = pages.get(path) ?? path;
  await page.locator(`.side a[href="${link}"]`).last().click();
  if (link !== path) await page.locator(`.tabs a[href="${path}"]`).click();
  await page.waitForURL(path);
  await seeWhole(page);
}

/** Waits until a page has all that it fetched. */
async function seeWhole(page: Page): Promise<void> {
  await page.locator("main h1").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}

type Theme = "light" | "dark";

/** Waits until the colours have changed: the browser repaints a moment after the media query matches. */
async function setColorScheme(page: Page, colorScheme: Theme): Promise<void> {
  const before = await page.evaluate(() => getComputedStyle(document.body).color);
  await page.emulateMedia({ colorScheme });
  await page.waitForFunction((colour) => getComputedStyle(document.body).color !== colour, before);
}

/** Only colours differ between the themes, so contrast alone is checked in the dark one. */
async function findViolationsIn(page: Page, theme: Theme): Promise<string[]> {
  if (theme === "light") return await findViolations(page);
  return (await findViolations(page, ["color-contrast"])).map((fault) => `dark theme: ${fault}`);
}

/** Begins with the theme that is on, and leaves the other one on: to change it is to paint the page anew. */
async function findViolationsInBothThemes(page: Page, first: Theme = "light"): Promise<string[]> {
  const second = first === "light" ? "dark" : "light";
  const faults = await findViolationsIn(page, first);
  await setColorScheme(page, second);
  return [...faults, ...(await findViolationsIn(page, second))];
}

describe.skipIf(!hasChromium)("every page", () => {
  const dashboard = useDashboard();
  beforeAll(async () => {
    const { gateway } = dashboard;
    await fillWallet(gateway);
    for (const model of ["famA-4o-mini", "famA-5", "famA-4.1-mini"]) {
      await gateway.post("/chat/completions", { model, messages: [{ role: "user", content: "Say hello" }] });
    }
    await dashboard.visit(async (page) => {
      await signInFirst(page, gateway);
      pages = new Map([...(await listPages(page)), ["/settings", "/settings"]]);
    });
  });

  test("has the dashboard's icon, also by the name that browsers ask for elsewhere", async () => {
    const icon = await fetch(`${dashboard.gateway.origin}/favicon.ico`);
    expect([icon.status, icon.headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
    expect(await icon.text()).toContain("<title>modelgate</title>");
  });

  /** One test of all pages would take longer than any other. */
  const quarters = [1, 2, 3, 4];
  test.each(quarters)("has no serious accessibility violation in light and dark theme, quarter %d of them", (quarter) =>
    dashboard.visit(async (page) => {
      const paths = [...pages.keys()].filter((_, index) => index % quarters.length === quarter - 1);
      expect(paths.length).toBeGreaterThan(2);
      await signIn(page, "owner@localhost", paths[0]);
      for (const [index, path] of paths.entries()) {
        await show(page, path);
        await seeWhole(page);
        const theme = index % 2 === 0 ? "light" : "dark";
        expect([path, ...(await findViolationsInBothThemes(page, theme))]).toEqual([path]);
      }
    }),
  );

  test("to sign in, and every dialog of keys and models, has none either", () =>
    dashboard.visit(async (page) => {
      await page.goto("/");
      await page.getByLabel("Email").waitFor();
      expect(await findViolationsInBothThemes(page)).toEqual([]);
      await signIn(page, "owner@localhost", "/keys");
      await seeWhole(page);
      await page.getByRole("button", { name: "Create API key" }).click();
      await page.getByLabel("Only selected models").check();
      await page.getByRole("checkbox").first().waitFor();
      expect(await findViolationsInBothThemes(page, "dark")).toEqual([]);
      await page.keyboard.press("Escape");
      await open(page, "/models");
      await page.getByLabel("Search models").fill("gpt-5");
      await page.getByRole("button", { name: "gpt-5", exact: true }).click();
      await page.getByRole("dialog").waitFor();
      expect(await findViolationsInBothThemes(page)).toEqual([]);
    }));

  test("fits a screen of 320 pixels, with the navigation in a drawer", () =>
    dashboard.visit(
      async (page) => {
        await signIn(page, "owner@localhost");
        await page.getByRole("button", { name: "Open navigation" }).click();
        const drawer = page.getByRole("dialog").locator("a");
        const links = await drawer.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
        expect(
          pages
            .values()
            .filter((link) => !links.includes(link))
            .toArray(),
        ).toEqual([]);
        await page.getByRole("dialog").getByRole("link", { name: "Billing" }).click();
        await page.getByRole("heading", { level: 1, name: "Billing" }).waitFor();
        expect(await page.getByRole("dialog").count()).toBe(0);
        for (const path of pages.keys()) {
          await show(page, path);
          await seeWhole(page);
          const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
          expect([path, ...widths]).toEqual([path, phone.width, phone.width]);
        }
      },
      { viewport: phone, hasTouch: true, isMobile: true },
    ));

  test("is usable by keyboard alone, and remembers the theme", () =>
    dashboard.visit(async (page) => {
      await page.goto("/");
      await page.getByLabel("Email").waitFor();
      await page.keyboard.type("owner@localhost");
      await page.keyboard.press("Tab");
      await page.keyboard.type(ownPassword);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
      await page.locator("body").press("Tab");
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to content");
      await page.locator(".nav").getByRole("link", { name: "API keys", exact: true }).press("Enter");
      await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
      const make = page.getByRole("button", { name: "Create API key" });
      await make.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await make.evaluate((button) => button === document.activeElement)).toBe(true);
      await page.getByRole("button", { name: "Dark" }).press("Enter");
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "API keys" }).waitFor();
      expect(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)).toBe("dark");
    }));

  test("has its link in sight in the navigation, and the actions of its rows where a table is too wide", () =>
    dashboard.visit(
      async (page) => {
        const isInSight = (selector: string) =>
          page.waitForFunction((selector) => {
            const element = document.querySelector(selector);
            if (element === null) return false;
            const { left, right, top, bottom } = element.getBoundingClientRect();
            const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
            return seen !== null && (element.contains(seen) || seen.contains(element));
          }, selector);
        await signIn(page, "owner@localhost", "/admin/audit");
        await seeHeading(page, "Audit log");
        await isInSight('.nav [aria-current="page"]');
        await page.goto("/admin/api-keys");
        await isInSight('button[aria-label^="Revoke"]');
      },
      { viewport: { width: 900, height: 620 } },
    ));

  test("has all columns of the providers in sight on a desktop", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/admin/providers");
      await page.getByRole("columnheader", { name: "Time to first token p95" }).waitFor();
      const table = page.locator(".table").first();
      expect(
        await table.evaluate(({ scrollWidth, parentElement }) => scrollWidth - (parentElement?.clientWidth ?? 0)),
      ).toBe(0);
    }));

  test("shows an error when the gateway fails, and recovers", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await page.route("**/dashboard/api/models", (route) =>
        route.fulfill({ status: 503, json: { error: { message: "The database is not available" } } }),
      );
      await goTo(page, "Models");
      await page.getByLabel("Search models").fill("gpt-5");
      await page.getByText("The database is not available").waitFor();
      await page.unroute("**/dashboard/api/models");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("button", { name: "gpt-5", exact: true }).waitFor();
    }));

  test("of requests loads those before the latest fifty", () =>
    dashboard.visit(async (page) => {
      const messages = [{ role: "user", content: "Say hello" }];
      const { gateway } = dashboard;
      for (let round = 0; round < 6; round++) {
        const asked = Array.from({ length: 10 }, () =>
          gateway.post("/chat/completions", { model: "famA-4o-mini", messages }),
        );
        for (const response of await Promise.all(asked)) expect(response.status).toBe(200);
      }
      await signIn(page, "owner@localhost", "/overview");
      const rows = page.getByRole("region", { name: "Recent requests" }).locator("tbody tr");
      await page.getByText("The latest 10 requests").waitFor();
      await page.getByRole("button", { name: "Show older requests" }).click();
      await page.getByText("The latest 50 requests").waitFor();
      await page.getByRole("button", { name: "Show older requests" }).click();
      await page.getByText("The latest 63 requests").waitFor();
      await seeCount(rows, 63);
      await page.getByRole("button", { name: "Show older requests" }).click();
      await page.getByText("All 63 requests").waitFor();
      // Calls that are already on the screen are not sent again.
      const refresh = await page.waitForResponse((response) => /\/me\?calls=[\w-]+$/.test(response.url()));
      expect((await refresh.json()).calls).toBeNull();
    }));
});
