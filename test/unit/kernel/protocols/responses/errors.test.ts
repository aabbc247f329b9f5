import { expect, test } from "bun:test";
import { type ErrorCode, errorTable, GatewayError, type ResponseObject } from "../../../../../src/contract/index.ts";
import { ResponseStream, toResponsesError } from "../../../../../src/kernel/protocols/responses/index.ts";
import { head, planFor } from "./support.ts";

/** The status that ends a client's tries, or has it try again, and the code in a response that failed. */
const expected: Record<ErrorCode, [status: number, code: string]> = {
  invalid_request: [400, "invalid_prompt"],
  model_not_found: [400, "invalid_prompt"],
  context_length_exceeded: [400, "context_length_exceeded"],
  request_too_large: [400, "invalid_prompt"],
  unsupported_media_type: [415, "invalid_prompt"],
  invalid_api_key: [401, "invalid_prompt"],
  invalid_session: [401, "invalid_prompt"],
  quota_exceeded: [429, "insufficient_quota"],
  insufficient_balance: [429, "insufficient_quota"],
  budget_exceeded: [429, "insufficient_quota"],
  model_not_allowed: [404, "invalid_prompt"],
  forbidden: [404, "invalid_prompt"],
  not_found: [404, "invalid_prompt"],
  method_not_allowed: [405, "invalid_prompt"],
  conflict: [409, "invalid_prompt"],
  payload_too_large: [413, "invalid_prompt"],
  rate_limit_exceeded: [429, "rate_limit_exceeded"],
  upstream_error: [500, "server_error"],
  upstream_timeout: [500, "server_error"],
  internal_error: [500, "server_error"],
  unavailable: [503, "server_error"],
};

test.each(Object.entries(expected) as [ErrorCode, [number, string]][])("%s", (code, [status, failure]) => {
  const error = new GatewayError(code, "A sentence", { param: "model" });
  const { body, headers, ...rest } = toResponsesError(error);
  expect(rest.status).toBe(status);
  expect(body).toEqual({ error: { message: "A sentence", type: errorTable[code].type, param: "model", code } });
  const isFinal = body.error.type === "insufficient_quota";
  expect(headers).toEqual(isFinal ? { "x-should-retry": "false" } : {});
  const [, , last] = new ResponseStream(planFor(), head).fail(error);
  expect((last?.response as ResponseObject | undefined)?.error).toEqual({ code: failure, message: "A sentence" });
});
