import { describe, expect, test } from "bun:test";
import { findViolations, hasChromium } from "./chromium.ts";
import { createUser, downloadedText, goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";
import { seeCount } from "./seen.ts";

const email = "ada@example.org";

describe.skipIf(!hasChromium)("an administrator", () => {
  const dashboard = useDashboard();

  test("creates, invites, credits, limits and disables an account, and sees all of it in the audit log", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await signInFirst(page, gateway);
      await goTo(page, "Accounts");
      await seeHeading(page, "Accounts");

      await page.getByRole("button", { name: "New account" }).click();
      await page.getByLabel("Email").fill("no address");
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByText("is not a valid address").waitFor();
      await page.getByLabel("Email").fill("new@example.org");
      await page.getByRole("button", { name: "Create account" }).click();
      await page.getByRole("button", { name: "Create invitation" }).click();
      expect(await page.locator(".code pre").textContent()).toMatch(/#invitation=[\w-]{32}$/);
      await page.getByRole("button", { name: "Done" }).click();

      await createUser(dashboard, email);
      await page.getByLabel("Search accounts").fill("ADA@");
      await page.getByRole("link", { name: email }).click();
      await seeHeading(page, email);
      // What whoever comes from a figure wants to see is there first.
      await page.getByRole("region", { name: "Usage in the last 30 days" }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Account", exact: true }).click();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Credit (USD)").fill("2.50");
      await page.getByLabel("Note (shown on the statement)").fill("<b>Welcome</b>");
      await page.getByRole("button", { name: "Add credit" }).click();
      await page.getByText(`The balance of ${email} is $2.50`).waitFor();
      await page.getByLabel("Free tokens per day").fill("7");
      await page.getByRole("button", { name: "Set quota" }).click();
      await page.getByText("has a custom quota").waitFor();
      // Disabling asks first, and Escape is not an answer.
      await page.getByRole("button", { name: "Disable account…" }).click();
      await page.getByText(`Disable ${email}?`).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByText(`Disable ${email}?`).waitFor({ state: "hidden" });
      expect(await page.getByRole("button", { name: "Enable account" }).count()).toBe(0);
      await page.getByRole("button", { name: "Disable account…" }).click();
      await page.getByRole("button", { name: "Disable account", exact: true }).click();
      await page.getByRole("button", { name: "Enable account" }).click();
      await page.getByRole("button", { name: "Disable account…" }).waitFor();
      await page.getByRole("group", { name: "Part" }).getByRole("button", { name: "Activity" }).click();
      await page.getByRole("cell", { name: "$2.50" }).first().waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("link", { name: "All accounts" }).click();
      await page.getByRole("cell", { name: "$2.50" }).waitFor();

      await goTo(page, "Audit log");
      await seeHeading(page, "Audit log");
      for (const text of ["Created the account", "Created an invitation link", "Added $2.50 credit: <b>Welcome</b>"]) {
        await page.getByText(text).first().waitFor();
      }
      for (const text of ["Set the free quota to 7 tokens per day", "Disabled the account", "Enabled the account"]) {
        await page.getByRole("cell", { name: text }).waitFor();
      }
      await page.getByRole("cell", { name: "Command line" }).first().waitFor();
      expect(await findViolations(page)).toEqual([]);

      // The address is all that another browser, or a file, needs.
      await page.getByLabel("Action").selectOption({ label: "Disabled or enabled" });
      await page.getByLabel("Target").fill(email);
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 2);
      await page.reload();
      await page.getByRole("cell", { name: "Enabled the account" }).waitFor();
      await seeCount(page.locator("main tbody tr"), 2);
      const download = page.waitForEvent("download");
      await page.getByRole("link", { name: "CSV" }).click();
      const csv = await downloadedText(await download);
      expect(csv.trim().split("\r\n")).toHaveLength(3);
      await page.getByLabel("Actor").fill("cli");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Clear filters" }).click();
      await page.getByText("Created the account").first().waitFor();
      expect(page.url()).toEndWith("/admin/audit");
    }));

  test("creates a voucher, saves its code, and voids it", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "Vouchers");
      await page.getByText("No vouchers yet").waitFor();
      await page.getByRole("button", { name: "New voucher" }).click();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Amount (USD)").fill("much");
      await page.getByRole("button", { name: "Create voucher" }).click();
      await page.getByText("expected US dollars").waitFor();
      await page.getByLabel("Amount (USD)").fill("5");
      await page.getByRole("button", { name: "Create voucher" }).click();
      const code = await page.locator(".code pre").textContent();
      expect(code).toMatch(/^([0-9A-Z]{5}-){3}[0-9A-Z]{5}$/);
      await page.getByRole("button", { name: "I've saved it" }).click();
      expect(await page.content()).not.toContain(code);
      await page.getByRole("button", { name: /^Void vch_\w+$/ }).click();
      await page.getByRole("button", { name: "Void voucher" }).click();
      await page.getByRole("cell", { name: "void", exact: true }).waitFor();
    }));

  test("sees providers, routes, settings without secrets, and a call while it runs", () =>
    dashboard.visit(async (page) => {
      const { gateway } = dashboard;
      await signIn(page, "owner@localhost");
      await goTo(page, "Providers");
      await page.getByRole("cell", { name: /^openai/ }).waitFor();
      await goTo(page, "Models and prices");
      await page.getByLabel("Search models").fill("famA-5");
      await page.getByText("sandbox works").first().waitFor();

      await goTo(page, "Configuration");
      await page.getByRole("cell", { name: "MODELGATE_BOOTSTRAP_KEY" }).waitFor();
      expect(await page.content()).not.toContain(gateway.key);

      await goTo(page, "Live calls");
      await page.getByText("No calls in progress").waitFor();
      const messages = [{ role: "user", content: "Say hello [[fault:hang]]" }];
      const call = gateway
        .ask("/chat/completions", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "famA-4o-mini", messages, stream: true }),
        })
        .then(async (response) => `${response.status} ${await response.text()}`);
      await page.getByRole("cell", { name: /gpt-4o-mini/ }).waitFor();
      await page.getByText("1 running").waitFor();
      // Simulates other processes: first a call of one of them, then a database that does not respond.
      let isComplete = true;
      await page.route("**/organization/live_calls", async (route) => {
        const response = await route.fetch();
        const { data } = await response.json();
        const unknown = { stream: null, provider: null, attempts: null, first_byte_ms: null };
        const theirs = { ...data[0], id: "req_there", elsewhere: true, ...unknown };
        const all = isComplete ? [theirs, ...data] : data;
        await route.fulfill({ response, json: { count: all.length, complete: isComplete, data: all } });
      });
      await page.getByText("2 running").waitFor();
      await page.getByRole("cell", { name: "in another process" }).waitFor();
      isComplete = false;
      await page.getByText("The database did not respond in time").waitFor();
      await page.getByText("1 running in this process").waitFor();
      expect(await findViolations(page)).toEqual([]);
      // One of them may be in the middle of its answer.
      await page.unrouteAll({ behavior: "wait" });
      // The gateway ends it, and its client need not leave.
      await page.getByRole("button", { name: /^End req_|^End / }).click();
      await page.getByRole("button", { name: "End call" }).click();
      await page.getByText("The call is ended").waitFor();
      expect(await call).toContain("An operator of the gateway ended this call");
      await page.getByText("No calls in progress").waitFor();
      await goTo(page, "Audit log");
      await page.getByRole("cell", { name: "Ended a running call" }).waitFor();
    }));

  test("is the only one who sees these pages: a member does not", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "ben@example.org");
      await signIn(page, "ben@example.org");
      expect(await page.getByRole("link", { name: "Accounts", exact: true }).count()).toBe(0);
      await page.goto("/admin/accounts");
      await seeHeading(page, "Not found");
    }));
});
