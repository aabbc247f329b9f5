import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { nextTurn, parts, startCacheProvider, toBody } from "../support/cache-provider.ts";
import { fillWallet } from "../support/gateway.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

const model = "claude-sonnet-5";
const session = { "session-id": "agent-1" };

describe.skipIf(!hasChromium)("a missed prompt cache", () => {
  const provider = startCacheProvider();
  const dashboard = useDashboard({ SANDBOX: "off", ...provider.env });
  let id = "";
  beforeAll(async () => {
    const { gateway } = dashboard;
    await fillWallet(gateway);
    const next = nextTurn(parts());
    for (const turn of [parts(), next, { ...nextTurn(next), tools: ["Another tool", ...next.tools.slice(1)] }]) {
      const response = await gateway.post("/messages", toBody("messages", model, turn), session);
      expect(response.status).toBe(200);
      id = response.headers.get("x-request-id") ?? "";
    }
    await dashboard.visit((page) => signInFirst(page, gateway));
  });
  afterAll(() => provider.stop());

  test("says in the request what changed and what that cost, and in usage what caches saved and lost", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", `/requests?request=${id}`);
      await page.getByText(/^Cache missed: tools\[0\] changed; [\d,]+ tokens, \$0\.\d+$/).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.goto("/statistics");
      await seeHeading(page, "Usage");
      const lost = page.locator(".stat", { hasText: "Lost to cache misses" });
      await lost.getByText(/\$0\.\d+ by changed tools/).waitFor();
      await page
        .locator(".stat", { hasText: "Saved by caches" })
        .getByText(/^\$0\.\d+$/)
        .waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));

  test("is told by the command line in one line, and by the API", async () => {
    const { stdout } = await dashboard.gateway.run("request", "show", id);
    expect(stdout).toMatch(/cache miss +tools \(tools\[0\]\), \d+ tokens, \$0\.\d+/);
    const { cache_miss: miss } = await (await dashboard.gateway.ask(`/key/requests/${id}`)).json();
    expect(miss).toMatchObject({ kind: "tools", place: "tools[0]", lost_usd: expect.stringMatching(/^0\.\d+$/) });
  });
});
