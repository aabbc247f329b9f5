import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signInFirst, useDashboard } from "./dashboard.ts";

/** A provider that has a model which nobody has listed. */
const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request) =>
    new URL(request.url).pathname.endsWith("/models")
      ? Response.json({ data: [{ id: "model-of-tomorrow", created: 1 }, { id: "whisper-of-tomorrow" }] })
      : Response.json({
          choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        }),
});

describe.skipIf(!hasChromium)("unlisted models", () => {
  const dashboard = useDashboard({
    OPENAI_API_KEY: "sk-upstream",
    OPENAI_BASE_URL: `http://127.0.0.1:${provider.port}/v1`,
  });
  afterAll(() => provider.stop(true));

  test("are sold by terms of a form, found at the provider, and no longer sold without", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const file = join(gateway.home, "catalogue/openai.json");
      const messages = [{ role: "user", content: "Say hello" }];
      const request = { model: "model-of-tomorrow", messages };
      const statusOf = async () => (await gateway.post("/chat/completions", request)).status;
      await signInFirst(page, gateway);
      await goTo(page, "Models and prices");
      await seeHeading(page, "Models and prices");
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Unlisted models" }).click();
      expect(await statusOf()).toBe(400);
      await page.getByRole("button", { name: "Sell unlisted models" }).click();
      await page.getByLabel("Provider").selectOption("openai");
      await page.getByLabel("Billing").selectOption("free");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("unlisted has no price for inputToken, outputToken").waitFor();
      expect(existsSync(file)).toBe(false);
      await page.getByLabel("Input tokens (USD)").fill("1");
      await page.getByLabel("Output tokens (USD)").fill("2");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Unlisted models of openai are charged at these prices").waitFor();
      expect(JSON.parse(readFileSync(file, "utf8")).unlisted).toEqual({
        premium: false,
        price: { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } },
      });
      const section = page.getByRole("region", { name: "Unlisted models" });
      await section.getByRole("cell", { name: "1", exact: true }).waitFor();
      expect(await statusOf()).toBe(200);
      expect(await findViolations(page)).toEqual([]);

      await section.getByRole("button", { name: "openai", exact: true }).click();
      await page.getByLabel("Output tokens (USD)").fill("3");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Remove the terms of openai" }).click();
      await page.getByRole("button", { name: "Remove terms" }).click();
      await section.getByRole("button", { name: "openai", exact: true }).waitFor({ state: "detached" });
      expect([await statusOf(), existsSync(file)]).toEqual([400, false]);
      await goTo(page, "Audit log");
      await page.getByText("openai: ~ unlisted models: premium none → false").first().waitFor();
    }));
});
