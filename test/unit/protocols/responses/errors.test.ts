import { expect, test } from "bun:test";
import { type ErrorCode, errorTable, GatewayError } from "../../../../src/contract/index.ts";
import { ResponseStream } from "../../../../src/protocols/responses/client-stream.ts";
import { toResponsesError } from "../../../../src/protocols/responses/errors.ts";
import type { ResponseObject } from "../../../../src/protocols/responses/schema.ts";
import { head, planFor } from "./support.ts";

/** The status that ends a client's tries, or has it try again, and the code in a response that failed. */
const expected: Record<ErrorCode, [status: number, code: string]> = {
  invalid_request: [400, "invalid_prompt"],
  model_not_found: [400, "invalid_prompt"],
  context_length_exceeded: [400, "context_length_exceeded"],
  content_policy_violation: [400, "invalid_prompt"],
  request_too_large: [400, "invalid_prompt"],
  unsupported_media_type: [400, "invalid_prompt"],
  upgrade_required: [426, "invalid_prompt"],
  invalid_api_key: [401, "invalid_prompt"],
  invalid_session: [401, "invalid_prompt"],
  quota_exceeded: [400, "invalid_prompt"],
  insufficient_balance: [400, "invalid_prompt"],
  budget_exceeded: [400, "invalid_prompt"],
  model_not_allowed: [400, "invalid_prompt"],
  forbidden: [400, "invalid_prompt"],
  session_ended: [400, "invalid_prompt"],
  not_found: [404, "invalid_prompt"],
  method_not_allowed: [405, "invalid_prompt"],
  request_timeout: [408, "invalid_prompt"],
  conflict: [409, "invalid_prompt"],
  payload_too_large: [400, "invalid_prompt"],
  rate_limit_exceeded: [429, "rate_limit_exceeded"],
  upstream_error: [503, "server_error"],
  upstream_timeout: [503, "server_error"],
  internal_error: [503, "server_error"],
  unavailable: [503, "server_error"],
};

test.each(Object.entries(expected) as [ErrorCode, [number, string]][])("%s", (code, [status, failure]) => {
  const error = new GatewayError(code, "A sentence", { param: "model" });
  const { body, headers, ...rest } = toResponsesError(error);
  expect(rest.status).toBe(status);
  const shown = rest.status === 503 ? "server_is_overloaded" : code;
  const { type } = errorTable[code];
  expect(body).toEqual({ error: { message: "A sentence", type, param: "model", code: shown } });
  expect(headers).toEqual({});
  const [, , last] = new ResponseStream(planFor(), head).fail(error);
  const used = type === "insufficient_quota" ? { type } : {};
  expect((last?.response as ResponseObject | undefined)?.error).toEqual({
    code: failure,
    message: "A sentence",
    ...used,
  });
});

test("says when to come again where Codex then makes no more requests for it", () => {
  const headersOf = (code: ErrorCode) =>
    toResponsesError(new GatewayError(code, "Wait", { retryAfterMs: 1200 })).headers;
  expect(headersOf("rate_limit_exceeded")).toEqual({ "retry-after": "2" });
  expect(headersOf("unavailable")).toEqual({});
});
