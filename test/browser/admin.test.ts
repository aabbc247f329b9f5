import { describe, expect, test } from "bun:test";
import { hasChromium, seriousFaults } from "./chromium.ts";
import { createUser, enterFirst, seeHeading, signIn, testMsMax, useDashboard } from "./dashboard.ts";

const email = "ada@example.org";

describe.skipIf(!hasChromium)("an administrator", () => {
  const dashboard = useDashboard();

  test(
    "makes an account, invites, credits, bounds and shuts out, and reads all of it in the audit",
    () =>
      dashboard.visit(async (page) => {
        const { gateway } = dashboard;
        await enterFirst(page, gateway);
        await page.getByRole("link", { name: "Accounts" }).click();
        await seeHeading(page, "Accounts");

        await page.getByRole("button", { name: "New account" }).click();
        await page.getByLabel("E-mail").fill("no address");
        await page.getByRole("button", { name: "Make account" }).click();
        await page.getByText("is not a valid address").waitFor();
        await page.getByLabel("E-mail").fill("new@example.org");
        await page.getByRole("button", { name: "Make account" }).click();
        await page.getByRole("button", { name: "Make an invitation" }).click();
        expect(await page.locator(".code pre").textContent()).toMatch(/#invitation=[\w-]{32}$/);
        await page.getByRole("button", { name: "Done" }).click();

        await createUser(dashboard, email);
        await page.getByLabel("Search accounts").fill("ADA@");
        await page.getByRole("button", { name: email }).click();
        expect(await seriousFaults(page)).toEqual([]);
        await page.getByLabel("Credit in US dollars").fill("2.50");
        await page.getByLabel("Why, for the account's statement").fill("<b>Welcome</b>");
        await page.getByRole("button", { name: "Credit", exact: true }).click();
        await page.getByText(`The balance of ${email} is $2.50`).waitFor();
        await page.getByLabel("Free tokens a day").fill("7");
        await page.getByRole("button", { name: "Set quota" }).click();
        await page.getByText("has a quota of its own").waitFor();
        await page.getByRole("button", { name: "Disable account" }).click();
        await page.getByRole("button", { name: "Let in again" }).click();
        await page.getByRole("button", { name: "Disable account" }).waitFor();
        await page.keyboard.press("Escape");
        await page.getByRole("cell", { name: "$2.50" }).waitFor();

        await page.getByRole("link", { name: "Audit" }).click();
        await seeHeading(page, "Audit");
        await page.getByText("account.create").waitFor();
        for (const action of ["account.invite", "account.credit", "account.quota", "account.disabled"]) {
          expect(await page.getByText(action).count()).toBeGreaterThan(0);
        }
        await page.getByText("usd: 2.5, note: <b>Welcome</b>, repeated: false").waitFor();
      }),
    testMsMax,
  );

  test(
    "makes a voucher, keeps its code, and makes it void",
    () =>
      dashboard.visit(async (page) => {
        await signIn(page, "owner@localhost");
        await page.getByRole("link", { name: "Vouchers" }).click();
        await page.getByText("No vouchers yet").waitFor();
        await page.getByRole("button", { name: "New voucher" }).click();
        expect(await seriousFaults(page)).toEqual([]);
        await page.getByLabel("Worth in US dollars").fill("much");
        await page.getByRole("button", { name: "Make voucher" }).click();
        await page.getByText("usd is not US dollars").waitFor();
        await page.getByLabel("Worth in US dollars").fill("5");
        await page.getByRole("button", { name: "Make voucher" }).click();
        const code = await page.locator(".code pre").textContent();
        expect(code).toMatch(/^([0-9A-Z]{5}-){3}[0-9A-Z]{5}$/);
        await page.getByRole("button", { name: "I have kept it" }).click();
        expect(await page.content()).not.toContain(code);
        await page.getByRole("button", { name: /^Make vch_\w+ void$/ }).click();
        await page.getByRole("button", { name: "Make void", exact: true }).click();
        await page.getByRole("cell", { name: "void", exact: true }).waitFor();
      }),
    testMsMax,
  );

  test(
    "sees plugins, routes, settings without secrets, and a call while it runs",
    () =>
      dashboard.visit(async (page) => {
        const { gateway } = dashboard;
        await signIn(page, "owner@localhost");
        await page.getByRole("link", { name: "Plugins" }).click();
        await page.getByRole("cell", { name: /^openai/ }).waitFor();
        await page.getByLabel("Search the catalogue").fill("famA-5");
        await page.getByText("sandbox ready").first().waitFor();

        await page.getByRole("link", { name: "Settings", exact: true }).click();
        await page.getByRole("cell", { name: "MODELGATE_BOOTSTRAP_KEY" }).waitFor();
        expect(await page.content()).not.toContain(gateway.key);

        await page.getByRole("link", { name: "Live calls" }).click();
        await page.getByText("Nothing runs now").waitFor();
        const messages = [{ role: "user", content: "Say hello [[fault:hang]]" }];
        const gone = new AbortController();
        const call = gateway
          .ask("/chat/completions", {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ model: "famA-4o-mini", messages, stream: true }),
            signal: gone.signal,
          })
          .catch(() => undefined);
        await page.getByRole("cell", { name: /famA-4o-mini/ }).waitFor();
        await page.getByText("1 running").waitFor();
        // As beside other processes: with a call of one of them, then with a database that does not say what they run.
        let isComplete = true;
        await page.route("**/api/admin/live", async (route) => {
          const response = await route.fetch();
          const { data } = await response.json();
          const unknown = { stream: null, route: null, attempts: null, first_byte_ms: null };
          const theirs = { ...data[0], id: "req_there", elsewhere: true, ...unknown };
          const all = isComplete ? [theirs, ...data] : data;
          await route.fulfill({ response, json: { count: all.length, complete: isComplete, data: all } });
        });
        await page.getByText("2 running").waitFor();
        await page.getByRole("cell", { name: "in another process" }).waitFor();
        isComplete = false;
        await page.getByText("The database did not say in time what other processes run").waitFor();
        await page.getByText("1 running in this process").waitFor();
        expect(await seriousFaults(page)).toEqual([]);
        await page.unroute("**/api/admin/live");
        gone.abort();
        await call;
        await page.getByText("Nothing runs now").waitFor();
      }),
    testMsMax,
  );

  test(
    "is nobody else: a member sees none of it",
    () =>
      dashboard.visit(async (page) => {
        await createUser(dashboard, "ben@example.org");
        await signIn(page, "ben@example.org");
        expect(await page.getByRole("link", { name: "Accounts" }).count()).toBe(0);
        await page.goto("/admin/accounts");
        await seeHeading(page, "Not found");
      }),
    testMsMax,
  );
});
