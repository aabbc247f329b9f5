import { beforeAll, describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

const messages = [{ role: "user", content: "Say hello" }];

describe.skipIf(!hasChromium)("the gateway at a glance", () => {
  const dashboard = useDashboard();
  beforeAll(async () => {
    const { gateway } = dashboard;
    for (const tag of ["support", "nightly"]) {
      await gateway.post("/chat/completions", { model: "famA-4o-mini", messages, metadata: { tag } });
    }
    await gateway.post("/chat/completions", { model: "no-such-model", messages });
    await dashboard.visit((page) => signInFirst(page, gateway));
  });

  test("groups, narrows and sorts by what is in the address, and leads to the requests", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await page.getByRole("link", { name: "Gateway usage" }).click();
      await seeHeading(page, "Gateway usage");
      await page.getByText("1 failed (33 %), 1 of them refused").waitFor();
      await page.getByLabel("Group by").selectOption("tag");
      await page.getByRole("cell", { name: "nightly" }).waitFor();
      await page.getByLabel("Metric").selectOption("duration");
      await page.getByRole("button", { name: "Tag", exact: true }).click();
      await page.waitForURL(/by=tag&metric=duration&sort=tag$/);
      const names = () => page.locator("main tbody td.lead").allInnerTexts();
      expect(await names()).toEqual(["nightly", "support"].map((tag) => expect.stringContaining(tag)) as never);
      expect(await findViolations(page)).toEqual([]);

      await page.getByLabel("Group by").selectOption("model");
      await page.getByRole("button", { name: "gpt-4o-mini" }).click();
      await page.waitForURL(/model=famA-4o-mini/);
      await page.getByText("no errors").waitFor();
      // The address is all that another browser needs.
      await page.reload();
      await page.getByText("no errors").waitFor();
      await page.getByRole("button", { name: "Remove the filter Model" }).click();
      await page.getByText("1 failed (33 %), 1 of them refused").waitFor();

      await page.goto("/statistics?by=status");
      await seeHeading(page, "Usage");
      await page.getByRole("row", { name: /^400/ }).getByRole("link", { name: "1" }).click();
      await seeHeading(page, "Requests");
      await page.getByText("400 model_not_found").waitFor();
      await page.goto("/statistics?range=custom&from=2025-01-01&to=2025-01-05");
      await page.getByText("No requests in this period").waitFor();
    }));
});
