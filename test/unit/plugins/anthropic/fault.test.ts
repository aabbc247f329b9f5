import { describe, expect, test } from "bun:test";
import anthropic from "../../../../plugins/anthropic/index.ts";
import { readError } from "../../../../src/protocols/messages/errors.ts";
import { headersOf } from "../../../support/authorize.ts";
import { recordingsMissing, recordingsOf } from "../../../support/recordings.ts";

const body = (type: string, message: string) =>
  JSON.stringify({ type: "error", error: { type, message }, request_id: "r" });
const fault = (status: number, text: string, headers: Record<string, string> = {}) => {
  return readError({ status, headers: new Headers(headers), body: text });
};

const table: [number, string, string, string][] = [
  [400, "invalid_request_error", "messages: roles must alternate", "bad_request"],
  [400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum", "context_length"],
  [
    400,
    "invalid_request_error",
    "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000",
    "context_length",
  ],
  [400, "invalid_request_error", "Your credit balance is too low to access the API", "insufficient_quota"],
  [401, "authentication_error", "invalid x-api-key", "auth"],
  [402, "billing_error", "Billing", "insufficient_quota"],
  [403, "permission_error", "Not allowed", "auth"],
  [404, "not_found_error", "model: claude-opus-4", "model_not_found"],
  [413, "request_too_large", "Request exceeds the maximum size", "bad_request"],
  [429, "rate_limit_error", "Slow down", "rate_limited"],
  [500, "api_error", "Internal server error", "server_error"],
  [504, "timeout_error", "Timed out", "timeout"],
  [529, "overloaded_error", "Overloaded", "overloaded"],
];

test.each(table)("reads %i %s '%s' as %s", (status, type, message, kind) => {
  expect(fault(status, body(type, message))).toMatchObject({ kind, status });
});

test.each([
  ["max_tokens: 70000 > 64000, which is the maximum allowed", "max_tokens"],
  ["tools.0.custom.name: String should match pattern", "tools"],
  ["stop_sequences: each must contain non-whitespace", "stop"],
  ["metadata.user_id: too long", "user"],
  ["This model does not support effort level 'xhigh'", "reasoning_effort"],
  ["constructor: none of ours", undefined],
  ["A sentence that names no field", undefined],
])("finds the field of '%s'", (message, param) => {
  const { param: found, message: kept } = fault(400, body("invalid_request_error", message));
  expect(found).toBe(param as string);
  expect(kept).toBe(message);
});

test("reads when to come back", () => {
  const limited = fault(429, body("rate_limit_error", "Slow down"), { "retry-after": "33" });
  expect(limited.retryAfterMs).toBe(33_000);
});

test("reads a body that is not JSON by its status", () => {
  expect(fault(529, "<html></html>").kind).toBe("overloaded");
});

test("carries the key in x-api-key, and the version wherever it is asked", async () => {
  expect(await headersOf(anthropic, "k")).toEqual({ "x-api-key": "k", "anthropic-version": "2023-06-01" });
});

describe.if(recordingsMissing === undefined)("recorded refusals", () => {
  const kinds: Record<string, string> = {
    "400-effort-level-unsupported": "bad_request",
    "400-prompt-too-long": "context_length",
    "400-sampling-params-removed-2026-10-21": "bad_request",
    "401-invalid-x-api-key": "auth",
    "429-input-tokens-per-minute": "rate_limited",
  };
  const refused = recordingsOf("anthropic").filter(({ status }) => status !== 200);
  test.each(refused.map((recording) => [recording.path, recording] as const))("%s", (path, recording) => {
    const text = new TextDecoder().decode(recording.body);
    const name = path.replace(/^.*\/|\.json$/g, "");
    expect(fault(recording.status, text, recording.headers).kind).toBe(kinds[name] as never);
  });
});
