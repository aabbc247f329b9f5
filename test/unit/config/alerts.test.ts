import { describe, expect, test } from "bun:test";
import { describeConfig, readConfig } from "../../../src/config/index.ts";
import { parseSmtpUrl } from "../../../src/mail/index.ts";
import { moduleSettings } from "../../../src/modules/index.ts";

const from = "gate@example.org";

describe("the settings of mail and alerts", () => {
  test.each([
    ["smtp://mail.example.org", { host: "mail.example.org", port: 587, isTls: false, from }],
    ["smtps://mail.example.org", { host: "mail.example.org", port: 465, isTls: true, from }],
    ["smtp://a%40b:p%3Aw@[::1]:25/", { host: "::1", port: 25, isTls: false, user: "a@b", password: "p:w", from }],
  ])("%s is a mail server", (SMTP_URL, smtp) => {
    const { smtpUrl, smtpFrom } = readConfig({ SMTP_URL, SMTP_FROM: from });
    expect(parseSmtpUrl(smtpUrl as string, smtpFrom as string)).toEqual(smtp);
  });

  test.each([
    ["SMTP_URL", { SMTP_URL: "https://mail.example.org", SMTP_FROM: from }],
    ["SMTP_URL", { SMTP_URL: "smtp://mail.example.org/path", SMTP_FROM: from }],
    ["SMTP_FROM", { SMTP_URL: "smtp://mail.example.org" }],
    ["SMTP_FROM", { SMTP_URL: "smtp://mail.example.org", SMTP_FROM: "a@b.example\r\nBcc: c" }],
    ["ALERT_NETWORKS", { ALERT_NETWORKS: "10.0.0.0/33" }],
  ])("%s of %p cannot be used", (variable, env) => {
    expect(() => readConfig(env as Record<string, string>, moduleSettings)).toThrow(`Cannot use ${variable}`);
  });

  test("the password of SMTP_URL is not shown", () => {
    const rows = describeConfig(readConfig({ SMTP_URL: "smtp://gate:canary@mail.example.org", SMTP_FROM: from }));
    expect(rows.find(({ name }) => name === "SMTP_URL")?.value).toBe("set");
  });
});
