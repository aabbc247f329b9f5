import { describe, expect, test } from "bun:test";
import { readDurationMs, retryAfterMs } from "../../../src/lib/retry-after.ts";

const nowMs = Date.parse("2026-11-21T12:00:00Z");

describe("retryAfterMs", () => {
  test.each<[string, Record<string, string>, string, number | undefined]>([
    ["nothing", {}, "", undefined],
    ["milliseconds before all else", { "retry-after-ms": "1200.4", "retry-after": "9" }, "", 1201],
    ["seconds", { "retry-after": "3" }, "", 3000],
    ["parts of a second", { "retry-after": "0.25" }, "", 250],
    ["a date", { "retry-after": "Sat, 21 Nov 2026 12:00:30 GMT" }, "", 30_000],
    ["a date gone by", { "retry-after": "Sat, 21 Nov 2026 11:00:00 GMT" }, "", 0],
    ["a duration", { "retry-after": "2m" }, "", 120_000],
    ["nonsense", { "retry-after": "soon" }, "", undefined],
    ["a negative number", { "retry-after": "-5" }, "", undefined],
    ["Gemini's delay", {}, '{"retryDelay": "48s"}', 48_000],
    ["a sentence", {}, "Please try again in 7.66s. Visit us", 7660],
    ["a sentence with minutes", {}, "Please try again in 2m59.56s.", 179_560],
    [
      "the reset of what is used up",
      {
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-requests": "1h",
      },
      "",
      360_000,
    ],
    [
      "the later reset of two",
      {
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1s",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "2s",
      },
      "",
      2000,
    ],
    [
      "no reset while something remains",
      { "x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "1s" },
      "",
      undefined,
    ],
  ])("reads %s", (_, headers, body, expected) => {
    expect(retryAfterMs(new Headers(headers), body, nowMs)).toBe(expected as number);
  });
});

describe("readDurationMs", () => {
  test.each([
    ["120ms", 120],
    ["0s", 0],
    ["7.66s", 7660],
    ["6m0s", 360_000],
    ["1h2m3.4s", 3_723_400],
    ["0.5ms", 1],
  ])("reads %s", (text, ms) => {
    expect(readDurationMs(text)).toBe(ms);
  });

  test.each(["", "s", "5", "5d", "1 s", "-1s", "1s later"])("does not read %p", (text) => {
    expect(readDurationMs(text)).toBeUndefined();
  });
});
