import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signInFirst, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("an owner", () => {
  const dashboard = useDashboard();

  test("names whose tokens are accepted, and is told what is wrong with a list", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      await goTo(page, "Configuration");
      await seeHeading(page, "Configuration");
      await page.getByRole("button", { name: "Edit issuers" }).click();
      const list = page.getByLabel("Issuers (JSON)");
      await list.fill('[{ "issuer": "https://id.example.com" }]');
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("issuers[0].audiences").waitFor();
      const issuer = { issuer: "https://id.example.com", audiences: ["modelgate"], claims: { account: "email" } };
      await list.fill(JSON.stringify([{ ...issuer, onUnknown: "create", require: { hd: ["example.com"] } }]));
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Issuers saved").waitFor();
      await page.getByRole("cell", { name: "https://id.example.com for modelgate" }).waitFor();
      await page.getByText("created", { exact: true }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));
});
