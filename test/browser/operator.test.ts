import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillWallet } from "../support/gateway.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, openRequests, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

const messages = [{ role: "user", content: "Say hello" }];
const premium = "claude-sonnet-4-6";

describe.skipIf(!hasChromium)("an operator's day", () => {
  const dashboard = useDashboard();
  const seeRows = (page: Page, count: number) =>
    page.waitForFunction((rows) => document.querySelectorAll("main tbody tr").length === rows, count);
  const fill = async (page: Page, label: string, text: string) => {
    await page.getByLabel(label, { exact: true }).fill(text);
    await page.keyboard.press("Enter");
  };

  beforeAll(async () => {
    const { gateway } = dashboard;
    await fillWallet(gateway);
    const paid = await gateway.post("/chat/completions", { model: premium, messages });
    expect([paid.status, await paid.text()]).toEqual([200, expect.any(String)]);
    expect((await gateway.post("/chat/completions", { model: "no-such-model", messages })).status).toBe(400);
    await dashboard.visit((page) => signInFirst(page, gateway));
    const id = await createUser(dashboard, "ada@example.org");
    const { key } = await gateway.cli<{ key: string }>("key", "create", "--account", id, "--name", "app");
    const refused = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: premium, messages }),
    });
    expect(refused.status).toBe(403);
  });

  test("requests are found by error code, duration and cost, with the providers of the last calls suggested", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await openRequests(page, 3);
      await page.getByRole("button", { name: "More filters" }).click();
      await page.locator("datalist[id$=plugins] option").first().waitFor({ state: "attached" });
      const provider = await page.locator("datalist[id$=plugins] option").first().getAttribute("value");
      await fill(page, "Provider", provider ?? "");
      await seeRows(page, 1);
      await fill(page, "Provider", "");
      await seeRows(page, 3);
      await fill(page, "Error code", "model_not_found");
      await seeRows(page, 1);
      await page.getByText("400 model_not_found").waitFor();
      await fill(page, "Error code", "");
      await fill(page, "Costs more than (USD)", "0.000000001");
      await seeRows(page, 1);
      await fill(page, "Costs more than (USD)", "");
      await fill(page, "Slower than (ms)", "3600000");
      await page.getByText("No request fits these filters").waitFor();
    }));

  test("filters are saved as a view under a name, chosen again after a reload, and deleted", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/requests");
      await seeRows(page, 3);
      expect(await page.getByRole("button", { name: "Save view" }).count()).toBe(0);
      await page.getByLabel("Status").selectOption("refused");
      await page.getByRole("button", { name: "Save view" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("Refused ones");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.goto("/requests");
      await seeRows(page, 3);
      await page.getByLabel("Saved views").selectOption("Refused ones");
      await page.waitForURL(/\/requests\?status=refused$/);
      await seeRows(page, 2);
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Delete view" }).click();
      await page.getByLabel("Saved views").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Save view" }).waitFor();
    }));

  test("times are in UTC or in the zone of the browser, by a choice that a reload keeps", () =>
    dashboard.visit(
      async (page) => {
        await signIn(page, "owner@localhost", "/requests?from=2026-01-01T00:00:00.000Z");
        await page.getByRole("group", { name: "Time zone" }).getByRole("button", { name: "Local" }).waitFor();
        expect(await page.getByLabel("From (UTC)").inputValue()).toBe("2026-01-01T00:00");
        await page.getByRole("group", { name: "Time zone" }).getByRole("button", { name: "Local" }).click();
        expect(await page.getByLabel("From (GMT+5:30)").inputValue()).toBe("2026-01-01T05:30");
        await page.reload();
        await page.getByLabel("From (GMT+5:30)").waitFor();
      },
      { timezoneId: "Asia/Kolkata" },
    ));

  test("a member whose balance did not cover a request is told so on every page, and whom to ask", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org");
      for (const [path, heading] of [
        ["/", "Overview"],
        ["/keys", "API keys"],
      ] as const) {
        await page.goto(path);
        await seeHeading(page, heading);
        await page.getByText("Your balance is $0.00").waitFor();
        const mail = page.locator("a[href^='mailto:owner@localhost?']");
        await mail.waitFor();
        const query = new URL((await mail.getAttribute("href")) ?? "").searchParams;
        expect(query.get("subject")).toStartWith("Credit for ");
        expect(query.get("body")).toMatch(/its balance is \$[\d.]+\.\r\n\r\nhttp.*\/admin\/accounts\/acc_\w+$/);
      }
      expect(await findViolations(page)).toEqual([]);
    }));

  test("a model's dialog says what calls would cost, and what is not known of it", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", `/models?search=${premium}`);
      await page.getByRole("button", { name: premium, exact: true }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Reasoning; others are unknown").waitFor();
      await dialog.getByText("What would it cost?").click();
      await dialog.getByLabel("Input tokens", { exact: true }).fill("1000");
      await dialog.getByLabel("Output tokens", { exact: true }).fill("500");
      await dialog.getByLabel("Calls", { exact: true }).fill("1000");
      // 1,000 × (1,000 × $3 + 500 × $15) ÷ 1,000,000
      await dialog.getByText("$10.50").waitFor();
      await dialog.getByLabel("Calls", { exact: true }).fill("many");
      await dialog.getByText("Enter whole numbers").waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));

  test("a link to a model that is no longer served says so, and an alias opens its model", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", "/models?model=a-model-of-long-ago");
      await page.getByText("This gateway has no model a-model-of-long-ago now").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Dismiss" }).click();
      await page.waitForURL(/\/models$/);
      await page.goto("/models?model=famC-sonnet-4-6");
      await page.getByRole("dialog").getByRole("heading", { name: premium }).waitFor();
    }));
});
