import { describe, expect, test } from "bun:test";
import { readEscapes } from "../../../src/lib/escapes.ts";
import { createRedact } from "../../../src/modules/content-log/redact.ts";
import { errorOf } from "../../support/error-of.ts";

/** Secrets by their forms, and what stands before those that are known by it. */
const forms: Readonly<Record<string, { secret: string; before?: string }>> = {
  "a key of this gateway": { secret: "sk-mg-first001-0123456789abcdef0123456789abcdef" },
  "a key of OpenAI": { secret: "sk-proj-abcdefghijklmnopQRST1234" },
  "a token of GitHub": { secret: "ghp_abcdefghijklmnopqrst1234567890abcdef" },
  "a key of Groq": { secret: "gsk_abcdefghijklmnopqrst1234567890" },
  "a key of AWS": { secret: "AKIAIOSFODNN7EXAMPLE" },
  "a key of Google": { secret: "AIzaSyA1234567890abcdefghijklmnopqrstuvw" },
  "a JSON Web Token": { secret: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P" },
  "a bearer": { secret: "abcdefghijklmnop.qrst", before: "Bearer " },
  "a basic authorization": { secret: "YWRhOmh1bnRlcjJodW50ZXIy", before: "Authorization: Basic " },
  "a password": { secret: "hunter2hunter2", before: "password=" },
  "a password of JSON": { secret: "correct horse battery", before: '"password": "' },
  "a secret access key": { secret: "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", before: "AWS_SECRET_ACCESS_KEY=" },
  "a client secret": { secret: "Q8x2kfl0aaz91", before: "clientSecret: " },
  "a password of an address": { secret: "pass-word", before: "postgres://user:" },
  "an e-mail": { secret: "ada.l@mail.example.org" },
  "a card": { secret: "4111 1111 1111 1111" },
  "a private key": {
    secret: `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEow0123456789\n".repeat(400)}-----END RSA PRIVATE KEY-----`,
  },
};

/** Places in which a secret stands, with something around it that stays. */
const contexts: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => `kept ${secret}@host kept`,
  json: (secret) => JSON.stringify({ first: "kept", text: `A=1\n${secret}@host` }),
  "json with escapes of every character": (secret) =>
    `{"first":"kept","text":"${[...secret].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}\\u0040h"}`,
  "json behind a tab": (secret) => JSON.stringify({ first: "kept", text: `A=1\t${secret}@host` }),
  "json in json": (secret) =>
    JSON.stringify({ first: "kept", arguments: JSON.stringify({ text: `B\n${secret}@host` }) }),
  "json in json in json": (secret) =>
    JSON.stringify({ first: "kept", a: JSON.stringify({ b: JSON.stringify({ text: `C\r\n${secret}@host` }) }) }),
  "a file .env": (secret) => `FIRST=kept\nMY_KEY=${secret}@host\n`,
  "a file .env in json": (secret) => JSON.stringify({ content: `FIRST=kept\nMY_KEY='${secret}@host'\n` }),
  "an address": (secret) => `https://kept.example/?first=kept&q=${encodeURIComponent(` ${secret}@host`)}&more=1`,
  "an address in json in an address": (secret) =>
    `https://kept.example/?u=${encodeURIComponent(JSON.stringify({ u: `https://a.example/?q=${encodeURIComponent(`\n${secret}@h`)}` }))}`,
  html: (secret) => `<p title="kept">&quot;${secret}@host&quot;</p>`,
  "behind _": (secret) => `kept MY_KEY_${secret}@host`,
  "behind a colour of a terminal": (secret) => `kept \u001b[31m${secret}@host\u001b[0m`,
  "across two steps": (secret) => `kept ${"word ".repeat(1635)}${secret}@host`,
  "across two steps in json": (secret) =>
    JSON.stringify({ first: "kept", text: `${"a\n".repeat(4080)}${secret}@host` }),
};

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
    ["(", "is not an RE2 expression"],
    [String.raw`(a)\1`, "is not an RE2 expression"],
    ["(?=a)", "is not an RE2 expression"],
    ["a*", "matches an empty text"],
    ["a".repeat(501), "expected at most 500"],
    ["a ".repeat(51), "expected at most 50"],
  ])("refuses %j at the start", async (patterns, problem) => {
    const error = await errorOf(createRedact(patterns));
    expect(error.message).toStartWith("Cannot use CONTENT_LOG_REDACT");
    expect(error.message).toContain(problem);
  });

  test("finds each form in each context, and leaves no part of it", async () => {
    const redact = await createRedact(undefined);
    const missed: string[] = [];
    for (const [form, { secret, before = "" }] of Object.entries(forms)) {
      for (const [context, write] of Object.entries(contexts)) {
        const text = write(`${before}${secret}`);
        const redacted = await redact(text);
        // What a reader of what is kept can put together again, by any number of escapes.
        const readable = readEscapes(redacted).map((reading) => reading.text);
        const leaks = readable.some((one) => one.includes(secret) || one.includes(secret.slice(-6)));
        if (leaks || !redacted.includes("[redacted]")) missed.push(`${form} in ${context}: ${redacted.slice(0, 200)}`);
        if (!redacted.includes("kept"))
          missed.push(`${form} in ${context} takes its context: ${redacted.slice(0, 200)}`);
      }
    }
    expect(missed).toEqual([]);
  });

  test.each([
    ["risk-assessment-framework-2026 and task_management_system", undefined],
    ["https://example.org/a%20b?q=50%25&lang=en and C:\\new\\temp", undefined],
    ["order 123456789012345678901234567890, 2026-11-23T04:23:00.000Z", undefined],
    ["PWD=/home/ada/project, fetch(url, { credentials: 'include' })", undefined],
    ["Server=db;Pwd=hunter2;Database=app", "Server=db;[redacted];Database=app"],
    ["the secretary: meeting, the token limit: reached, max_tokens: 128000", undefined],
    ['{"text":"A=1\\nsk-proj-abcdefghijklmnop1234"}', '{"text":"A=1\\n[redacted]"}'],
    ['{"a":"{\\"password\\":\\"correct horse, battery\\"}"}', '{"a":"{\\"[redacted]\\"}"}'],
    ["mail ada%40example.org now", "mail [redacted] now"],
    ["4111111111111111_5500005555555559 both", "[redacted]_[redacted] both"],
    ["run --password hunter2 --user ada", "run [redacted] --user ada"],
    ["\u001b[1mKEY=\u001b[31msk-proj-abcdefghijklmnop1234\u001b[0m done", "\u001b[1mKEY=\u001b[31m[redacted] done"],
  ])("of %j is what it says", async (text, redacted = text) => {
    const redact = await createRedact(undefined);
    expect(await redact(text)).toBe(redacted);
  });

  test("takes time linear in a text of nothing but escapes, forms or beginnings of them", async () => {
    const redact = await createRedact(undefined);
    const slow: string[] = [];
    for (const unit of [
      "\\",
      "%25",
      '\\"',
      "&amp;",
      "-----BEGIN PRIVATE KEY-----",
      "api_key=",
      "sk-",
      "_sk-aaaaaaaaaaaaaaaa",
      "-",
      "password ",
    ]) {
      const costOf = async (length: number) => {
        const text = unit.repeat(length / unit.length);
        const costs: number[] = [];
        for (let tries = 0; tries < 3; tries++) {
          const before = process.cpuUsage();
          await redact(text);
          const { user, system } = process.cpuUsage(before);
          costs.push(user + system);
        }
        return Math.min(...costs) / 1000;
      };
      const [short, long] = [await costOf(16_000), await costOf(256_000)];
      // Sixteen times the text: quadratic work would take 256 times as long.
      if (long > 64 * Math.max(short, 5)) slow.push(`${unit}: ${short} ms of CPU, then ${long} ms`);
    }
    expect(slow).toEqual([]);
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
