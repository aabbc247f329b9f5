import { describe, expect, test } from "bun:test";
import vertex from "../../../plugins/vertex/index.ts";
import { type CredentialForm, formatCredential } from "../../../src/provider/index.ts";
import { callOf, chatCall, createBench, runCall } from "../kernel/support.ts";
import { fakeCall } from "../sdk/fake-call.ts";

const tierHeader = "x-vertex-ai-llm-shared-request-type";

/** One request as Vertex gets it. */
interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** A gateway before a Vertex AI that answers everything alike. */
function gatewayOf(answer: object) {
  const sent: Sent[] = [];
  const fetch = async (url: string, { body, headers }: RequestInit) => {
    sent.push({ url, headers: new Headers(headers as Record<string, string>), body: JSON.parse(String(body)) });
    if (!url.includes(":streamGenerateContent")) return Response.json(answer);
    return new Response(`data: ${JSON.stringify(answer)}\r\n\r\n`, {
      headers: { "content-type": "text/event-stream" },
    });
  };
  const credentials = {
    vertex: { keys: [formatCredential(vertex.credential as CredentialForm, { api_key: "AIza-express" })] },
  };
  return { ...createBench([vertex], { fetch, credentials }), sent };
}

/** 100 tokens in and 10 out: $0.75 and $3.75 for a million, half of it by flex, and 1.8 times as much by priority. */
const [standard, flex, priority] = [112_500, 56_250, 202_500];

describe("a tier of service on Vertex", () => {
  test.each([
    ["flex", "ON_DEMAND_FLEX", "flex", flex],
    ["flex", "ON_DEMAND", "default", standard],
    ["priority", "ON_DEMAND_PRIORITY", "priority", priority],
    ["priority", "ON_DEMAND", "default", standard],
    ["priority", "PROVISIONED_THROUGHPUT", "scale", standard],
    ["priority", "TRAFFIC_OF_TOMORROW", undefined, priority],
    ["flex", undefined, undefined, standard],
  ])("%p is asked for by a header, and charged as %p says", async (tier, trafficType, told, cost) => {
    const { kernel, ledger, sent } = gatewayOf({
      candidates: [{ content: { parts: [{ text: "Yes" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110, trafficType },
    });
    const call = chatCall({ model: "vertex/gemini-3.8-flash", service_tier: tier, max_tokens: 10 });
    const completion = (await runCall(kernel, call)) as { service_tier?: string };
    expect(sent[0]?.headers.get(tierHeader)).toBe(tier);
    expect(sent[0]?.body).not.toHaveProperty("serviceTier");
    expect(completion.service_tier).toBe(told as string);
    expect(ledger.settlement.costNanodollars).toBe(cost);
  });

  test.each([
    ["auto", "vertex/gemini-3.8-flash", false],
    ["scale", "vertex/gemini-3.8-flash", true],
    ["priority", "vertex/claude-opus-5", true],
  ])("%s is not asked for of %s", async (tier, model, isIgnored) => {
    const { kernel, sent } = gatewayOf({});
    const call = chatCall({ model, service_tier: tier, max_tokens: 10 });
    await runCall(kernel, call).catch(() => undefined);
    expect(sent[0]?.headers.get(tierHeader)).toBeNull();
    expect(call.run?.ignored.has("service_tier")).toBe(isIgnored);
  });
});

test("Claude on Vertex is asked by the version that its row names in the body, else by that of Vertex", async () => {
  const sent: unknown[] = [];
  const upstream = { baseUrl: vertex.baseUrl, json: async (_: string, body: unknown) => sent.push(body) };
  const row = vertex.models.find(({ upstreamId }) => upstreamId.startsWith("claude"));
  if (row === undefined) throw new Error("Vertex has no row of Claude");
  for (const options of [{ ...row.options }, { ...row.options, anthropicVersion: "vertex-2026-10-21" }]) {
    const { call } = fakeCall({ model: row.id, messages: [{ role: "user", content: "Hi" }] }, {}, { ...row, options });
    const handlers = vertex.forModel?.(row)?.handlers;
    // The answer is none, and the request is what counts.
    await handlers?.chat?.({ ...call, upstream } as never).catch(() => undefined);
  }
  expect(sent).toMatchObject([{ anthropic_version: "vertex-2023-10-16" }, { anthropic_version: "vertex-2026-10-21" }]);
});

test("an image of Vertex is charged by the tokens of text and images that it reports", async () => {
  const { kernel, ledger, sent } = gatewayOf({
    candidates: [
      { content: { parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] }, finishReason: "STOP" },
    ],
    usageMetadata: {
      promptTokenCount: 10,
      candidatesTokenCount: 1120,
      totalTokenCount: 1130,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1120 }],
    },
  });
  const request = { model: "vertex/gemini-3.1-flash-image", prompt: "A lighthouse", size: "1024x1024" as const };
  const answer = await runCall(kernel, callOf("images", request));
  expect(answer?.images).toEqual([{ data: "iVBORw0KGgo=", mediaType: "image/png" }]);
  expect(new URL(sent[0]?.url as string).pathname).toEndWith(
    "/publishers/google/models/gemini-3.1-flash-image:generateContent",
  );
  // $0.50 a million tokens in, $60 a million tokens of images.
  expect(ledger.settlement).toMatchObject({
    usageSource: "reported",
    meters: { inputToken: 10, imageOutputToken: 1120 },
    costNanodollars: 10 * 500 + 1120 * 60_000,
  });
});
