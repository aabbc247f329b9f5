import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("the catalogue", () => {
  const dashboard = useDashboard();
  const file = () => join(dashboard.gateway.home, "catalogue/openai.json");
  const readRows = () => JSON.parse(readFileSync(file(), "utf8")).models;
  const search = async (page: Page, text: string) => {
    await seeHeading(page, "Models and prices");
    await page.getByLabel("Search models").fill(text);
  };
  /** As the owner, on the page. */
  const enter = (page: Page) => signIn(page, "owner@localhost", "/admin/catalogue");

  test("lets an administrator change a model's price, shows where each value comes from, and takes it back", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      await goTo(page, "Models and prices");
      await search(page, "gpt-4.1-nano");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "gpt-4.1-nano", exact: true }).click();
      await page.getByText("A call with 1,000 input and 500 output tokens costs $0.0003.").waitFor();
      await page.getByLabel("Input tokens (USD)").fill("much");
      await page.getByText("has no known cost").waitFor();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Cannot use catalogue/openai.json: models[").waitFor();
      expect(existsSync(file())).toBe(false);
      await page.getByLabel("Input tokens (USD)").fill("0.30");
      await page.getByText("costs $0.0005.").waitFor();
      await page.getByLabel("Aliases").fill("gpt-4.1-nano, nano");
      await page.getByLabel("Priority").fill("7");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("gpt-4.1-nano saved").waitFor();
      const [row] = readRows();
      expect(Object.keys(row)).toEqual(["id", "aliases", "price", "priority"]);
      expect(row.price).toMatchObject({ inputToken: { usd: "0.30", per: 1_000_000 } });
      await page.getByText("yours").waitFor();

      await page.getByRole("button", { name: "gpt-4.1-nano", exact: true }).click();
      await page.getByRole("button", { name: "Reset price" }).click();
      expect(await page.getByLabel("Input tokens (USD)").inputValue()).toBe("0.10");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(readRows()).toEqual([{ id: "famA-4.1-nano", aliases: ["gpt-4.1-nano", "nano"], priority: 7 }]);
      await page.getByRole("button", { name: "gpt-4.1-nano", exact: true }).click();
      await page.getByRole("button", { name: "Reset all…" }).click();
      await page.getByRole("button", { name: "Reset model" }).click();
      await page.getByText("has its provider").waitFor();
      expect(existsSync(file())).toBe(false);
      await goTo(page, "Audit log");
      await page.getByText("openai: ~ famA-4.1-nano: aliases").first().waitFor();
    }));

  test("shows the price at which each model is sold, and whose markup is in it", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await gateway.cli("markup", "create", "--markup-percent", "10");
      await gateway.cli("markup", "create", "--provider", "openai", "--markup-percent", "50");
      await enter(page);
      await search(page, "gpt-4.1-nano");
      const row = page.locator("main tbody tr").filter({ hasText: "gpt-4.1-nano" });
      await row.getByText("$0.15 in · $0.60 out").waitFor();
      await row.getByText(/with \+50 % \(provider\)/).waitFor();
      await page.getByLabel("Search models").fill("claude-haiku-4-5");
      await page
        .locator("main tbody tr")
        .getByText(/with \+10 % \(gateway\)/)
        .first()
        .waitFor();
      for (const { id } of await gateway.cli<{ id: string }[]>("markup", "list"))
        await gateway.cli("markup", "remove", id);
    }));

  test("lets an administrator say whether a model reasons, or leaves it to the gateway", () =>
    dashboard.visit(async (page) => {
      await enter(page);
      await search(page, "gpt-4.1-nano");
      const change = async (choice: string) => {
        await page.getByRole("button", { name: "gpt-4.1-nano", exact: true }).click();
        await page.getByLabel("Reasoning", { exact: true }).selectOption(choice);
        expect(await findViolations(page)).toEqual([]);
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.getByRole("dialog").waitFor({ state: "detached" });
      };
      await change("May hide its reasoning");
      expect(readRows()).toEqual([{ id: "famA-4.1-nano", reasoning: true }]);
      await change("Shows all of its output");
      expect(existsSync(file())).toBe(false);
      await change("May hide its reasoning");
      await change("Automatic");
      expect(existsSync(file())).toBe(false);
      await page.getByRole("button", { name: "gpt-4.1-nano", exact: true }).click();
      expect(await page.getByLabel("Reasoning", { exact: true }).inputValue()).toBe("no");
    }));

  test("lets an administrator disable a model, and add one that can be called at once", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const messages = [{ role: "user", content: "Say hello" }];
      const statusOf = async (model: string) => (await gateway.post("/chat/completions", { model, messages })).status;
      await enter(page);
      await search(page, "famA-4o-mini");
      await page.getByRole("button", { name: "Disable gpt-4o-mini of openai" }).click();
      await page.getByText("gpt-4o-mini is disabled").waitFor();
      expect(await statusOf("famA-4o-mini")).toBe(400);
      await page.getByRole("button", { name: "Enable gpt-4o-mini of openai" }).click();
      await page.getByText("gpt-4o-mini is enabled").waitFor();
      expect(await statusOf("famA-4o-mini")).toBe(200);
      expect(existsSync(file())).toBe(false);
      await page.getByLabel("Search models").fill("famA/oss-20b");
      await page.getByRole("button", { name: "Disable openai/gpt-oss-20b of groq" }).click();
      await page.getByText("openai/gpt-oss-20b is disabled").waitFor();
      await page.getByRole("button", { name: "Enable openai/gpt-oss-20b of groq" }).click();
      await page.getByText("openai/gpt-oss-20b is enabled").waitFor();
      await page.getByRole("button", { name: "Add model" }).click();
      await page.getByLabel("Model ID").fill("house-model");
      await page.getByLabel("Provider", { exact: true }).selectOption("openai");
      await page.getByLabel("Billing").selectOption("free");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("house-model saved").waitFor();
      expect(await statusOf("house-model")).toBe(200);
    }));

  test("opens the model that a new one would be a second of, and keeps a form when somebody else has changed the catalogue", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await enter(page);
      await search(page, "gpt-4.1-nano");
      const dialog = page.getByRole("dialog");
      const save = dialog.getByRole("button", { name: "Save", exact: true });
      await page.getByRole("button", { name: "Add model" }).click();
      await dialog.getByLabel("Provider", { exact: true }).selectOption("openai");
      await dialog.getByLabel("Model ID").fill("gpt-4.1-nano");
      await dialog.getByText("openai has the model gpt-4.1-nano already").waitFor();
      expect(await save.isDisabled()).toBe(true);
      expect(await findViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Open gpt-4.1-nano of openai" }).click();
      await page.getByRole("dialog", { name: "gpt-4.1-nano" }).getByLabel("Input tokens (USD)").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();

      await page.getByRole("button", { name: "Add model" }).click();
      await dialog.getByLabel("Provider", { exact: true }).selectOption("openai");
      await dialog.getByLabel("Model ID").fill("kept-model");
      await dialog.getByLabel("Billing").selectOption("free");
      const other = await page.request.post(
        `${gateway.origin}/v1/organization/catalogue/models/${encodeURIComponent("openai:famA-4.1-nano")}`,
        { headers: { origin: gateway.origin }, data: { row: { priority: 7 }, revision: "*" } },
      );
      expect(other.status()).toBe(200);
      await save.click();
      await dialog.getByText("Your entries are kept").waitFor();
      expect(await dialog.getByLabel("Model ID").inputValue()).toBe("kept-model");
      expect(await dialog.getByLabel("Billing").inputValue()).toBe("free");
      await save.click();
      await page.getByText("kept-model saved").waitFor();
      const rows = readRows() as { id: string; priority?: number }[];
      expect(rows.find(({ id }) => id === "famA-4.1-nano")).toMatchObject({ priority: 7 });
      expect(rows.map(({ id }) => id)).toContain("kept-model");
      for (const id of ["kept-model", "famA-4.1-nano"]) {
        const path = `${gateway.origin}/v1/organization/catalogue/models/${encodeURIComponent(`openai:${id}`)}`;
        const { status } = await page.request
          .delete(path, { headers: { origin: gateway.origin } })
          .then((answer) => ({ status: answer.status() }));
        expect(status).toBe(200);
      }
    }));

  test("lets an administrator add, change and remove a virtual model", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const messages = [{ role: "user", content: "Say hello" }];
      const statusOf = async (model: string) => (await gateway.post("/chat/completions", { model, messages })).status;
      await enter(page);
      await search(page, "house");
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Virtual models" }).click();
      await page.getByRole("button", { name: "Add virtual model" }).click();
      await page.getByLabel("Name", { exact: true }).fill("fast");
      await page.getByLabel("Model 1").fill("famA-4o-mni");
      await page.getByRole("button", { name: "Add another model" }).click();
      await page.getByLabel("Model 2").fill("famA-4.1-nano");
      await page.getByLabel("Strategy").selectOption("weight");
      await page.getByLabel("Weight 2").fill("3");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("is not a model here").waitFor();
      await page.getByLabel("Model 1").fill("famA-4o-mini");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("fast saved").waitFor();
      await page.getByRole("cell", { name: "famA-4o-mini, famA-4.1-nano (3)" }).waitFor();
      expect(await statusOf("fast")).toBe(200);
      await page.getByRole("button", { name: "fast", exact: true }).click();
      await page.getByRole("button", { name: "Remove famA-4o-mini" }).click();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("cell", { name: "famA-4.1-nano (3)", exact: true }).waitFor();
      await page.getByRole("button", { name: "Remove fast" }).click();
      await page.getByRole("button", { name: "Remove virtual model" }).click();
      await page.getByText("fast is removed").waitFor();
      expect(await statusOf("fast")).toBe(400);
      await page.goto("/requests?status=ok");
      const row = page.getByRole("row").filter({ hasText: "requested as fast" }).first();
      await row.getByRole("button").click();
      await page.getByRole("dialog").getByText("Requested model").waitFor();
      await page.getByRole("dialog").getByText("Served by").waitFor();
    }));

  test("is for everybody on the page Models: by provider and feature, with an address for each model", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/models");
      await seeHeading(page, "Models");
      await page.getByRole("button", { name: "Maker" }).waitFor();
      await page.getByLabel("Feature").selectOption("pdf");
      await page.getByLabel("Search models").fill("claude-opus-5");
      await page.getByRole("button", { name: "claude-opus-5", exact: true }).click();
      await page.getByRole("definition").filter({ hasText: "PDF input" }).waitFor();
      const address = new URL(page.url());
      expect([address.searchParams.get("model"), address.searchParams.get("feature")]).toEqual([
        "claude-opus-5",
        "pdf",
      ]);
      await page.goto(`/models${address.search}`);
      await page.getByRole("dialog", { name: "claude-opus-5" }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));

  test("as JSON is saved as a whole, unless somebody else has changed it", () =>
    dashboard.visit(async (page) => {
      await enter(page);
      await search(page, "house");
      await page.getByRole("button", { name: "Edit as JSON" }).click();
      const text = page.getByLabel("Files");
      expect(await text.inputValue()).toContain("house-model");
      await text.fill('{\n  "openai": [}');
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("line 2, column 14").waitFor();
      await dashboard.visit(async (other) => {
        await enter(other);
        await search(other, "famA-5");
        await other.getByRole("button", { name: "Disable gpt-5 of openai" }).click();
        await other.getByText("gpt-5 is disabled").waitFor();
      });
      await text.fill("{}");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Models and prices have changed since you read them").waitFor();
      expect(readRows()).toHaveLength(2);
      expect(await findViolations(page)).toEqual([]);
    }));

  test("takes a model's changes back unless somebody else has changed the catalogue meanwhile", () =>
    dashboard.visit(async (page) => {
      await enter(page);
      await search(page, "famA-5");
      await page.getByRole("button", { name: "gpt-5", exact: true }).click();
      await page.getByRole("button", { name: "Reset all…" }).click();
      const before = readRows();
      await dashboard.visit(async (other) => {
        await enter(other);
        await search(other, "famA-4o-mini");
        await other.getByRole("button", { name: "Disable gpt-4o-mini of openai" }).click();
        await other.getByText("gpt-4o-mini is disabled").waitFor();
      });
      await page.getByRole("button", { name: "Reset model" }).click();
      await page.getByText("Models and prices have changed since you read them").waitFor();
      expect(readRows()).toHaveLength(before.length + 1);
      expect(readRows()).toEqual(expect.arrayContaining(before));
    }));
});
