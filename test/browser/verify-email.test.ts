import { afterAll, describe, expect, test } from "bun:test";
import { startSmtpSink } from "../support/smtp-sink.ts";
import { until } from "../support/until.ts";
import { findViolations, hasChromium } from "./chromium.ts";
import { fillSignIn, ownPassword, seeFirstPage, seeHeading, useDashboard } from "./dashboard.ts";

const mail = await startSmtpSink();
afterAll(() => mail.stop());

describe.skipIf(!hasChromium)("somebody who signed up", () => {
  const dashboard = useDashboard({
    SIGNUP: "open",
    PUBLIC_URL: "http://gate.example",
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    SMTP_FROM: "gate@example.org",
  });

  test("verifies their email by a link, also one that is opened before the sign-in", () =>
    dashboard.visit(async (page) => {
      await page.goto("/");
      await page.getByRole("button", { name: "Create an account" }).click();
      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("Email").fill("ada@example.org");
      await page.getByLabel("Password", { exact: true }).fill(ownPassword);
      await page.getByRole("button", { name: "Create account" }).click();
      await seeFirstPage(page);
      const notice = page.getByText("Your email ada@example.org isn't verified");
      await notice.waitFor();
      expect(await findViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Send a link to verify it" }).click();
      await page.getByText("Link sent").waitFor();
      await until(() => mail.mails.length === 1);
      const text = (mail.mails[0]?.text ?? "").replaceAll("=\n", "").replaceAll("=3D", "=");
      const [, path] = /http:\/\/gate\.example(\/#verify-email=[\w-]+)/.exec(text) ?? [];

      await page.getByRole("button", { name: "Sign out", exact: true }).click();
      await seeHeading(page, "Sign in");
      await page.goto(path as string);
      await seeHeading(page, "Sign in");
      expect(page.url()).not.toContain("verify-email");
      await fillSignIn(page, "ada@example.org", ownPassword);
      await page.getByText("ada@example.org is verified").waitFor();
      await notice.waitFor({ state: "detached" });
      await page.goto("/settings");
      await page.getByText("ada@example.org").first().waitFor();
      expect(await page.getByText("not verified").count()).toBe(0);
    }));
});
