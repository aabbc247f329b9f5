import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { findViolations, hasChromium } from "./chromium.ts";
import {
  createUser,
  downloadedText,
  goTo,
  openRequests,
  ownPassword,
  seeHeading,
  signIn,
  signInFirst,
  useDashboard,
} from "./dashboard.ts";
import { seeCount } from "./seen.ts";

const messages = [{ role: "user", content: "Say hello" }];

describe.skipIf(!hasChromium)("the request log", () => {
  const dashboard = useDashboard();
  const rows = (page: Page) => page.locator("main tbody tr");
  beforeAll(async () => {
    const { gateway } = dashboard;
    await gateway.post("/chat/completions", { model: "famA-4o-mini", messages });
    await gateway.post("/chat/completions", { model: "no-such-model", messages });
    await gateway.post("/chat/completions", { model: "famA-4o-mini", messages, n: 1000 });
    await dashboard.visit(async (page) => {
      await signInFirst(page, gateway);
      await openRequests(page, 3);
    });
  });

  test("shows why a request was refused, and goes by filters that are in the address", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "Requests");
      await seeHeading(page, "Requests");
      await page.getByText("400 model_not_found").waitFor();
      await seeCount(rows(page), 3);
      await page.getByLabel("Status").selectOption("refused");
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 2);
      await page.getByRole("button", { name: "no-such-model" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("does not exist").waitFor();
      await dialog.getByText("POST /api/v1/chat/completions").waitFor();
      expect(await findViolations(page)).toEqual([]);

      // The address is all that another browser needs.
      await page.reload();
      await dialog.getByText("does not exist").waitFor();
      await page.keyboard.press("Escape");
      expect(page.url()).toEndWith("/requests?status=refused");
      // The dialog may be there before the list.
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 2);

      await page.getByRole("button", { name: "More filters" }).click();
      await page.getByLabel("Model", { exact: true }).fill("gpt-4o-mini");
      await page.keyboard.press("Enter");
      await page.waitForURL(/model=gpt-4o-mini/);
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
      await page.getByLabel("Session").fill("nobody's");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 3);
      expect(page.url()).toEndWith("/requests");

      // The range that is dragged over in the chart becomes the time of the log, and of the chart, which then shows its hours.
      const volume = page.getByRole("region", { name: "Requests over time" });
      const { x, y, width } = (await volume.locator(".u-over").boundingBox()) as {
        x: number;
        y: number;
        width: number;
      };
      await page.mouse.move(x + width * 0.9, y + 20);
      await page.mouse.down();
      await page.mouse.move(x + width - 1, y + 40, { steps: 3 });
      await page.mouse.up();
      await page.waitForURL(/from=.*until=/);
      await volume.getByText("Requests by hour").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await volume.getByRole("button", { name: "Any time" }).click();
      await page.waitForURL(/\/requests$/);
    }));

  test("follows new requests while it is live, finds one by its id, and is downloaded", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await signIn(page, "owner@localhost", "/requests");
      await rows(page).first().waitFor();
      await page.getByRole("button", { name: "Live" }).click();
      const response = await gateway.post("/chat/completions", { model: "famA-4.1-mini", messages });
      const id = response.headers.get("x-request-id") as string;
      await page.getByRole("button", { name: "gpt-4.1-mini" }).waitFor();
      await page.getByRole("button", { name: "Live" }).click();

      await page.getByLabel("Request ID").fill(id);
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
      await page.getByRole("button", { name: "gpt-4.1-mini" }).click();
      await page.getByRole("dialog").getByText("stop", { exact: true }).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();

      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("modelgate-requests.csv");
      const text = await downloadedText(download);
      expect(text.trim().split("\r\n")).toHaveLength(2);
      expect(text).toContain(id);
    }));

  test("shows a member the own requests alone", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "ada@example.org");
      await page.goto("/requests?account=owner");
      await page.getByLabel("Email").fill("ada@example.org");
      await page.getByLabel("Password", { exact: true }).fill(ownPassword);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("Only administrators can see the requests of other accounts").waitFor();
      await goTo(page, "Overview");
      await goTo(page, "Requests");
      await page.getByText("No requests yet").waitFor();
    }));
});
