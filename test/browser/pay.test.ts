import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, signInFirst, useDashboard } from "./dashboard.ts";

/** Well-formed but fake. */
const keys = { STRIPE_SECRET_KEY: "sk_test_1234567890abcdef", STRIPE_WEBHOOK_SECRET: "whsec_1234567890abcdef" };

describe.skipIf(!hasChromium)("with payments configured", () => {
  const dashboard = useDashboard(keys);

  test("billing redirects to the payment provider and thanks afterwards", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      await goTo(page, "Billing");
      const amount = page.getByLabel("Add credit (USD)");
      await amount.fill("0.50");
      await page.getByRole("button", { name: "Pay" }).click();
      await page.getByText("usd must be an amount from 1.00 to 10000.00").waitFor();
      expect(await findViolations(page)).toEqual([]);
      const asked: unknown[] = [];
      // Replaces the request to Stripe, which is covered by the tests of the gateway.
      await page.route("**/dashboard/api/checkout", (route) => {
        asked.push(route.request().postDataJSON());
        return route.fulfill({ json: { url: "/billing?paid=1" } });
      });
      await amount.fill("25");
      await page.getByRole("button", { name: "Pay" }).click();
      await page.getByText("The amount is added to your wallet as soon as Stripe confirms the payment").waitFor();
      expect(asked).toEqual([{ usd: "25" }]);
    }));
});
