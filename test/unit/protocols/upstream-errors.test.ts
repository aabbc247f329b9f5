import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { UpstreamError, type UpstreamErrorKind } from "../../../src/contract/index.ts";
import { classifyError, classifyRefusal, isFailedAnswer } from "../../../src/protocols/upstream-errors.ts";
import golden from "../../fixtures/sdk/faults.json" with { type: "json" };
import recorded from "../../fixtures/sdk/recorded-faults.json" with { type: "json" };
import { recordingAt, recordingsMissing, recordingsOf } from "../../support/recordings.ts";

interface Expected {
  kind: string;
  message?: string;
  param?: string;
  code?: string;
  retryAfterMs?: number;
}

function expectFault(fault: UpstreamError, { kind, message, param, code, retryAfterMs }: Expected): void {
  expect(fault).toBeInstanceOf(UpstreamError);
  expect({ kind: fault.kind, param: fault.param, code: fault.code, retryAfterMs: fault.retryAfterMs }).toEqual({
    kind: kind as UpstreamErrorKind,
    param,
    code,
    retryAfterMs,
  });
  if (message !== undefined) expect(fault.message).toBe(message);
}

test.each<[number, UpstreamErrorKind, string]>([
  [1000, "server_error", "unknown error"],
  [1002, "rate_limited", "rate limit"],
  [1004, "auth", "The provider refused the gateway's credential: it failed (1004)"],
  [1008, "insufficient_quota", "The gateway's account with the provider is used up: it failed (1008)"],
  [1026, "bad_request", "input sensitive"],
  [9999, "server_error", "something new"],
])("an envelope with the status %d is a failure of the kind %s, in its words", (number, kind, message) => {
  const envelope = { base_resp: { status_code: number, status_msg: message }, choices: null };
  expect(isFailedAnswer(envelope)).toBe(true);
  expectFault(classifyError(envelope), { kind, message, code: String(number) });
});

test("an envelope that says success is none", () => {
  expect(isFailedAnswer({ base_resp: { status_code: 0, status_msg: "" }, choices: [] })).toBe(false);
  expect(isFailedAnswer({ base_resp: null, error: null })).toBe(false);
});

describe("classifyRefusal", () => {
  const missing = { type: "missing", loc: ["body", "messages", 0, "content"], msg: "Field required", input: "secret" };
  const [place, sentence] = ["messages.0.content", "messages.0.content: Field required"];
  test.each<[string, object, string, string]>([
    ["FastAPI's list", { detail: [missing, { msg: "another" }] }, sentence, place],
    ["Mistral's list in a message", { object: "error", message: { detail: [missing] } }, sentence, place],
    ["a list of errors", { errors: [{ message: "first" }, { message: "second" }] }, "first", ""],
    ["a list of texts", { errors: ["first", "second"] }, "first", ""],
    ["an error that is a list", { error: [{ message: "listed", param: "top_p" }] }, "listed", "top_p"],
    ["an object in the message", { error: { message: { detail: "inner" }, type: "x" } }, "inner", ""],
    ["an object as the detail", { detail: { message: "of the detail" } }, "of the detail", ""],
    [
      "a list without a sentence",
      { detail: [{ loc: ["body"] }, [], 5] },
      "The provider answered 400 without a reason",
      "",
    ],
  ])("reads the reason in %s", (_, body, message, param) => {
    const fault = classifyRefusal({ status: 400, headers: new Headers(), body: JSON.stringify(body) });
    expectFault(fault, { kind: "bad_request", message, ...(param !== "" && { param }) });
  });

  test.each(golden.map((row) => [row.name, row] as const))("reads %s", (_, row) => {
    const body = typeof row.body === "string" ? row.body : JSON.stringify(row.body);
    const headers = new Headers((row.headers ?? {}) as Record<string, string>);
    const fault = classifyRefusal({ status: row.status, headers, body });
    expectFault(fault, row as Expected);
    expect(fault.status).toBe(row.status);
  });

  if (recordingsMissing !== undefined) test.skip(recordingsMissing, () => undefined);
  const refusals = recordingsOf("openai", "groq", "together").filter(({ status }) => status >= 400);
  test("has an expectation for each recorded refusal", () => {
    if (recordingsMissing === undefined)
      expect(refusals.map(({ path }) => path).sort()).toEqual(Object.keys(recorded).sort());
  });
  test.each(refusals.map(({ path }) => path))("reads the recorded %s", (path) => {
    const { status, headers, body } = recordingAt(path);
    const text = new TextDecoder().decode(body);
    const fault = classifyRefusal({ status, headers: new Headers(headers), body: text });
    const expected: Expected = recorded[path as keyof typeof recorded];
    expectFault(fault, expected);
    const theirs: string = JSON.parse(text).error.message;
    if (fault.kind === "auth") expect(fault.message).not.toContain(theirs.slice(0, 20));
    else if (expected.message === undefined) expect(fault.message).toBe(theirs.replace(/org[-_]\w+/, "[hidden]"));
  });

  test("never throws and never shows a key, whatever came", () => {
    const key = "sk-proj-0123456789abcdef";
    const anything = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => `{"error":${json}}`),
    );
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), anything, (status, body) => {
        const fault = classifyRefusal({ status, headers: new Headers(), body });
        expect(fault).toBeInstanceOf(UpstreamError);
        const message = classifyRefusal({ status, headers: new Headers(), body: `${body} ${key}` }).message;
        expect(message).not.toContain(key);
      }),
    );
  });

  test("keeps at most 1000 characters of a sentence", () => {
    const fault = classifyRefusal({ status: 400, headers: new Headers(), body: "x".repeat(60_000) });
    expect(fault.message.length).toBeLessThanOrEqual(1001);
  });
});

test("a picture for a model without eyes is the request's fault, also where its server calls it its own", () => {
  const messages = [
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    "audio input is not supported",
    "This model does not support image input",
    "The model doesn't support vision",
  ];
  const kinds = messages.map((message) => classifyError({ error: { code: 500, type: "server_error", message } }).kind);
  expect(kinds).toEqual(messages.map(() => "bad_request"));
  const other = classifyError({ error: { code: 500, type: "server_error", message: "image could not be loaded" } });
  expect(other.kind).toBe("server_error");
});

describe("faultOfBody", () => {
  test.each<[string, unknown, number | undefined, Expected & { status?: number }]>([
    [
      "OpenAI's",
      { error: { message: "Sorry", type: "server_error", param: null, code: null } },
      undefined,
      { kind: "server_error", message: "Sorry" },
    ],
    [
      "OpenAI's of an overload, which has the word for every failure",
      { error: { message: "Busy", type: "server_error", param: null, code: null } },
      503,
      { kind: "overloaded", message: "Busy", status: 503 },
    ],
    [
      "Groq's, with its status in it",
      { error: { message: "No tool", type: "invalid_request_error", code: "tool_use_failed", status_code: 400 } },
      200,
      { kind: "bad_request", code: "tool_use_failed", message: "No tool", status: 400 },
    ],
    [
      "Anthropic's",
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      undefined,
      { kind: "overloaded" },
    ],
    [
      "Gemini's",
      { error: { code: 503, message: "Busy", status: "UNAVAILABLE" } },
      undefined,
      { kind: "overloaded", status: 503 },
    ],
    [
      "one that only says invalid",
      { error: { message: "Bad", type: "invalid_request_error" } },
      undefined,
      { kind: "bad_request" },
    ],
    ["one that says nothing known", { error: { message: "Boo" } }, undefined, { kind: "bad_response", message: "Boo" }],
    ["a text", "it went wrong", undefined, { kind: "bad_response", message: "it went wrong" }],
    [
      "no error at all",
      { hello: 1 },
      undefined,
      { kind: "bad_response", message: "The provider failed without a reason" },
    ],
    ["nothing", null, undefined, { kind: "bad_response" }],
  ])("reads %s", (_, body, status, expected) => {
    const fault = classifyError(body, status);
    expectFault(fault, expected);
    if (expected.status !== undefined) expect(fault.status).toBe(expected.status);
  });
});
