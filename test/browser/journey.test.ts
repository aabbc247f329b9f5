import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { errorOf } from "../support/error-of.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signInFirstByForm, useDashboard } from "./dashboard.ts";

/** A call shows up within 5 seconds; more on a busy machine. */
const shownMsMax = 60_000;

describe.skipIf(!hasChromium)("from the first start to a revoked key", () => {
  const dashboard = useDashboard({ MODELGATE_BOOTSTRAP_KEY: "", FREE_TOKENS_PER_DAY: "1000" });

  test("an owner signs in, changes the password, creates a key, calls with it, pays and revokes it", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await signInFirstByForm(page, gateway);

      await goTo(page, "API keys");
      await page.getByRole("button", { name: "Create API key" }).first().click();
      await page.getByRole("textbox", { name: "Name" }).fill("laptop");
      await page.getByRole("button", { name: "Create key" }).click();
      const secret = await page.locator("[data-secret]").textContent();
      expect(secret).toStartWith("sk-mg-");
      expect(await page.locator(".code pre").textContent()).toContain(`Authorization: Bearer ${secret}`);
      await page.getByRole("button", { name: "Node" }).click();
      expect(await page.locator(".code pre").textContent()).toContain(`baseURL: "${gateway.baseUrl}"`);
      for (const [name, address] of [
        ["Codex", gateway.baseUrl],
        ["Claude Code", gateway.origin],
      ] as const) {
        await page.getByRole("button", { name, exact: true }).click();
        const snippet = await page.locator(".code pre").textContent();
        for (const fact of [address, `=${secret}`]) expect(snippet).toContain(fact);
        expect(await findViolations(page)).toEqual([]);
      }
      await page.getByRole("button", { name: "I've saved it" }).click();
      expect(await page.content()).not.toContain(secret);

      await goTo(page, "My account");
      await page.getByText("1,000 tokens left").waitFor();
      const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: secret, maxRetries: 0 });
      const messages = [{ role: "user" as const, content: "Say hello" }];
      const ask = async (model: string) => await client.chat.completions.create({ model, messages });
      const free = await ask("famA-4o-mini");
      const left = 1000 - (free.usage?.total_tokens ?? 0);
      await page.getByText(`${left} tokens left`).waitFor({ timeout: shownMsMax });
      await page
        .getByRole("cell", { name: /gpt-4o-mini.*Chat · laptop/ })
        .first()
        .waitFor({ timeout: shownMsMax });

      // The first account of a sandbox has demo credit, which its statement calls so.
      await ask("famA-5");
      const { code } = await gateway.cli<{ code: string }>("voucher", "create", "--usd", "5");
      await goTo(page, "Billing");
      await page.getByText("Demo credit for the sandbox, not real money").waitFor();
      await page.getByLabel("Redeem a voucher").fill("nonsense");
      await page.getByRole("button", { name: "Redeem" }).click();
      await page.getByText("No voucher has this code").waitFor();
      await page.getByLabel("Redeem a voucher").fill(code);
      await page.getByRole("button", { name: "Redeem" }).click();
      await page.getByText("$5.00 added to your wallet").waitFor();
      await page.getByLabel("Redeem a voucher").fill(code);
      await page.getByRole("button", { name: "Redeem" }).click();
      await page.getByText("was already redeemed").waitFor();
      await page.getByRole("link", { name: "Monthly statement" }).click();
      await seeHeading(page, "Statement");
      // Ten dollars of demo credit and five of the voucher.
      await page.getByText("$15.00", { exact: true }).waitFor();
      await page.getByRole("cell", { name: "gpt-5", exact: true }).waitFor();
      expect(await findViolations(page)).toEqual([]);

      await goTo(page, "My account");
      await ask("famA-5");
      await page.getByRole("cell", { name: /gpt-5/ }).first().waitFor({ timeout: shownMsMax });
      await page
        .getByTitle(/^\$14\.99/)
        .first()
        .waitFor({ timeout: shownMsMax });

      await goTo(page, "API keys");
      await page.getByRole("button", { name: "Edit laptop" }).click();
      await page.getByLabel("Budget (USD)").fill("much");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("expected US dollars").waitFor();
      const { balance_usd } = await gateway.cli<{ balance_usd: string }>("account", "show", "owner@localhost");
      const spent = 15 - Number(balance_usd);
      // What the key has spent before counts, and what the next call leaves does not cover another.
      await page.getByLabel("Budget (USD)").fill((spent + 0.0026).toFixed(9));
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("“laptop” saved").waitFor();
      await ask("famA-5");
      expect(await errorOf(ask("famA-5"))).toMatchObject({ status: 403, code: "budget_exceeded" });

      await page.getByRole("button", { name: "Revoke laptop" }).click();
      await page.getByRole("button", { name: "Revoke key" }).click();
      await page.getByText("“laptop” revoked").waitFor();
      expect(await errorOf(ask("famA-4o-mini"))).toMatchObject({ status: 401 });
      await page.getByRole("button", { name: "Sign out" }).click();
      await seeHeading(page, "Sign in");
    }));
});
