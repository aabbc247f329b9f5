import { beforeAll, describe, expect, test } from "bun:test";
import { fillWallet } from "../support/gateway.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { downloadedText, goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

const messages = [{ role: "user", content: "Say hello" }];

describe.skipIf(!hasChromium)("the gateway at a glance", () => {
  const dashboard = useDashboard();
  beforeAll(async () => {
    const { gateway } = dashboard;
    await fillWallet(gateway);
    for (const tag of ["support", "nightly"]) {
      const names = { user: `user of ${tag}`, metadata: { tag } };
      await gateway.post("/chat/completions", { model: "famA-4o-mini", messages, ...names });
    }
    await gateway.post("/chat/completions", { model: "no-such-model", messages });
    await dashboard.visit((page) => signInFirst(page, gateway));
  });

  test("groups, narrows and sorts by what is in the address, and leads to the requests", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "Usage");
      await seeHeading(page, "Usage");
      await page.getByText("latency of all accounts").waitFor();
      await page.getByText("1 failed (33.3 %), 1 of them refused").waitFor();
      await page.getByRole("row", { name: /^Rejected/ }).waitFor();
      await page.getByLabel("Group by").selectOption("tag");
      await page.getByRole("cell", { name: "nightly" }).waitFor();
      await page.getByLabel("Metric").selectOption("duration");
      await page.getByRole("button", { name: "Tag", exact: true }).click();
      await page.waitForURL(/by=tag&metric=duration&sort=tag$/);
      const names = page.locator("main tbody td.lead");
      await names.first().getByText("nightly").waitFor();
      await names.last().getByText("support").waitFor();
      await seeCount(names, 2);
      expect(await findViolations(page)).toEqual([]);

      await page.getByLabel("Group by").selectOption("end_user");
      await page
        .getByRole("row", { name: /user of nightly/ })
        .getByRole("link")
        .first()
        .click();
      await seeHeading(page, "Requests");
      await page.waitForURL(/end_user=user/);
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
      await page.goBack();
      await seeHeading(page, "Usage");
      await page.getByLabel("Group by").selectOption("model");
      await page.getByRole("button", { name: "gpt-4o-mini" }).click();
      await page.waitForURL(/model=famA-4o-mini/);
      await page.getByText("no errors").waitFor();
      // The address is all that another browser needs.
      await page.reload();
      await page.getByText("no errors").waitFor();
      await page.getByRole("button", { name: "Remove the filter Model" }).click();
      await page.getByText("1 failed (33.3 %), 1 of them refused").waitFor();

      await page.goto("/statistics?by=status");
      await seeHeading(page, "Usage");
      await page.getByRole("row", { name: /^400/ }).getByRole("link", { name: "1", exact: true }).click();
      await seeHeading(page, "Requests");
      await page.getByText("400 model_not_found").waitFor();
      await page.goto("/statistics?range=custom&from=2025-01-01&to=2025-01-05");
      await page.getByText("No requests in this period").waitFor();
    }));

  test("shows the share of errors over time by model against a target, and how often it was kept", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/admin/gateway?metric=error_share&range=day");
      await page.getByLabel("Target (%)").fill("5");
      await page.waitForURL(/target=5$/);
      const chart = page.getByRole("region", { name: "Error share over time" });
      await chart.getByText(/gpt-4o-mini: (\d+) of \1 hours? with requests \(100\.0 %\)/).waitFor();
      await chart.getByText(/All: \d+ of \d+ hours? with requests \(\d+\.\d %\)/).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Metric").selectOption("duration");
      await page.getByLabel("Target (ms)").waitFor();
      expect(await page.getByLabel("Target (ms)").inputValue()).toBe("");
    }));

  test("says of each model and provider how fast and how reliable it was", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "Models");
      await page.getByRole("button", { name: "Performance" }).click();
      const row = page.getByRole("row", { name: /gpt-4o-mini/ });
      await row.waitFor();
      expect(await row.locator("td").nth(1).textContent()).toBe("2");
      expect(await findViolations(page)).toEqual([]);
      const begun = page.waitForEvent("download");
      await page.getByRole("button", { name: "CSV", exact: true }).click();
      const file = await begun;
      expect(file.suggestedFilename()).toBe("modelgate-performance-by-model.csv");
      expect(await downloadedText(file)).toContain('"gpt-4o-mini",2,0,');
      await page.getByRole("group", { name: "Group" }).getByRole("button", { name: "By provider" }).click();
      await page.waitForURL(/by=plugin/);
      await page.getByLabel("Search models").fill("no such provider");
      await page.getByText("None matches").waitFor();
      await page.getByLabel("Search models").fill("");
      await page.locator("main tbody tr").first().waitFor();
    }));

  test("a statement that is opened again has the calls made since", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      const rows = page
        .getByRole("region", { name: "Charges by model" })
        .getByRole("row", { name: /claude-sonnet-4-6/ });
      await page.goto("/billing");
      await page.getByRole("link", { name: "Monthly statement" }).click();
      await seeHeading(page, "Statement");
      await page.getByText("Opening balance").waitFor();
      expect(await rows.count()).toBe(0);
      const answer = await dashboard.gateway.post("/chat/completions", { model: "claude-sonnet-4-6", messages });
      expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
      await page.locator("main").getByRole("link", { name: "Billing", exact: true }).click();
      await page.getByRole("link", { name: "Monthly statement" }).click();
      await rows.waitFor();
    }));
});
