import { describe, expect, test } from "bun:test";
import { startProvider } from "../support/chat-provider.ts";
import { until } from "../support/until.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { createCaller, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

const key = "provider-key-first-0001";

describe.skipIf(!hasChromium)("an operator whose provider fails", () => {
  const dashboard = useDashboard({ SANDBOX: "" });

  test("sees who is hit, follows the figures to the requests, re-routes the model, tells customers, and ends the re-route", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const upstreams = { acme: startProvider(key), spare: startProvider(key) };
      try {
        await signInFirst(page, gateway);
        for (const [name, { baseUrl }] of Object.entries(upstreams)) {
          const manifest = { baseUrl, dialect: "openai", models: [{ id: `${name}/chat`, premium: false }] };
          const { status } = await page.request
            .post(`${gateway.origin}/v1/organization/providers`, {
              data: { name, manifest, key },
              headers: { origin: gateway.origin },
            })
            .then((response) => ({ status: response.status() }));
          expect(status).toBe(200);
        }
        const { ask } = await createCaller(dashboard, "ada@example.org");
        expect((await ask({ model: "acme/chat" })).status).toBe(200);
        upstreams.acme.answer.status = 500;
        const failed = await Promise.all([ask({ model: "acme/chat" }), ask({ model: "acme/chat" })]);
        expect(failed.map(({ ok }) => ok)).toEqual([false, false]);

        await page.goto("/");
        await page.getByRole("link", { name: "2 of 2 requests failed, of 1 account" }).click();
        await seeHeading(page, "acme");
        const hit = page.getByRole("region", { name: "Accounts hit" });
        await hit.getByRole("link", { name: "ada@example.org" }).waitFor();
        await page.getByRole("region", { name: "Clients were answered" }).getByText("upstream_error").waitFor();
        await page.getByText("1 of 1 without another route").waitFor();
        await page.getByText(/requests to acme\/chat have been failing: 2 of 2 requests \(100 %\) failed/).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await hit.getByRole("link", { name: /^2 of 2/ }).click();
        await seeHeading(page, "Requests");
        await page.locator("main tbody tr").nth(1).waitFor();
        await seeCount(page.locator("main tbody tr"), 2);
        await page.goBack();

        await page.getByRole("button", { name: "Disable", exact: true }).click();
        await page
          .getByText(/It served 3 requests in the last hour\. .*can no longer be called: acme\/chat\./)
          .waitFor();
        await page.getByRole("button", { name: "Cancel" }).click();
        await page.getByRole("button", { name: "Re-route acme/chat" }).click();
        await seeCount(page.locator('#reroute-targets option[value="spare/chat"]'), 1);
        await seeCount(page.locator('#reroute-targets option[value="acme/chat"]'), 0);
        await page.getByLabel("Answer with").fill("spare/chat");
        await page.getByLabel("For", { exact: true }).selectOption("until a time…");
        await page.getByLabel("Until (UTC)").fill("23:59");
        expect(await findViolations(page)).toEqual([]);
        await page.getByRole("dialog").getByRole("button", { name: "Re-route", exact: true }).click();
        await page.getByText(/Calls of acme\/chat are re-routed to spare\/chat until .*23:59/).waitFor();
        await page.getByText(/UTC, spare\/chat answers in their place\./).waitFor();
        expect(await findViolations(page)).toEqual([]);
        const answered = await ask({ model: "acme/chat" });
        expect([answered.status, answered.headers.get("x-modelgate-model")]).toEqual([200, "spare/chat"]);

        await page.goto("/models");
        await page.getByRole("button", { name: "acme/chat" }).click();
        await page
          .getByRole("dialog")
          .getByText(/Calls of acme\/chat are re-routed/)
          .waitFor();
        await page.goto("/");
        await page.getByText(/Calls of acme\/chat are re-routed/).waitFor();
        expect(await findViolations(page)).toEqual([]);
        await page.getByRole("button", { name: "End re-route" }).click();
        await page.getByText("acme/chat is no longer re-routed").waitFor();
        await page.getByText(/Calls of acme\/chat are re-routed/).waitFor({ state: "detached" });
      } finally {
        for (const { stop } of Object.values(upstreams)) await stop();
      }
    }));

  test("resumes a provider that is paused after failures and works again, and reads until when it is paused", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      const upstream = startProvider(key);
      try {
        await signIn(page, "owner@localhost");
        const manifest = {
          baseUrl: upstream.baseUrl,
          dialect: "openai",
          models: [{ id: "late/chat", premium: false }],
        };
        const added = await page.request.post(`${gateway.origin}/v1/organization/providers`, {
          data: { name: "late", manifest, key },
          headers: { origin: gateway.origin },
        });
        expect(added.status()).toBe(200);
        const { ask } = await createCaller(dashboard, "bo@example.org");
        const statusOf = async () => {
          const answer = await ask({ model: "late/chat" });
          await answer.body?.cancel();
          return answer.status;
        };
        upstream.answer.status = 500;
        await until(async () => (await statusOf()) === 503);
        const words = /paused until .*:\d\d:\d\d|waits for the next call to try it/;
        await page.goto("/status");
        await page.getByRole("listitem").filter({ hasText: "late" }).getByText(words).waitFor();
        await page.goto("/admin/providers/late?tab=models");
        await page.getByRole("cell", { name: words }).waitFor();
        await page.getByRole("button", { name: "Resume now: late/chat" }).waitFor();
        await page.goto("/admin/providers/late");
        const health = page.getByRole("region", { name: "Health" });
        await health.getByText(words).waitFor();
        expect(await findViolations(page)).toEqual([]);
        upstream.answer.status = 200;
        await health.getByRole("button", { name: "Resume now: late" }).click();
        await page.getByText("late is in use again").waitFor();
        expect(await statusOf()).toBe(200);
        await health.getByRole("button", { name: "Resume now: late" }).waitFor({ state: "detached" });
      } finally {
        await upstream.stop();
      }
    }));
});
