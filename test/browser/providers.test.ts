import { describe, expect, test } from "bun:test";
import { startProvider } from "../support/chat-provider.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signInFirst, useDashboard } from "./dashboard.ts";

const first = "provider-key-first-0001";
const second = "provider-key-second-0002";

describe.skipIf(!hasChromium)("an administrator", () => {
  const dashboard = useDashboard({ SANDBOX: "" });

  test("adds a provider by hand, keeps the sandbox, replaces its key, orders, disables and removes it", () =>
    dashboard.visit(async (page) => {
      const upstream = startProvider(first, second);
      try {
        await signInFirst(page, dashboard.gateway);
        await goTo(page, "Providers");
        await seeHeading(page, "Providers");
        await page.getByText("Models without a real provider are simulated").waitFor();
        expect(await findViolations(page)).toEqual([]);

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
        const submit = page.getByRole("dialog").getByRole("button", { name: "Add provider" });
        await submit.click();
        await page.getByText("The key would be sent in clear text").waitFor();
        await page.getByLabel("Base URL").fill(upstream.baseUrl);
        await page.getByLabel("API key", { exact: true }).fill("provider-key-wrong-9999");
        await submit.click();
        // A key that is refused is not saved, and the provider's own words say why.
        await page.getByText(/acme failed: .*rejected the key ending in 9999 \(401\): Incorrect API key/).waitFor();
        await page.getByRole("button", { name: "Save anyway" }).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await page.getByLabel("API key", { exact: true }).fill(first);
        await submit.click();
        await page.getByText(/acme works: 127\.0\.0\.1:\d+ answered acme\/chat/).waitFor();
        await page.getByText("Models without a real provider are simulated").waitFor();
        await page.getByText(/Sandbox: \d+ models are simulated for want of a real provider/).waitFor();
        const { gateway } = dashboard;
        const ask = () =>
          gateway.post("/chat/completions", { model: "acme/chat", messages: [{ role: "user", content: "Hi" }] });
        expect((await ask()).status).toBe(200);
        upstream.answer.status = 503;
        expect((await ask()).status).toBe(500);
        upstream.answer.status = 200;

        const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "acme", exact: true }) });
        // Three attempts, of which two failed.
        await row.getByText("failing").waitFor();
        await row.getByText("broken").waitFor();
        await page.getByRole("link", { name: "Providers 1 failing" }).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await row.getByRole("link", { name: "acme", exact: true }).click();
        await seeHeading(page, "acme");
        await page.getByText("503: broken").waitFor();
        await page.getByRole("img", { name: /3 calls in the last 24 hours, 2 failed/ }).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await page.getByRole("button", { name: "Test connection" }).click();
        await page.getByText(/acme works/).waitFor();
        await page.getByText("working", { exact: true }).first().waitFor();
        const part = (name: string) => page.getByRole("group", { name: "Part" }).getByRole("button", { name }).click();
        await part("API keys");
        await page.getByText("…0001").waitFor();
        expect(await page.content()).not.toContain(first);
        await page.getByRole("button", { name: "Replace key 0001" }).click();
        await page.getByLabel("New key instead of …0001").fill(second);
        await page.getByRole("button", { name: "Replace key", exact: true }).click();
        await page.getByText("…0002").waitFor();
        expect(await page.content()).not.toContain(second);
        expect(await findViolations(page)).toEqual([]);
        await part("Models");
        await page.getByText("overloaded (status 503)").waitFor();
        expect(await findViolations(page)).toEqual([]);
        await part("Settings");
        await page.getByLabel("Priority").fill("7");
        await page.getByRole("button", { name: "Set order" }).click();
        await page.getByText("The order of acme is changed").waitFor();
        expect(await findViolations(page)).toEqual([]);

        await page.getByRole("button", { name: "Disable", exact: true }).click();
        await page.getByText("Running calls end normally").waitFor();
        await page.getByRole("button", { name: "Disable provider" }).click();
        await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
        expect((await ask()).status).toBe(400);
        await page.getByRole("button", { name: "Enable", exact: true }).click();
        await page.getByText("acme is enabled").waitFor();
        expect((await ask()).status).toBe(200);
        await goTo(page, "Status");
        await seeHeading(page, "Status");
        await page.getByRole("listitem").filter({ hasText: "acme" }).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await page.setViewportSize({ width: 390, height: 844 });
        await page.emulateMedia({ colorScheme: "dark" });
        await page.goto("/admin/providers");
        await page.getByRole("link", { name: "acme", exact: true }).waitFor();
        await page.goto("/admin/providers/acme?tab=settings");
        await page.getByRole("button", { name: "Remove", exact: true }).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await page.getByRole("button", { name: "Remove", exact: true }).click();
        await page.getByRole("button", { name: "Remove provider" }).click();
        await page.getByText("acme is removed").waitFor();
        await seeHeading(page, "Providers");
        expect(await page.getByRole("link", { name: "acme", exact: true }).count()).toBe(0);
      } finally {
        upstream.stop();
      }
    }));
});
