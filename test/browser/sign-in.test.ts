import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { type Gateway, hookMsMax, startGateway } from "../support/gateway.ts";
import { hasChromium, openBrowser, openTab, seriousFaults } from "./chromium.ts";

const testMsMax = 60_000;

describe.skipIf(!hasChromium)("in a browser", () => {
  let gateway: Gateway;
  let browser: Browser;
  beforeAll(async () => {
    gateway = await startGateway({ env: { SANDBOX: "on" } });
    browser = await openBrowser();
  }, hookMsMax);
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  }, hookMsMax);

  test(
    "an invitation's link sets a password, and leads in",
    async () => {
      const { id } = await gateway.cli<{ id: string }>(
        "account",
        "create",
        "--email",
        "ada@example.org",
        "--name",
        "Ada",
      );
      const { url } = await gateway.cli<{ url: string }>("account", "invite", id);
      const tab = await openTab(browser, gateway.origin);
      try {
        const { page } = tab;
        await page.goto(url);
        await page.getByRole("heading", { name: "Welcome" }).waitFor();
        expect(page.url()).not.toContain("invitation");
        await page.getByLabel("New password").fill("short");
        await page.getByRole("button", { name: "Set password and sign in" }).click();
        await page.getByText("expected 10 to 200").waitFor();
        await page.getByLabel("New password").fill("correct horse battery");
        await page.getByRole("button", { name: "Set password and sign in" }).click();
        await page.getByRole("heading", { name: "Overview" }).waitFor();
        expect(await seriousFaults(page)).toEqual([]);
        await page.getByRole("button", { name: "Sign out" }).click();
        await page.getByRole("heading", { name: "Sign in" }).waitFor();
        expect(tab.troubles).toEqual([]);
      } finally {
        await tab.close();
      }
    },
    testMsMax,
  );
});
