import { expect, test } from "bun:test";
import { readConfig } from "../../../src/config/index.ts";

test("responses are stored for as long, and as many, as the settings say", () => {
  const config = readConfig({ RESPONSES_TTL_MINUTES: "0", RESPONSES_MAX_MB: "8" });
  expect([config.responsesTtlMinutes, config.responsesMaxMb]).toEqual([0, 8]);
  expect(() => readConfig({ RESPONSES_TTL_MINUTES: "43201" })).toThrow("of minutes from 0 (not stored) to 43200");
  expect(() => readConfig({ RESPONSES_MAX_MB: "0" })).toThrow("of megabytes from 1");
});
