import { beforeAll, describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import {
  createUser,
  downloadedText,
  listPages,
  seeHeading,
  show,
  signIn,
  signInFirst,
  useDashboard,
} from "./dashboard.ts";

const messages = [{ role: "user", content: "Say hello" }];

describe.skipIf(!hasChromium)("finding one's way", () => {
  const dashboard = useDashboard();
  let requestId = "";
  beforeAll(async () => {
    const { gateway } = dashboard;
    const response = await gateway.post("/chat/completions", { model: "gpt-4o-mini", messages });
    requestId = response.headers.get("x-request-id") ?? "";
    await gateway.post("/chat/completions", { model: "gpt-4o-mni", messages });
    await dashboard.visit((page) => signInFirst(page, gateway));
    await createUser(dashboard, "ada@example.org");
  });

  test("operators land on the gateway as a whole, and members on their account", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await seeHeading(page, "Home");
      await page.getByText("1 failed").waitFor();
      await page.getByText("1 of them refused").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Sign out" }).click();
      await seeHeading(page, "Sign in");
      await signIn(page, "ada@example.org");
      await seeHeading(page, "Overview");
      expect(await page.getByRole("link", { name: "Home", exact: true }).count()).toBe(0);
    }));

  test("Ctrl-K goes to a page, a model, a request, an account and a key by the keyboard alone", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      const go = async (text: string, option: RegExp) => {
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox", { name: "Go to a page" }).fill(text);
        await page.getByRole("option", { name: option }).first().waitFor();
      };
      await go("usage", /^My usage\s*Usage/);
      for (const [word, page] of [
        ["users", /^Accounts/],
        ["credit", /^Billing/],
        ["invoice", /^Monthly statement/],
        ...["budget", "limit", "cap", "spend", "guard"].map(
          (word) => [word, /^Budgets and limits\s*Accounts/] as const,
        ),
        ["scim", /^Groups\s*Accounts/],
        ["members", /^My team\s*Accounts/],
        ["logs", /^Requests/],
        ["webhook", /^Alerts/],
        ["fallback", /^Providers/],
        ["route", /^Models and prices/],
        ["spend", /^All accounts\s*Usage/],
        ["tokens", /^My API keys/],
        ["virtual", /^Models and prices/],
        ["invite", /^Accounts/],
        ["smtp", /^Alerts/],
        ["refund", /^Billing/],
        ["guardrail", /^Configuration/],
        ["top up", /^Accounts/],
        ["one call in dollars", /^One call in dollars\s*Billing/],
      ] as const) {
        await go(word, page);
      }
      await go("bill", /^Billing/);
      expect(await findViolations(page)).toEqual([]);
      await page.keyboard.press("Enter");
      await seeHeading(page, "Billing");
      await go("statem", /^Monthly statement/);
      await page.keyboard.press("Enter");
      await seeHeading(page, "Statement");
      await go("gpt-4o-mini", /^gpt-4o-mini/);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("heading", { name: "gpt-4o-mini" }).waitFor();
      await page.keyboard.press("Escape");
      await go("ada@", /^ada@example\.org/);
      await page.keyboard.press("Enter");
      await seeHeading(page, "ada@example.org");
      await go(requestId, /request to/);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByText(requestId).first().waitFor();
    }));

  test("a key that was found somewhere leads to its owner, and is revoked there", () =>
    dashboard.visit(async (page) => {
      const { key } = await dashboard.gateway.cli<{ key: string }>(
        ...(["key", "create", "--account", "ada@example.org", "--name", "leaked"] as const),
      );
      await signIn(page, "owner@localhost", "/admin/api-keys");
      await page.getByLabel("Search keys").fill(key.slice(0, 14));
      await page.getByRole("link", { name: "ada@example.org" }).waitFor();
      await page.getByRole("button", { name: "Revoke leaked" }).click();
      await page.getByRole("button", { name: "Revoke key" }).click();
      await page.getByText("“leaked” revoked").waitFor();
      const response = await fetch(`${dashboard.gateway.baseUrl}/models`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(response.status).toBe(401);
    }));

  test("no search field brings the secret of a pasted key into an address, the history, a request or the storage", () =>
    dashboard.visit(async (page, { context }) => {
      const { gateway } = dashboard;
      const make = ["key", "create", "--account", "ada@example.org", "--name", "pasted"] as const;
      const { id, key } = await gateway.cli<{ id: string; key: string }>(...make);
      const admin = ["admin-key", "create", "--name", "pasted too", "--scopes", "usage:read"] as const;
      const { key: adminKey } = await gateway.cli<{ key: string }>(...admin);
      const foreign = `sk-${"f".repeat(20)}${crypto.randomUUID().replaceAll("-", "")}`;
      const secrets = [key, adminKey, foreign].map((text) => text.slice(-24));
      const isLeak = (text: string) => secrets.some((secret) => text.includes(secret));
      const leaks: string[] = [];
      const addresses: string[] = [];
      page.on("request", (request) => {
        const sent = `${request.url()} ${request.headers().referer ?? ""} ${request.postData() ?? ""}`;
        addresses.push(request.url());
        // What somebody opens is a request of the browser itself.
        if (request.isNavigationRequest()) return;
        if (isLeak(sent)) leaks.push(`a request: ${sent.slice(0, 300)}`);
      });
      await signIn(page, "owner@localhost", "/settings");
      await seeHeading(page, "Settings");
      const paths = [...(await listPages(page)).keys()];
      expect(paths.length).toBeGreaterThan(15);
      let fields = 0;
      for (const path of [...paths, "/requests?from=x", "/admin/audit?span=custom"]) {
        await show(page, path.replace("from=x", "tag=none"));
        const inputs = page.locator("main input[type=search], main .filters input:not([type=datetime-local])");
        const count = await inputs.count();
        for (let place = 0; place < count; place++) {
          for (const text of [key, adminKey, foreign, `  ${key} `]) {
            fields += 1;
            await inputs.nth(place).fill(text);
            await inputs.nth(place).press("Tab");
            if (isLeak(page.url())) leaks.push(`the address ${page.url()}`);
          }
        }
      }
      expect(fields).toBeGreaterThan(30);
      await page.keyboard.press("Control+k");
      for (const text of [key, adminKey, foreign]) {
        await page.getByRole("combobox", { name: "Go to a page" }).fill(text);
        await page.waitForTimeout(400);
      }
      await page.getByRole("combobox", { name: "Go to a page" }).fill(key);
      await page.getByRole("option", { name: /^pasted/ }).waitFor();
      await page.keyboard.press("Enter");
      await seeHeading(page, "All API keys");
      await page.goto(`/admin/api-keys?search=${key}&state=all`).catch(() => undefined);
      await page.waitForURL((url) => url.search.includes(id) && !isLeak(url.href));
      const session = await context.newCDPSession(page);
      const { entries } = (await session.send("Page.getNavigationHistory")) as { entries: { url: string }[] };
      leaks.push(...entries.filter(({ url }) => isLeak(url)).map(({ url }) => `the history: ${url}`));
      const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
      if (isLeak(stored)) leaks.push(`the storage: ${stored}`);
      expect(leaks).toEqual([]);
      expect(addresses.some((address) => address.includes(encodeURIComponent(`sk-mg-${id}-…`)))).toBe(true);
    }));

  test("Connect fills in the base URL, a key and a capable model for each client", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", "/connect");
      await seeHeading(page, "Connect");
      const code = page.locator(".code pre");
      expect(await code.textContent()).toContain(dashboard.gateway.baseUrl);
      await page.getByLabel("API key", { exact: true }).fill("sk-mg-abcd-0123456789abcdef");
      await page.getByRole("button", { name: "Claude Code" }).click();
      await page.waitForURL(/client=claude/);
      const snippet = (await code.textContent()) ?? "";
      expect(snippet).toContain("ANTHROPIC_AUTH_TOKEN=sk-mg-abcd-0123456789abcdef");
      expect(snippet).toMatch(/ANTHROPIC_MODEL=claude-/);
      expect(page.url()).not.toContain("sk-mg");
      for (const name of ["Codex", "OpenCode", "Cursor", "VS Code", "AI SDK"]) {
        await page.getByRole("button", { name, exact: true }).click();
      }
      expect(await findViolations(page)).toEqual([]);
    }));

  test("people are invited by a pasted list, each with a link of their own", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost", "/admin/accounts");
      await page.getByRole("button", { name: "Invite people" }).click();
      await page.getByLabel("Email addresses").fill("email,name\ngrace@example.org, Grace Hopper\nada@example.org");
      await page.getByRole("button", { name: "Invite 2 people" }).click();
      await page.getByText("1 of 2 invited").waitFor();
      await page.getByText(/#invitation=/).waitFor();
      await page.getByText("Account ada@example.org already exists").waitFor();
      expect(await findViolations(page)).toEqual([]);
    }));

  test("a page leads to its section of the documentation, which can be searched and loads nothing from elsewhere", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "ada@example.org", "/requests");
      await page.getByRole("link", { name: "Help", exact: true }).click();
      await page.waitForURL("/help/observability#request-log");
      await seeHeading(page, "Observability");
      const heading = page.getByRole("heading", { level: 2, name: "Request log" });
      await heading.waitFor();
      // It is scrolled to once the text is there.
      await page.waitForFunction(() => {
        const { top = -1 } = document.getElementById("request-log")?.getBoundingClientRect() ?? {};
        return top >= 0 && top < innerHeight;
      });
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("link", { name: "Documentation", exact: true }).click();
      await page.getByLabel("Search documentation").fill("idempotency-key");
      await page.getByRole("link", { name: "Repeated requests" }).click();
      await page.waitForURL("/help/api#repeated-requests");
      await seeHeading(page, "API");
      await page.reload();
      await page.getByRole("heading", { level: 2, name: "Repeated requests" }).waitFor();
    }));

  test("tables are downloaded as CSV, with text that no spreadsheet takes for a formula", () =>
    dashboard.visit(async (page) => {
      await dashboard.gateway.cli("admin-key", "create", "--name", "=SUM(A1)", "--scopes", "keys:read");
      await dashboard.gateway.cli("voucher", "create", "--usd", "5");
      await signIn(page, "owner@localhost");
      const download = async (path: string) => {
        await show(page, path);
        const begun = page.waitForEvent("download");
        await page.getByRole("button", { name: "CSV", exact: true }).first().click();
        const file = await begun;
        return { name: file.suggestedFilename(), text: await downloadedText(file) };
      };
      const keys = await download("/admin/keys");
      expect(keys.name).toBe("modelgate-admin-keys.csv");
      expect(keys.text).toStartWith(
        '"Name","Status","Scopes","Last used","Expires","Created","ID","Networks","Created by"\r\n"\'=SUM(A1)","active",',
      );
      expect((await download("/admin/vouchers")).text).toMatch(/\r\n"vch_\w+","unused",5,"\d{4}-/);
      expect((await download("/admin/providers")).text).toContain('"Base URL","Reason"\r\n');
      expect((await download("/admin/catalogue")).text).toContain('"Provider","ID","Aliases","Retired on"\r\n');
    }));
});
