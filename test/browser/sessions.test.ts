import { beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { fillWallet } from "../support/gateway.ts";
import { until } from "../support/until.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount, seeTexts } from "./seen.ts";

const session = "fix / login:7";
const phone = { width: 390, height: 844 };

describe.skipIf(!hasChromium)("a session of a coding agent", () => {
  const dashboard = useDashboard();
  const namesOf = (agent?: string, parent?: string): Record<string, string> => ({
    "session-id": session,
    ...(agent && { "x-modelgate-agent": agent }),
    ...(parent && { "x-modelgate-parent-agent": parent }),
  });
  const ask = (words: string, names: Record<string, string>, fields: object = {}) =>
    dashboard.gateway.post(
      "/chat/completions",
      { model: "famA-4.1", messages: [{ role: "user", content: words }], ...fields },
      names,
    );
  beforeAll(async () => {
    const { gateway } = dashboard;
    await fillWallet(gateway);
    for (const [agent, parent] of [[], ["planner"], ["coder", "planner"], ["tester", "coder"], ["reviewer"]] as const) {
      await ask("Say hello", namesOf(agent, parent));
    }
    await ask("[[fault: status=500]]", namesOf("coder", "planner"));
    await dashboard.visit((page) => signInFirst(page, gateway));
  });
  const agents = (page: Page) => page.getByRole("region", { name: "Agents" });
  const row = (page: Page, name: string) => agents(page).getByRole("row", { name: new RegExp(`^${name}`) });

  test("is found by what it cost, and shows its agents as a tree and its calls in their order", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "Sessions");
      await seeHeading(page, "Sessions");
      await page.getByRole("link", { name: session }).click();
      await seeHeading(page, "Session");
      await row(page, "tester").waitFor();
      const names = agents(page).locator("tbody td.lead .agent-name");
      await seeTexts(names, ["Main agent", "planner", "coder", "tester", "reviewer"]);
      await row(page, "planner").getByText("2 agents below").waitFor();
      await row(page, "coder").getByText("1 failed").waitFor();
      const calls = page.getByRole("region", { name: "Calls" }).locator("tbody tr");
      await seeCount(calls, 6);
      expect(await calls.first().textContent()).toContain("coder");
      expect(await findViolations(page)).toEqual([]);
      await row(page, "reviewer").getByRole("link", { name: "reviewer" }).click();
      await seeHeading(page, "Requests");
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
      await page.locator("main tbody button.link").first().click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("reviewer").waitFor();
      await dialog.getByRole("link", { name: "Bill" }).click();
      await seeHeading(page, "Session");
    }));

  test("fits a phone, where each agent is a card", () =>
    dashboard.visit(
      async (page) => {
        await signIn(page, "owner@localhost", `/sessions?session=${encodeURIComponent(session)}`);
        await row(page, "tester").or(agents(page).getByText("tester")).first().waitFor();
        const isWider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        expect(isWider).toBe(false);
        expect(await findViolations(page)).toEqual([]);
      },
      { viewport: phone },
    ));

  test("and a branch of it is ended with what runs in it", () =>
    dashboard.visit(async (page) => {
      const running = ["coder", "reviewer"].map((agent) =>
        ask("[[fault: pace=60000]] one two", namesOf(agent, agent === "coder" ? "planner" : undefined), {
          stream: true,
        }),
      );
      await signIn(page, "owner@localhost", `/sessions?session=${encodeURIComponent(session)}`);
      await row(page, "coder").getByText("running").waitFor();
      await row(page, "reviewer").getByText("running").waitFor();
      await page.getByRole("button", { name: "End planner and everything below it" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("1 call running").waitFor();
      await dialog.getByRole("button", { name: "End agent" }).click();
      await page.getByText("1 call ended").waitFor();
      // The head of an answer that has no word yet comes late.
      const [coder, reviewer] = running;
      expect(await (await coder)?.text()).toContain("session_ended");
      await until(async () => (await row(page, "coder").getByText("running").count()) === 0);
      await seeCount(row(page, "reviewer").getByText("running"), 1);
      expect((await ask("Say hello", namesOf("tester", "coder"))).status).toBe(403);
      await page.getByRole("button", { name: "End session" }).click();
      await dialog.getByRole("button", { name: "End session" }).click();
      expect(await (await reviewer)?.text()).toContain("session_ended");
      await page.goto("/sessions?session=nobody");
      await page.getByText("No call named this session").waitFor();
    }));
});
