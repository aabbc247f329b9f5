import { expect, test } from "bun:test";
import type { Call, ChatCompletion, ChatRequest } from "../../../src/provider/index.ts";
import { failedBy, fetchOf, refused } from "./fake-fetch.ts";
import { chatCall, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

const chat = (call: Call<ChatRequest>) => call.upstream.json<ChatCompletion>("/chat", { model: call.model.upstreamId });

/** What a client reads of a provider that fails so each time. */
async function messageOf(answer: Response | Error): Promise<string> {
  const { kernel } = createBench([createPlugin({ chat })], {
    fetch: fetchOf(answer),
    credentials: { acme: { keys: ["k"] } },
  });
  const error = await rejectionOf(runCall(kernel, chatCall()));
  return `${error.code}: ${error.message}`;
}

test.each([
  [
    "its words for a failure",
    refused(500, { message: "Internal server error" }),
    "upstream_error: acme failed (500): Internal server error",
  ],
  [
    "its words for an overload",
    refused(529, { message: "Overloaded" }),
    "upstream_error: acme failed (529): Overloaded",
  ],
  ["nothing", new Response("<html>", { status: 502 }), "upstream_error: acme answered 502 without a reason"],
  [
    "a rate limit",
    refused(429, { message: "Slow down" }),
    "rate_limit_exceeded: acme's rate limit is reached and no other route is free; retry later",
  ],
  [
    "that it knows the key no more",
    refused(401, { message: "Bad key" }),
    "upstream_error: acme rejected the gateway's credentials, account or location; contact the operator",
  ],
  [
    "that it has the model no more",
    refused(404, { message: "No such model" }),
    "model_not_found: acme no longer serves this model: No such model",
  ],
  ["no connection", failedBy("ECONNREFUSED"), "upstream_error: Cannot connect to acme: connection refused"],
  [
    "a connection that is closed",
    failedBy("ECONNRESET"),
    "upstream_error: The connection to acme was closed before it answered",
  ],
] as const)("a client reads which provider failed where it gives %s", async (_, answer, message) => {
  expect(await messageOf(answer)).toBe(message);
});

// Agents act on these words: they compress their conversation, lower a limit or leave a field out.
test.each([
  ["prompt is too long: 210000 tokens > 200000 maximum", /prompt is too long: 210000 tokens > 200000 maximum/],
  [
    "This model's maximum context length is 8000 tokens. However, you asked for 9000",
    /^context_length_exceeded: This model's maximum context length is 8000 tokens\. However, you asked for 9000$/,
  ],
  [
    "context_management: Extra inputs are not permitted",
    /^invalid_request: context_management: Extra inputs are not permitted$/,
  ],
  [
    "adaptive thinking is not supported on this model",
    /^invalid_request: adaptive thinking is not supported on this model$/,
  ],
])("a client reads the provider's own words about its request: %s", async (words, expected) => {
  expect(await messageOf(refused(400, { message: words }))).toMatch(expected);
});
