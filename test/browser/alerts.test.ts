import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Page } from "playwright-core";
import { startWebhook } from "../integration/alerts/webhook-sink.ts";
import { makeAlertRow } from "../support/alert-rows.ts";
import { startSmtpSink } from "../support/smtp-sink.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { createAdmin, createUser, goTo, seeHeading, signIn, signInFirst, useDashboard } from "./dashboard.ts";

const [webhook, mail] = await Promise.all([startWebhook(), startSmtpSink()]);
afterAll(() => Promise.all([webhook.stop(), mail.stop()]));

const openPart = (page: Page, name: string) =>
  page.getByRole("group", { name: "Part" }).getByRole("button", { name }).click();
const submit = (page: Page) => page.getByRole("dialog").getByRole("button", { name: "Add channel" }).click();

describe.skipIf(!hasChromium)("alerts", () => {
  const dashboard = useDashboard({ ALERT_NETWORKS: "127.0.0.0/8" });

  test("are sent to a webhook and a mail server that an owner sets, tests and removes", () =>
    dashboard.visit(async (page) => {
      await signInFirst(page, dashboard.gateway);
      await goTo(page, "Alerts");
      await seeHeading(page, "Alerts");
      await page.getByText("No active alerts").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await openPart(page, "History");
      await page.getByText("No past alerts").waitFor();
      await openPart(page, "Channels");
      await page.getByRole("button", { name: "Add channel" }).click();
      // Without a mail server there is no e-mail.
      expect(await page.getByLabel("Kind").getByRole("option").allTextContents()).not.toContain("Email");
      const secret = await page.locator(".code pre").textContent();
      expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
      await page.getByLabel("Address").fill("nowhere");
      await submit(page);
      await page.getByText("expected an https URL").waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Address").fill(webhook.url);
      await submit(page);
      await page.getByRole("button", { name: /^Send test to Webhook 127/ }).click();
      await page.getByText("Test alert sent to").waitFor();
      expect(webhook.requests[0]?.headers["webhook-signature"]).toMatch(/^v1,/);
      expect(await page.content()).not.toContain(secret as string);
      webhook.answer(500);
      await page.getByRole("button", { name: /^Send test to Webhook 127/ }).click();
      await page.getByRole("cell", { name: "The webhook answered 500" }).waitFor();

      await page.getByRole("button", { name: "Set mail server" }).click();
      await page.getByLabel("Host").fill("127.0.0.1");
      await page.getByLabel("Port").fill(String(mail.port));
      await page.getByLabel("Sender").fill("gate@example.org");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText(`127.0.0.1:${mail.port}`).waitFor();
      await page.getByRole("button", { name: "Add channel" }).click();
      await page.getByLabel("Kind").selectOption("email");
      await page.getByLabel("Addresses").fill("ops@example.org, on-call@example.org");
      expect(await findViolations(page)).toEqual([]);
      await submit(page);
      await page.getByRole("button", { name: "Send test to Email ops@example.org" }).click();
      await page.getByText("Test alert sent to Email ops@example.org").waitFor();
      expect(mail.mails.map(({ to }) => to)).toEqual([["ops@example.org", "on-call@example.org"]]);
      expect(await findViolations(page)).toEqual([]);

      await page.getByRole("button", { name: /^Delete Webhook 127/ }).click();
      await page.getByRole("button", { name: "Delete channel" }).click();
      await page.getByRole("button", { name: /^Send test to Webhook 127/ }).waitFor({ state: "detached" });
    }));

  test("show an administrator the mail server, which only owners change", () =>
    dashboard.visit(async (page) => {
      await createAdmin(dashboard, "kim@example.org");
      await signIn(page, "kim@example.org");
      await goTo(page, "Alerts");
      await openPart(page, "Channels");
      await page.getByText(`127.0.0.1:${mail.port}`).waitFor();
      expect(await page.getByRole("button", { name: "mail server" }).count()).toBe(0);
      await page.getByRole("button", { name: "Add channel" }).waitFor();
    }));

  test("have thresholds that an administrator changes and rules that can be off", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await goTo(page, "Alerts");
      await openPart(page, "Rules");
      await page.getByRole("button", { name: "Edit Wallet low" }).click();
      await page.getByLabel("Below (USD)").fill("-1");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("threshold is not US dollars").waitFor();
      await page.getByLabel("Below (USD)").fill("2.50");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("cell", { name: "$2.50" }).waitFor();
      await page.getByRole("button", { name: "Turn off Circuit open" }).click();
      await page.getByRole("button", { name: "Turn on Circuit open" }).waitFor();

      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByLabel("Name").fill("Errors of openai");
      await page.getByLabel("Scope").selectOption("provider");
      await page.getByRole("textbox", { name: "Provider" }).fill("opnai");
      await page.getByLabel("Threshold (%)").fill("5");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText('There is no provider "opnai" here').waitFor();
      await page.getByRole("textbox", { name: "Provider" }).fill("openai");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText(/of provider openai is above 5 % in 15 minutes/).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Delete Errors of openai" }).click();
      await page.getByRole("button", { name: "Delete rule" }).click();
      await page.getByText("No custom rules").waitFor();
    }));

  test("are routed to PagerDuty by severity and rule, with a digest to others, and compared with the hours before", () =>
    dashboard.visit(async (page) => {
      await signIn(page, "owner@localhost");
      await page.locator(".nav").getByRole("link", { name: "Alerts" }).click();
      await openPart(page, "Rules");
      await page.getByRole("button", { name: "Add rule" }).click();
      await page.getByLabel("Name").fill("Spend tripled");
      await page.getByLabel("Metric").selectOption("spend");
      await page.getByLabel("Compared with").selectOption("7");
      await page.getByLabel("Times").fill("3");
      await page.getByLabel("At least (USD)").fill("5");
      // Windows that are no whole hours are not offered.
      expect(await page.getByLabel("Over the last").inputValue()).toBe("1440");
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Spend of all calls is above 3 times the same hours, last 7 days").waitFor();

      await openPart(page, "Channels");
      await page.getByRole("button", { name: "Add channel" }).click();
      await page.getByLabel("Kind").selectOption("pagerduty");
      await page.getByLabel("Name").fill("Pager");
      await page.getByLabel("Integration key").fill("0123456789abcdef0123456789abcdef");
      await page.getByLabel("Severity").selectOption("critical");
      expect(await page.getByLabel("Digest").count()).toBe(0);
      await page.getByLabel("Rules").selectOption("chosen");
      await page.getByLabel("Provider failing").check();
      await page.getByLabel("Spend tripled").check();
      expect(await findViolations(page)).toEqual([]);
      await submit(page);
      await page.getByRole("cell", { name: "Critical Provider failing, Spend tripled" }).waitFor();
      await page.getByRole("button", { name: "Edit Pager" }).click();
      await page.getByLabel("Severity").selectOption("warning");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("cell", { name: "Warning and critical Provider failing" }).waitFor();

      await page.getByRole("button", { name: "Add channel" }).click();
      await page.getByLabel("Kind").selectOption("teams");
      await page.getByLabel("Address").fill(webhook.url);
      await page.getByLabel("Digest").selectOption("weekly");
      await page.getByLabel("Sent at").selectOption("6");
      expect(await findViolations(page)).toEqual([]);
      await submit(page);
      await page.getByText("weekly digest at 06:00 UTC").waitFor();
      await openPart(page, "Rules");
      await page.getByRole("row", { name: /^Spend tripled.*Pager \(from warning\)/ }).waitFor();
    }));

  test("are counted in the navigation, and muted", () =>
    dashboard.visit(async (page) => {
      const { home } = dashboard.gateway;
      const database = new DatabaseSync(join(home, "modelgate.db"));
      const now = Date.now();
      const { row } = makeAlertRow("gateway disk_full x/y?z#100%", { since_at: now - 600_000, seen_at: now + 600_000 });
      const disk = { ...row, rule: "disk_full", severity: 2, text: "The disk of x is 99 % full" };
      const names = Object.keys(disk);
      database
        .prepare(`insert into alerts (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`)
        .run(...Object.values(disk));
      database.close();
      await signIn(page, "owner@localhost");
      await page.getByRole("link", { name: "Alerts 1 active" }).click();
      await page.getByText("The disk of x is 99 % full").waitFor();
      // Links of the dashboard need no PUBLIC_URL.
      const about = page.getByRole("link", { name: "Open the page about it" });
      expect(await about.getAttribute("href")).toBe("/admin/providers/acme");
      expect(await findViolations(page)).toEqual([]);
      await page.getByLabel("Mute Disk nearly full").selectOption("24");
      await page.getByText("muted").waitFor();
      await page.getByRole("link", { name: "Alerts", exact: true }).waitFor();
      await page.getByRole("button", { name: "Unmute Disk nearly full" }).click();
      await page.getByRole("link", { name: "Alerts 1 active" }).waitFor();
    }));

  test("of the own account are set by an account holder", () =>
    dashboard.visit(async (page) => {
      await createUser(dashboard, "ada@example.org");
      await signIn(page, "ada@example.org");
      await page.getByRole("link", { name: "ada@example.org" }).click();
      await seeHeading(page, "Account settings");
      await page.getByRole("button", { name: "Add channel" }).click();
      await page.getByLabel("Kind").selectOption("email");
      await submit(page);
      await page.getByRole("button", { name: "Send test to Email" }).click();
      await page.getByText("Test alert sent to").waitFor();
      expect(mail.mails.at(-1)?.to).toEqual(["ada@example.org"]);
      await page.getByRole("button", { name: "Edit Budget spent" }).waitFor();
      expect(await page.getByRole("button", { name: "Edit Disk nearly full" }).count()).toBe(0);
      expect(await findViolations(page)).toEqual([]);
    }));
});
