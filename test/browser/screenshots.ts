import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { startGateway } from "../support/gateway.ts";
import { openBrowser, openTab } from "./chromium.ts";
import { listPages, signIn, signInFirst } from "./dashboard.ts";
import { writePast } from "./past.ts";

/**
 * Takes pictures of every page, light and dark, on a desktop and on a phone, of a gateway with two months of calls:
 * `bun run screenshots [folder]`. Without a folder it also renews the pictures in docs/images.
 */
const folder = resolve(process.argv[2] ?? "dist/screenshots");
const docsImages = join(import.meta.dir, "../../docs/images");
const desktop = { width: 1280, height: 860 };
const phone = { width: 390, height: 844 };

const home = mkdtempSync(join(tmpdir(), "modelgate-screenshots-"));
await writePast(home);
const gateway = await startGateway({
  home,
  env: { SANDBOX: "on", MODELGATE_BOOTSTRAP_KEY: "", FREE_TOKENS_PER_DAY: "250000", SIGNUP: "open" },
});
const browser = await openBrowser();
try {
  mkdirSync(folder, { recursive: true });
  const first = await openTab(browser, gateway.origin);
  await signInFirst(first.page, gateway);
  await first.close();
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [device, viewport] of Object.entries({ desktop, phone })) {
      const tab = await openTab(browser, gateway.origin, { colorScheme, viewport });
      await shootAll(tab.page, (name) => join(folder, `${name}-${device}-${colorScheme}.png`));
      await tab.close();
    }
  }
  if (process.argv[2] === undefined) {
    for (const name of readdirSync(docsImages)) copyFileSync(join(folder, name), join(docsImages, name));
  }
  process.stdout.write(`${folder}\n`);
} finally {
  await browser.close();
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
}

async function shootAll(page: Page, fileOf: (name: string) => string): Promise<void> {
  const shoot = async (name: string) => {
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: fileOf(name) });
  };
  await page.goto("/");
  await page.getByLabel("Email").waitFor();
  await shoot("sign-in");
  await signIn(page, "owner@localhost");
  await shoot("first-steps");
  await page.getByRole("button", { name: "Hide" }).click();
  await shoot("home");
  const paths = [...(await listPages(page)).keys()];
  for (const path of [...paths.slice(1), "/settings", "/statement", "/help", "/help/billing"]) {
    await page.goto(path);
    await page.locator("main h1").waitFor();
    await shoot(path.slice(1).replaceAll("/", "-"));
  }
  await page.goto("/admin/accounts");
  await page.getByRole("link", { name: "grace@example.org" }).click();
  await page.getByRole("region", { name: "Team" }).waitFor();
  await shoot("account");
  await page.goto("/requests");
  await page.locator("tbody button").first().click();
  await page.getByRole("dialog").waitFor();
  await shoot("request");
  await page.goto("/keys");
  await page.getByRole("button", { name: "Create API key" }).click();
  await shoot("new-key");
  await page.getByRole("textbox", { name: "Name" }).fill("staging");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.locator(".code pre").waitFor();
  await shoot("key-created");
  await page.getByRole("button", { name: "I've saved it" }).click();
  await page.getByRole("button", { name: "Edit staging" }).click();
  await page.getByText("Edit API key").waitFor();
  await shoot("edit-key");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Revoke staging" }).click();
  await page.getByRole("button", { name: "Revoke key" }).click();
  await page.getByText("“staging” revoked").waitFor();
  await page.goto("/models?search=sonnet");
  await page.getByRole("button", { name: "claude-sonnet-4-6", exact: true }).click();
  await shoot("model");
  await page.goto("/playground?model=claude-sonnet-4-6");
  await page.getByLabel("Your message").fill("Explain in two sentences what a model gateway is for.");
  await page.keyboard.press("Enter");
  await page.locator(".turn-end").waitFor();
  await shoot("playground");
}
