import { describe, expect, test } from "bun:test";
import { startProvider } from "../support/chat-provider.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { seeHeading, signInFirst, testMsMax, useDashboard } from "./dashboard.ts";

const first = "provider-key-first-0001";
const second = "provider-key-second-0002";

describe.skipIf(!hasChromium)("an administrator", () => {
  const dashboard = useDashboard({ SANDBOX: "" });

  test(
    "adds a provider by hand, keeps the sandbox, replaces its key, orders, disables and removes it",
    () =>
      dashboard.visit(async (page) => {
        const upstream = startProvider(first, second);
        const shoot = async (name: string) => {
          const folder = process.env.SCREENSHOTS;
          if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
        };
        try {
          await signInFirst(page, dashboard.gateway);
          await page.getByRole("link", { name: "Providers" }).click();
          await seeHeading(page, "Providers");
          await page.getByText("Models without a real provider are simulated").waitFor();
          expect(await findViolations(page)).toEqual([]);
          await shoot("providers-empty");

          await page.getByRole("button", { name: "Add provider" }).click();
          await page.getByLabel("Provider", { exact: true }).selectOption("vllm");
          expect(await page.getByLabel("Base URL").inputValue()).toBe("http://127.0.0.1:8000/v1");
          await page.getByLabel("Provider", { exact: true }).selectOption("another");
          await page.getByLabel("Name").fill("acme");
          await page.getByLabel("Base URL").fill("http://acme.example/v1");
          await page.getByLabel("Models", { exact: true }).fill("acme/chat chat-1");
          await page.getByLabel("API key", { exact: true }).fill(first);
          await page.getByRole("combobox", { name: "Sandbox" }).selectOption("on");
          expect(await findViolations(page)).toEqual([]);
          await shoot("provider-add");
          const submit = page.getByRole("dialog").getByRole("button", { name: "Add provider" });
          await submit.click();
          await page.getByText("The key would be sent in clear text").waitFor();
          await page.getByLabel("Base URL").fill(upstream.baseUrl);
          await submit.click();
          await page.getByText(/acme works: 127\.0\.0\.1:\d+ answered acme\/chat/).waitFor();
          await page.getByText("Models without a real provider are simulated").waitFor();
          const { gateway } = dashboard;
          const ask = () =>
            gateway.post("/chat/completions", { model: "acme/chat", messages: [{ role: "user", content: "Hi" }] });
          expect((await ask()).status).toBe(200);
          upstream.answer.status = 503;
          expect((await ask()).status).toBe(500);
          upstream.answer.status = 200;

          await page.getByRole("button", { name: "Manage acme" }).click();
          await page.getByText("…0001").waitFor();
          expect(await page.content()).not.toContain(first);
          await page.getByRole("button", { name: "Replace key 0001" }).click();
          await page.getByLabel("New key instead of …0001").fill(second);
          await page.getByRole("button", { name: "Replace key", exact: true }).click();
          await page.getByText("…0002").waitFor();
          expect(await page.content()).not.toContain(second);
          await page.getByLabel("Priority").fill("7");
          await page.getByRole("button", { name: "Set order" }).click();
          await page.getByText("The order of acme is changed").waitFor();
          await page.getByText("overloaded (status 503)").first().waitFor();
          expect(await findViolations(page)).toEqual([]);
          await shoot("provider");
          await page.getByRole("button", { name: "Test connection" }).click();
          await page
            .getByText(/acme works/)
            .first()
            .waitFor();

          await page.getByRole("button", { name: "Disable", exact: true }).click();
          await page.getByText("Running calls end normally").waitFor();
          await page.getByRole("button", { name: "Disable provider" }).click();
          await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
          expect((await ask()).status).toBe(400);
          await page.getByRole("button", { name: "Enable", exact: true }).click();
          await page.getByText("acme is enabled").waitFor();
          expect((await ask()).status).toBe(200);
          await page.keyboard.press("Escape");
          await page.getByRole("cell", { name: "priority 7" }).waitFor();
          await shoot("providers");
          await page.setViewportSize({ width: 390, height: 844 });
          await page.emulateMedia({ colorScheme: "dark" });
          await shoot("providers-phone-dark");
          await page.getByRole("button", { name: "Manage acme" }).click();
          expect(await findViolations(page)).toEqual([]);
          await shoot("provider-phone-dark");
          await page.getByRole("button", { name: "Remove", exact: true }).click();
          await page.getByRole("button", { name: "Remove provider" }).click();
          await page.getByText("acme is removed").waitFor();
          expect(await page.getByRole("button", { name: "Manage acme" }).count()).toBe(0);
        } finally {
          upstream.stop();
        }
      }),
    testMsMax,
  );
});
