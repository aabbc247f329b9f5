import { describe, expect, test } from "bun:test";
import type { Page, Route } from "playwright-core";
import { isLong } from "../support/long.ts";
import { hasChromium } from "./chromium.ts";
import {
  createUser,
  goTo,
  interruptFirstSignIn,
  seeFirstPage,
  seeHeading,
  show,
  signIn,
  signInFirstByForm,
  useDashboard,
} from "./dashboard.ts";

const steps = (page: Page) => page.getByRole("region", { name: "Getting started" });

interface Description {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/**
 * Leaves one operation of the description, with the schemas that it refers to: Swagger UI takes ten seconds of CPU to read all, which the
 * long form has it do.
 */
async function describeChatAlone(route: Route): Promise<void> {
  const description = (await (await route.fetch()).json()) as Description;
  const path = "/api/v1/chat/completions";
  const operation = description.paths[path];
  const schemas: Record<string, unknown> = {};
  const keep = (part: unknown) => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (name in schemas) continue;
      schemas[name] = description.components.schemas[name];
      keep(schemas[name]);
    }
  };
  keep(operation);
  const components = { ...description.components, schemas };
  await route.fulfill({ json: { ...description, paths: { [path]: operation }, components } });
}

describe.skipIf(!hasChromium)("the first hour", () => {
  const dashboard = useDashboard({ MODELGATE_BOOTSTRAP_KEY: "" });

  test("a generated password is asked for again only when the page has forgotten it", () =>
    dashboard.visit(async (page) => {
      await interruptFirstSignIn(page, dashboard.gateway);
      await page.getByLabel("Current password").waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await seeHeading(page, "Sign in");
    }));

  test("a checklist counts what is done, until it is hidden", () =>
    dashboard.visit(async (page) => {
      await signInFirstByForm(page, dashboard.gateway);
      await steps(page).getByText("1 of 4 done").waitFor();
      await show(page, "/playground");
      await page.getByLabel("Your message").fill("Say hello");
      await page.keyboard.press("Enter");
      await page.locator(".turn-end").waitFor();
      await goTo(page, "My account");
      await steps(page).getByText("2 of 4 done").waitFor();
      await createUser(dashboard, "ada@example.org");
      await page.reload();
      await steps(page).getByText("3 of 4 done").waitFor();
      await steps(page).getByRole("button", { name: "Hide" }).click();
      await page.reload();
      await page.getByRole("region", { name: "Recent requests" }).getByRole("row").nth(1).waitFor();
      expect(await steps(page).count()).toBe(0);
    }));

  test("every page says that answers are simulated", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      for (const path of ["/keys", "/billing", "/models", "/playground", "/settings", "/admin/accounts"]) {
        await show(page, path);
        await page.getByText("Sandbox: all answers are simulated").waitFor();
      }
    }));

  test("a page links to the API reference and back, where “Try it out” is answered", () =>
    dashboard.visit(async (page) => {
      const { id } = (await dashboard.gateway.cli<{ id: string }[]>("account", "list"))[0] as { id: string };
      const { key } = await dashboard.gateway.cli<{ key: string }>("key", "create", "--account", id, "--name", "docs");
      await signIn(page, "owner@localhost");
      if (!isLong) await page.route("**/openapi.json", describeChatAlone);
      await page.getByRole("link", { name: "API reference" }).click();
      await page.getByRole("heading", { name: "modelgate" }).waitFor();
      await page.getByRole("button", { name: "Authorize" }).first().click();
      await page.locator(".auth-container input").first().fill(key);
      await page.locator(".auth-btn-wrapper .authorize").first().click();
      await page.locator(".btn-done").first().click();
      await page.getByRole("button", { name: "Expand operation" }).first().click();
      const call = page.locator(".opblock", { hasText: "/api/v1/chat/completions" }).first();
      await call.locator(".opblock-summary-control").click();
      await call.getByRole("button", { name: "Try it out" }).click();
      await call.getByRole("button", { name: "Execute" }).click();
      expect(await call.locator(".live-responses-table .response .response-col_status").textContent()).toContain("200");
      await page.getByRole("link", { name: "modelgate dashboard" }).click();
      await seeFirstPage(page);
    }));

  test("an address that does not exist is a page for a browser, and JSON for a program", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      const response = await page.goto("/keys/nonsense");
      expect(response?.status()).toBe(404);
      await seeHeading(page, "Not found");
      const json = await fetch(`${dashboard.gateway.origin}/keys/nonsense`);
      expect(json.headers.get("content-type")).toContain("application/json");
    }));
});
