import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError, type UpstreamErrorKind } from "../../../src/contract/index.ts";
import { type AttemptFacts, type Decision, decide } from "../../../src/kernel/failed-attempt.ts";
import { expectRows } from "../../support/expect-rows.ts";

/** A request was sent whole by a call that goes on, with one of several keys, and was not answered. */
const usual: AttemptFacts = {
  isCallOver: false,
  wasAsked: true,
  wasSent: true,
  hasServed: false,
  hasKey: true,
  mayAskAgain: false,
};
const unsent: Partial<AttemptFacts> = { wasSent: false };
const only: Partial<AttemptFacts> = { mayAskAgain: true };
const upstream = (kind: UpstreamErrorKind, status?: number) => new UpstreamError(kind, "Failed", { status });
const plugin = new TypeError("It has no choices");

/** What happened, with the facts that differ from the usual ones; what it is counted against, and what follows. */
const rows: readonly [string, unknown, Partial<AttemptFacts>, `${Decision["culprit"]} → ${Decision["next"]}`][] = [
  ["the client left or the call was cancelled", upstream("overloaded", 503), { isCallOver: true }, "nothing → throw"],
  ["the gateway refused the request itself", new GatewayError("invalid_request", "No"), {}, "nothing → throw"],
  [
    "the gateway refused more output",
    new GatewayError("budget_exceeded", "No"),
    { hasServed: true },
    "nothing → throw",
  ],
  ["the plugin threw before it asked", plugin, { wasAsked: false, wasSent: false }, "plugin → nextRoute"],
  ["the plugin threw after its request could not be sent", plugin, unsent, "answer → nextRoute"],
  ["the plugin threw at an answer", plugin, {}, "answer → throw"],
  ["the plugin threw at an answer of the only route", plugin, only, "answer → throw"],
  ["the plugin threw after a served request", plugin, { wasSent: false, hasServed: true }, "answer → throw"],
  ["the provider refused the request", upstream("bad_request", 400), {}, "request → throw"],
  ["the provider found the prompt too long", upstream("context_length", 400), only, "request → throw"],
  ["the provider refused the key", upstream("auth", 401), {}, "key → nextKey"],
  ["the key has no money", upstream("insufficient_quota", 429), {}, "key → nextKey"],
  ["the key is limited", upstream("rate_limited", 429), only, "key → nextKey"],
  ["the provider refused a request without a key", upstream("auth", 401), { hasKey: false }, "key → nextRoute"],
  ["the key is limited after a part was served", upstream("rate_limited", 429), { hasServed: true }, "key → throw"],
  ["the route does not have the model", upstream("model_not_found", 404), {}, "route → nextRoute"],
  ["the only route does not have the model", upstream("model_not_found", 404), only, "route → nextRoute"],
  ["the request is too large for the only route", upstream("request_too_large", 413), only, "route → nextRoute"],
  ["the provider is overloaded", upstream("overloaded", 503), {}, "route → nextRoute"],
  ["the only provider is overloaded", upstream("overloaded", 503), only, "route → again"],
  ["the only provider failed", upstream("server_error", 500), only, "route → again"],
  ["the provider failed after a part was served", upstream("server_error", 500), { hasServed: true }, "route → throw"],
  ["the connection broke off", upstream("bad_response"), {}, "route → throw"],
  ["the connection of the only route broke off", upstream("bad_response"), only, "route → throw"],
  ["a connection was not made", upstream("bad_response"), unsent, "route → nextRoute"],
  ["a connection to the only route was not made", upstream("bad_response"), { ...unsent, ...only }, "route → again"],
  ["a success could not be read", upstream("bad_response", 200), {}, "route → throw"],
  ["a redirect was answered", upstream("bad_response", 302), {}, "route → nextRoute"],
  ["the provider is silent", upstream("timeout"), {}, "route → throw"],
  ["a gateway before the provider gave up", upstream("timeout", 504), only, "route → throw"],
  ["connecting took too long", upstream("timeout"), unsent, "route → nextRoute"],
  ["connecting to the only route took too long", upstream("timeout"), { ...unsent, ...only }, "route → again"],
];

const kinds: Record<UpstreamErrorKind, true> = {
  bad_request: true,
  context_length: true,
  model_not_found: true,
  auth: true,
  insufficient_quota: true,
  rate_limited: true,
  request_too_large: true,
  overloaded: true,
  server_error: true,
  bad_response: true,
  timeout: true,
};
const statuses = [undefined, 200, 302, 400, 429, 500];

/** All errors with all combinations of facts. */
const cases = [
  undefined,
  plugin,
  new GatewayError("unavailable", "No"),
  ...(Object.keys(kinds) as UpstreamErrorKind[]).flatMap((kind) => statuses.map((status) => upstream(kind, status))),
].flatMap((error) =>
  Array.from({ length: 2 ** Object.keys(usual).length }, (_, bits) => {
    const facts = Object.fromEntries(Object.keys(usual).map((name, place) => [name, (bits & (1 << place)) !== 0]));
    return { error, facts: { ...usual, ...facts } };
  }),
);

function wrong(isWrong: (decision: Decision, facts: AttemptFacts, error: unknown) => boolean) {
  return cases.filter(({ error, facts }) => isWrong(decide(error, facts), facts, error));
}

describe("what follows a failed attempt", () => {
  test("is as the table says, for each kind of failure", () => {
    return expectRows(rows, (sentence, error, facts, expected) => {
      const { culprit, next } = decide(error, { ...usual, ...facts });
      expect([sentence, `${culprit} → ${next}`]).toEqual([sentence, expected]);
    });
  });

  test("is never another request once a part of the answer is paid", () => {
    const isAnother = ({ next }: Decision, { hasServed, wasAsked }: AttemptFacts) =>
      hasServed && wasAsked && next !== "throw";
    expect(wrong(isAnother)).toEqual([]);
  });

  test("is another request after one that was sent only if the provider answered that it did not serve it", () => {
    const mayBeAtWork = (error: unknown) =>
      !(error instanceof UpstreamError) ||
      error.kind === "timeout" ||
      (error.kind === "bad_response" && (error.status ?? 0) < 300);
    const isAnother = ({ next }: Decision, { wasSent, wasAsked }: AttemptFacts, error: unknown) =>
      wasSent && wasAsked && next !== "throw" && mayBeAtWork(error);
    expect(wrong(isAnother)).toEqual([]);
  });

  test("is nothing once the call is over, and nothing is counted", () => {
    const goesOn = ({ culprit, next }: Decision, { isCallOver }: AttemptFacts) =>
      isCallOver && (next !== "throw" || culprit !== "nothing");
    expect(wrong(goesOn)).toEqual([]);
  });

  test("is the same route again only where it may be, and the next key only where there was one", () => {
    const isUnfit = ({ next }: Decision, { mayAskAgain, hasKey }: AttemptFacts) =>
      (next === "again" && !mayAskAgain) || (next === "nextKey" && !hasKey);
    expect(wrong(isUnfit)).toEqual([]);
  });

  test("counts against a provider only what the provider answered or did not", () => {
    const isUnjust = ({ culprit }: Decision, _: AttemptFacts, error: unknown) =>
      !(error instanceof UpstreamError) && !["nothing", "plugin", "answer"].includes(culprit);
    expect(wrong(isUnjust)).toEqual([]);
  });
});
