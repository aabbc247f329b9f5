import { expect, test } from "bun:test";
import { classifyError } from "modelgate/plugin";
import gemini from "../../../../plugins/gemini/index.ts";
import { recordingsMissing, recordingsOf } from "../../../support/recordings.ts";

if (recordingsMissing !== undefined) console.warn(recordingsMissing);

interface Facts {
  code: number;
  status: string;
  message?: string;
  details?: object[];
}

const read = (error: Facts, wrap = (body: unknown) => body) => {
  const body = JSON.stringify(wrap({ error: { message: "Words", ...error } }));
  return gemini.readError({ status: error.code, headers: new Headers(), body });
};
const reason = (name: string) => [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: name }];
const quota = (quotaId: string) => [
  { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] },
  { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" },
];

const table: [string, Facts, string][] = [
  ["a bad request", { code: 400, status: "INVALID_ARGUMENT" }, "bad_request"],
  ["a bad key", { code: 400, status: "INVALID_ARGUMENT", details: reason("API_KEY_INVALID") }, "auth"],
  [
    "a prompt that is too long",
    {
      code: 400,
      status: "INVALID_ARGUMENT",
      message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    },
    "context_length",
  ],
  [
    "a place that is not served",
    { code: 400, status: "FAILED_PRECONDITION", message: "User location is not supported for the API use." },
    "auth",
  ],
  [
    "an account without billing",
    { code: 400, status: "FAILED_PRECONDITION", message: "Enable billing" },
    "insufficient_quota",
  ],
  ["a key that leaked", { code: 403, status: "PERMISSION_DENIED" }, "auth"],
  ["a model that is gone", { code: 404, status: "NOT_FOUND" }, "model_not_found"],
  [
    "a minute's limit",
    { code: 429, status: "RESOURCE_EXHAUSTED", details: quota("RequestsPerMinute") },
    "rate_limited",
  ],
  [
    "a day's quota",
    { code: 429, status: "RESOURCE_EXHAUSTED", details: quota("RequestsPerDayPerProject") },
    "insufficient_quota",
  ],
  ["a call that was cancelled", { code: 499, status: "CANCELLED" }, "bad_response"],
  ["a failure inside", { code: 500, status: "INTERNAL" }, "server_error"],
  ["an overload", { code: 503, status: "UNAVAILABLE" }, "overloaded"],
  ["a deadline", { code: 504, status: "DEADLINE_EXCEEDED" }, "timeout"],
];

test.each(table)("reads %s, in an array too, and within a stream", (_, error, kind) => {
  expect(read(error)).toMatchObject({ kind, status: error.code });
  expect(read(error, (body) => [body])).toMatchObject({ kind, status: error.code });
  expect(classifyError({ error: { message: "Words", ...error } }).kind).toBe(kind as never);
});

test("reads when to come back out of the body", () => {
  expect(read({ code: 429, status: "RESOURCE_EXHAUSTED", details: quota("RequestsPerMinute") }).retryAfterMs).toBe(
    34_400,
  );
});

test.each([
  { code: 400, status: "FAILED_PRECONDITION", message: "Billing of project 12345678 is off" },
  { code: 403, status: "PERMISSION_DENIED", message: "It has not been used in project 12345678 before" },
  { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota exceeded for consumer 'project_number:12345678'" },
])("keeps our project out of the sentence of $status", (error) => {
  expect(read(error).message).not.toContain("12345678");
});

test("reads what is not JSON by its status", () => {
  expect(gemini.readError({ status: 502, headers: new Headers(), body: "<html></html>" }).kind).toBe("server_error");
});

const kinds: Record<string, string> = {
  "400-api-key-invalid": "auth",
  "400-image-rejected": "bad_request",
  "400-tools-with-json-mime-type": "bad_request",
  "403-api-not-enabled": "auth",
  "404-model-not-found": "model_not_found",
  "429-quota-exceeded": "rate_limited",
  "429-resource-exhausted-retryinfo": "rate_limited",
};

const errors = recordingsOf("gemini").filter(({ capability }) => capability === "errors");
test.each(errors.map((recording) => [recording.path, recording] as const))(
  "reads %s",
  (path, { status, headers, body }) => {
    const fault = gemini.readError({ status, headers: new Headers(headers), body: new TextDecoder().decode(body) });
    const name = path.replace(/^.*\/|\.json$/g, "");
    expect(fault.kind).toBe(kinds[name] as never);
    if (name.endsWith("retryinfo")) expect(fault.retryAfterMs).toBe(48_000);
  },
);
