import { describe, expect, test } from "bun:test";
import { type ErrorCode, errorTable, GatewayError, UpstreamError } from "../../../../src/contract/index.ts";
import { toNamedEvent } from "../../../../src/protocols/inbound.ts";
import { toMessagesError } from "../../../../src/protocols/messages/errors.ts";

describe("an error in Anthropic's envelope", () => {
  test.each<[ErrorCode, number, string]>([
    ["invalid_request", 400, "invalid_request_error"],
    ["context_length_exceeded", 400, "invalid_request_error"],
    ["invalid_api_key", 401, "authentication_error"],
    ["quota_exceeded", 402, "billing_error"],
    ["insufficient_balance", 402, "billing_error"],
    ["budget_exceeded", 402, "billing_error"],
    ["model_not_allowed", 403, "permission_error"],
    ["model_not_found", 404, "not_found_error"],
    ["payload_too_large", 413, "request_too_large"],
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["upstream_error", 500, "api_error"],
    ["upstream_timeout", 504, "timeout_error"],
    ["unavailable", 529, "overloaded_error"],
  ])("%s is %i %s", (code, status, type) => {
    const answer = toMessagesError(new GatewayError(code, "Something is wrong"), "mg_1");
    expect(answer).toMatchObject({ status, body: { type: "error", error: { type, code }, request_id: "mg_1" } });
    expect(answer.headers["request-id"]).toBe("mg_1");
  });

  test("has a status for every code", () => {
    for (const code of Object.keys(errorTable) as ErrorCode[]) {
      expect(toMessagesError(new GatewayError(code, "x"), "1").status).toBeGreaterThanOrEqual(400);
    }
  });

  test("says when to come again, in whole seconds", () => {
    const error = new GatewayError("rate_limit_exceeded", "Too fast", { retryAfterMs: 1200 });
    expect(toMessagesError(error, "1").headers).toEqual({ "request-id": "1", "retry-after": "2" });
  });

  test("is an event of a stream that has begun", () => {
    const { body } = toMessagesError(new GatewayError("unavailable", "Shutting down"), "mg_1");
    expect(toNamedEvent(body)).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Shutting down","code":"unavailable"},"request_id":"mg_1"}\n\n',
    );
  });

  test("keeps clients from repeating a conflict", () => {
    expect(toMessagesError(new GatewayError("conflict", "Twice"), "1").headers["x-should-retry"]).toBe("false");
  });

  test("tells an overloaded provider from a broken one", () => {
    const cause = new UpstreamError("overloaded", "Overloaded", { status: 529 });
    expect(toMessagesError(new GatewayError("upstream_error", "Overloaded", { cause }), "1").status).toBe(529);
  });

  test("has a provider's message unchanged, with its code", () => {
    const error = new GatewayError("invalid_request", "messages.1: bad", {
      publicCode: "bad_turn",
      cause: new UpstreamError("bad_request", "messages.1: bad"),
    });
    expect(toMessagesError(error, "1").body.error).toEqual({
      type: "invalid_request_error",
      message: "messages.1: bad",
      code: "bad_turn",
    });
  });

  test.each([
    ["prompt is too long: 9 tokens > 8 maximum", "prompt is too long: 9 tokens > 8 maximum"],
    ["Too much", "prompt is too long: Too much (capability_rejected: prompt_too_long)"],
  ])("lets clients compact their conversation: %s", (message, expected) => {
    const { body } = toMessagesError(new GatewayError("context_length_exceeded", message), "1");
    expect(body.error.message).toBe(expected);
  });
});
