import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createCaller, seeHeading, signInFirst, useDashboard } from "./dashboard.ts";

describe.skipIf(!hasChromium)("a customer who asks why, and month end", () => {
  const dashboard = useDashboard();

  test("an operator finds the sum of a charge, and the statements of all accounts and of one", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      const { ask } = await createCaller(dashboard, "fay@example.org");
      const response = await ask();
      expect(response.status).toBe(200);
      const { usage } = (await response.json()) as { usage: { prompt_tokens: number } };

      await page.goto(`/requests?request=${response.headers.get("x-request-id")}`);
      const charge = page.getByRole("dialog").getByRole("region", { name: "Charge" });
      const input = charge.getByRole("row", { name: /^Input tokens/ });
      expect(await input.textContent()).toStartWith(`Input tokens${usage.prompt_tokens}$2.00 per M$`);
      await charge.getByRole("row", { name: /^Charged/ }).waitFor();
      expect(await findViolations(page)).toEqual([]);

      await page.goto("/requests?account=fay");
      await page.getByText('There is no account "fay"').waitFor();

      await page.goto("/admin/accounts");
      await page.getByRole("link", { name: "Statements" }).click();
      await seeHeading(page, "Statements");
      await page.getByRole("row", { name: /^fay@example\.org \$0\.00 \$20\.00/ }).waitFor();
      await page.getByRole("row", { name: /^All accounts \$0\.00 \$20\.00/ }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("File").setInputFiles({
        name: "bill.csv",
        mimeType: "text/csv",
        buffer: Buffer.from(`day,model,requests\n${new Date().toISOString().slice(0, 10)},gpt-4.1,7\n`),
      });
      await page.getByRole("button", { name: "Compare" }).click();
      await page.getByRole("row", { name: /gpt-4\.1 requests 1 7$/ }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("link", { name: "fay@example.org" }).click();
      await seeHeading(page, "Statement");
      await page.getByRole("region", { name: "Charges by model" }).getByText("gpt-4.1").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("link", { name: "Account", exact: true }).click();
      await seeHeading(page, "fay@example.org");
    }));
});
