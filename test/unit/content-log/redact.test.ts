import { describe, expect, test } from "bun:test";
import { createRedact } from "../../../src/content-log/redact.ts";
import { errorOf } from "../../support/error-of.ts";

describe("redaction", () => {
  test.each([
    ["my key is sk-mg-first001-0123456789abcdef0123456789abcdef", "my key is [redacted]"],
    ["sk-proj-abcdefghijklmnop1234 and ghp_abcdefghijklmnopqrst1234", "[redacted] and [redacted]"],
    ["AKIAIOSFODNN7EXAMPLE", "[redacted]"],
    ["Authorization: Bearer abcdefghijklmnop.qrst", "Authorization: [redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "[redacted]"],
    ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- rest", "[redacted] rest"],
    ["-----BEGIN PRIVATE KEY-----\nMIIE without an end", "[redacted]"],
    ['{"password": "hunter2hunter2"}', '{"[redacted]"}'],
    ["postgres://user:pass@host/db", "postgres[redacted]host/db"],
    ["Write to Ada.L+x@mail.example.org, please 🙂", "Write to [redacted], please 🙂"],
    ["card 4111 1111 1111 1111, order 12345", "card [redacted], order 12345"],
    [
      "Nothing to hide: 3.14, a@b, sk-short, 2026-11-23 04:23",
      "Nothing to hide: 3.14, a@b, sk-short, 2026-11-23 04:23",
    ],
  ])("of %j", async (text, redacted) => {
    const redact = await createRedact(undefined);
    expect(await redact(text)).toBe(redacted);
  });

  test("also replaces what the operator's own expressions find", async () => {
    const redact = await createRedact(String.raw`project-\d+ (?i)acme\x20corp x*y{0}\b`);
    expect(await redact("Project-1 and project-77 of ACME Corp")).toBe("Project-1 and [redacted] of [redacted]");
  });

  test.each([
    ["(", "is no RE2 expression"],
    [String.raw`(a)\1`, "is no RE2 expression"],
    ["(?=a)", "is no RE2 expression"],
    ["a*", "fits an empty text"],
    ["a".repeat(501), "expected at most 500"],
    ["a ".repeat(51), "expected at most 50"],
  ])("refuses %j at the start", async (patterns, problem) => {
    const error = await errorOf(createRedact(patterns));
    expect(error.message).toStartWith("Cannot use CONTENT_LOG_REDACT");
    expect(error.message).toContain(problem);
  });

  test("finds what stands across two steps, everywhere in a long text", async () => {
    const redact = await createRedact(undefined);
    const key = `-----BEGIN PRIVATE KEY-----${"k".repeat(3000)}-----END PRIVATE KEY-----`;
    for (let before = 6000; before < 14_000; before += 997) {
      const text = `${"word ".repeat(before / 5)} ${key} ada@example.org ${"and ".repeat(5000)}ben@example.org`;
      const redacted = await redact(text);
      expect(redacted).toBe(text.replace(key, "[redacted]").replace(/\w+@example.org/g, "[redacted]"));
    }
  });

  test("lets others work while an expression reads what would stop other engines", async () => {
    const redact = await createRedact("(a+)+b (a|aa)+b ([a-z]+)*[0-9]");
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    const redacted = await redact(`${"a".repeat(131_000)}!`);
    clearInterval(timer);
    expect(redacted.length).toBeGreaterThan(10_000);
    expect(turns).toBeGreaterThan(3);
  });
});
