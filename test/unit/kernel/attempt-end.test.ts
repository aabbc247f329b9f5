import { expect, test } from "bun:test";
import { GatewayError, UpstreamError, type UpstreamErrorKind } from "../../../src/contract/index.ts";
import { type AttemptEnd, classifyAttempt } from "../../../src/kernel/attempt-end.ts";
import type { Attempt, CancelReason } from "../../../src/kernel/index.ts";

const upstream = (kind: UpstreamErrorKind, details = {}) => new UpstreamError(kind, "It failed", details);
const refusal = new GatewayError("quota_exceeded", "Nothing is left");
const ofPlugin = new TypeError("no such field");

type Row = [error: unknown, cancelReason: CancelReason | undefined, end: AttemptEnd];
const failed: Row[] = [
  [upstream("server_error"), undefined, { outcome: "server_error", health: "failure" }],
  [upstream("overloaded"), undefined, { outcome: "overloaded", health: "failure" }],
  [upstream("rate_limited"), undefined, { outcome: "rate_limited", health: "failure" }],
  [upstream("auth"), undefined, { outcome: "auth", health: "failure" }],
  [upstream("insufficient_quota"), undefined, { outcome: "insufficient_quota", health: "failure" }],
  [upstream("bad_response"), undefined, { outcome: "bad_response", health: "failure" }],
  [upstream("bad_response", { isOfRequest: true }), undefined, { outcome: "bad_response", health: "success" }],
  [upstream("timeout"), undefined, { outcome: "timeout", health: "failure" }],
  [upstream("bad_request"), undefined, { outcome: "bad_request", health: "success" }],
  [upstream("context_length"), undefined, { outcome: "context_length", health: "success" }],
  [upstream("request_too_large"), undefined, { outcome: "request_too_large", health: "success" }],
  [upstream("model_not_found"), undefined, { outcome: "model_not_found", health: "routeFailure" }],
  [
    upstream("model_not_found", { isOfRequest: true }),
    undefined,
    { outcome: "model_not_found", health: "routeFailure" },
  ],
  [refusal, undefined, { outcome: "refused", health: "nothing" }],
  [ofPlugin, undefined, { outcome: "plugin", health: "failure" }],
  [upstream("bad_response"), "client_disconnected", { outcome: "cut", health: "nothing" }],
  [upstream("bad_response"), "draining", { outcome: "cut", health: "nothing" }],
  [upstream("bad_response"), "hold_refused", { outcome: "cut", health: "nothing" }],
  [upstream("timeout"), "timeout", { outcome: "cut", health: "failure" }],
  [refusal, "timeout", { outcome: "cut", health: "nothing" }],
];

const endOf = (isAnswered: boolean, error: unknown, cancelReason: CancelReason | undefined) =>
  classifyAttempt({ isAnswered, error, run: { call: { cancelReason } } } as unknown as Attempt);

test("a failed attempt is classified by its error and by who ended it", () => {
  const wrong = failed.filter(([error, cancelReason, end]) => !Bun.deepEquals(endOf(false, error, cancelReason), end));
  expect(wrong.map(([error, cancelReason]) => [error, cancelReason, endOf(false, error, cancelReason)])).toEqual([]);
});

test("an answered attempt is a success of its route, unless its client or the gateway has ended it", () => {
  const reasons = [undefined, "timeout", "client_disconnected", "draining", "hold_refused"] as const;
  expect(reasons.map((reason) => endOf(true, undefined, reason))).toEqual([
    { outcome: "answered", health: "success" },
    { outcome: "answered", health: "success" },
    { outcome: "answered", health: "nothing" },
    { outcome: "answered", health: "nothing" },
    { outcome: "answered", health: "nothing" },
  ]);
});
