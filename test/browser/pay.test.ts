import { describe, expect, test } from "bun:test";
import { hasChromium, seriousFaults } from "./chromium.ts";
import { enterFirst, testMsMax, useDashboard } from "./dashboard.ts";

/** Of the right form, and nobody's. */
const keys = { STRIPE_SECRET_KEY: "sk_test_1234567890abcdef", STRIPE_WEBHOOK_SECRET: "whsec_1234567890abcdef" };

describe.skipIf(!hasChromium)("where payments are taken", () => {
  const dashboard = useDashboard(keys);

  test(
    "billing leads to the provider of them, and says thank you afterwards",
    () =>
      dashboard.visit(async (page) => {
        await enterFirst(page, dashboard.gateway);
        await page.getByRole("link", { name: "Billing" }).click();
        const amount = page.getByLabel("Add money, in US dollars");
        await amount.fill("0.50");
        await page.getByRole("button", { name: "Pay" }).click();
        await page.getByText("usd is not an amount from 1.00 to 10000.00").waitFor();
        expect(await seriousFaults(page)).toEqual([]);
        const asked: unknown[] = [];
        // In the place of Stripe, which is asked by the gateway and tested there.
        await page.route("**/dashboard/api/checkout", (route) => {
          asked.push(route.request().postDataJSON());
          return route.fulfill({ json: { url: "/billing?paid=1" } });
        });
        await amount.fill("25");
        await page.getByRole("button", { name: "Pay" }).click();
        await page.getByText("The money is in your wallet as soon as Stripe says").waitFor();
        expect(asked).toEqual([{ usd: "25" }]);
      }),
    testMsMax,
  );
});
