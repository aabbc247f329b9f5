import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UsageError } from "../../../src/cli/command.ts";
import {
  parseAmount,
  parseBudget,
  parseDay,
  parseExpiry,
  parseLimit,
  parseTokens,
} from "../../../src/cli/lib/parse.ts";
import { parseApiKey } from "../../../src/contract/api-key.ts";
import { formatUsd, GatewayError, parseUsd } from "../../../src/contract/index.ts";
import { readUsageQuery } from "../../../src/http/api/usage.ts";
import { readDataUrl } from "../../../src/lib/data-url.ts";
import { readDurationMs, retryAfterMs } from "../../../src/lib/retry-after.ts";
import { BillError, parseCsv, parseProviderUsage } from "../../../src/reports/provider-bill.ts";
import { runs, thrownBy } from "../../support/hostile.ts";

const now = Date.UTC(2026, 10, 21);
const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 20 });
/** Text that looks like a figure, a day or a span, and text that does not. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789-+.:,eETZdhmwys $"), maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.tuple(digits, fc.constantFrom("m", "h", "d", "w", "y", "ms", "s", "µs")).map((parts) => parts.join("")),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
);

describe("a value on the command line", () => {
  test.each<[string, (given: string) => number, number]>([
    ["readExpiry", (given) => parseExpiry(given, now), now + 1],
    ["readDay", (given) => parseDay("--from", given), -8.64e15],
    ["readBudget", (given) => parseBudget("--budget", given), 0],
    ["readLimit", (given) => parseLimit("--limit", given), 1],
    ["readUsd", (given) => parseAmount(given), Number.MIN_SAFE_INTEGER],
    ["readTokens", (given) => parseTokens(given), 0],
  ])("%s gives a whole number in range, or says what is wrong", (_, read, least) => {
    fc.assert(
      fc.property(text, (given) => {
        try {
          const value = read(given);
          expect(Number.isSafeInteger(value) && value >= least).toBe(true);
        } catch (error) {
          if (!(error instanceof UsageError)) throw error;
        }
      }),
      runs(300),
    );
  });
});

test("money as text is exact, or none", () => {
  fc.assert(
    fc.property(text, (given) => {
      const nanodollars = parseUsd(given);
      if (nanodollars === undefined) return;
      expect(Number.isSafeInteger(nanodollars)).toBe(true);
      expect(parseUsd(formatUsd(nanodollars))).toBe(nanodollars);
    }),
    runs(500),
  );
});

test("how long a provider asks to be left alone is a time, or unknown", () => {
  fc.assert(
    fc.property(text, fc.string(), (given, body) => {
      const headers = { get: (name: string) => (name === "retry-after" ? given : null) };
      for (const ms of [readDurationMs(given), retryAfterMs(headers, body, now)]) {
        expect(ms === undefined || (Number.isFinite(ms) && ms >= 0)).toBe(true);
      }
    }),
    runs(500),
  );
});

test("what is asked of /usage is a span of days, or refused by its parameter", () => {
  const parameter = fc.oneof(text, fc.constantFrom("hourly", "daily", "weekly", "monthly", "yearly", ""));
  const query = fc.dictionary(fc.constantFrom("startDate", "endDate", "period", "__proto__"), parameter);
  fc.assert(
    fc.property(query, (asked) => {
      try {
        const { startDay, endDay } = readUsageQuery(new URLSearchParams(asked), now);
        expect(Number.isSafeInteger(startDay) && startDay >= 0 && endDay >= startDay).toBe(true);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        expect([error.code, error.param]).toEqual(["invalid_request", expect.any(String)]);
      }
    }),
    runs(500),
  );
});

test("a token is a key by its form alone, and its parts make it up", () => {
  const part = fc.string({ unit: fc.constantFrom(..."abzAZ019-_ \n"), maxLength: 30 });
  fc.assert(
    fc.property(
      fc.oneof(
        text,
        fc.tuple(part, part).map(([id, secret]) => `sk-mg-${id}-${secret}`),
      ),
      (token) => {
        const parts = parseApiKey(token);
        if (parts !== undefined) expect(`sk-mg-${parts.id}-${parts.secret}`).toBe(token);
      },
    ),
    runs(500),
  );
});

test("a data URL is read, is none, or is refused", () => {
  const url = fc
    .tuple(fc.constantFrom("data:", "DATA:", "data:image/png;base64,", "data:;,"), fc.string())
    .map((of) => of.join(""));
  fc.assert(
    fc.property(fc.oneof(url, fc.webUrl(), fc.string()), (given) => {
      try {
        const read = readDataUrl(given, "url");
        if (read !== undefined) expect(read.base64).toMatch(/^[A-Za-z0-9+/]*={0,2}$/);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        expect(error.param).toBe("url");
      }
    }),
    runs(500),
  );
});

describe("a CSV file", () => {
  const cell = fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r\n", " ", "é", "1") });

  test("comes back as it was written", () => {
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(rows, fc.constantFrom("\n", "\r\n"), (written, lineEnd) => {
        const quoted = written.map((cells) => cells.map((one) => `"${one.replaceAll('"', '""')}"`).join(","));
        expect(parseCsv(quoted.join(lineEnd)).map(({ cells }) => cells)).toEqual(written);
      }),
      runs(300),
    );
  });

  test("of a provider's usage gives sums that are whole, or the line that is wrong", async () => {
    const header = fc.constantFrom("day,model,requests", "day,model,cost_usd,audio_seconds", "day,model", "");
    const line = fc.array(fc.oneof(text, cell, fc.constant("2026-11-21")), { maxLength: 4 }).map((of) => of.join(","));
    await fc.assert(
      fc.asyncProperty(header, fc.array(line, { maxLength: 5 }), async (first, lines) => {
        const error = await thrownBy(() => {
          const usage = parseProviderUsage("usage.csv", [first, ...lines].join("\n"), (name) => name);
          for (const { sums } of usage.rows.values())
            for (const sum of Object.values(sums)) expect(Number.isSafeInteger(sum) && sum >= 0).toBe(true);
        });
        if (error !== undefined) expect(error).toBeInstanceOf(BillError);
      }),
      runs(300),
    );
  });
});
