import { describe, expect, test } from "bun:test";
import azure from "../../plugins/azure/index.ts";
import bedrock from "../../plugins/bedrock/index.ts";
import cohereItself from "../../plugins/cohere/index.ts";
import vertex from "../../plugins/vertex/index.ts";
import { checkPlugin } from "../../src/cli/plugin-check/check-plugin.ts";
import type { Fixture } from "../../src/cli/plugin-check/fixture.ts";
import type { ProviderPlugin } from "../../src/provider/index.ts";
import { callOf, createBench, runCall } from "../unit/kernel/support.ts";

const tools = [
  {
    type: "function",
    function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
];
const ask = { messages: [{ role: "user", content: "How is the weather in Paris?" }], max_tokens: 60 };
const called = { toolCalls: [{ name: "weather", arguments: { city: "Paris" } }], finishReason: "tool_calls" };
const said = { content: "It is mild in Paris. 🌤", finishReason: "stop", promptTokens: 12, completionTokens: 7 };
const stream = { ...ask, stream: true, stream_options: { include_usage: true } };

const usage = { inputTokens: 12, outputTokens: 7, totalTokens: 19 };
const converse = (content: object[], stopReason: string) => ({
  output: { message: { role: "assistant", content } },
  stopReason,
  usage,
  metrics: { latencyMs: 351 },
});
const ofBedrock: Fixture[] = [
  {
    about: "a ranking",
    capability: "rerank",
    model: "bedrock/cohere.rerank-v3-5:0",
    request: { query: "capital of France", documents: ["Rome", "Paris"] },
    path: "/model/cohere.rerank-v3-5%3A0/invoke",
    body: { query: "capital of France", documents: ["Rome", "Paris"], api_version: 2 },
    reply: { json: { results: [{ index: 1, relevance_score: 0.9 }] } },
  },
  {
    about: "an image",
    capability: "images",
    model: "bedrock/stability.stable-image-core-v1:1",
    request: { prompt: "A lighthouse", size: "1792x1024", output_format: "jpeg" },
    path: "/model/stability.stable-image-core-v1%3A1/invoke",
    body: { prompt: "A lighthouse", aspect_ratio: "16:9", output_format: "jpeg" },
    reply: { json: { seeds: [2130420379], finish_reasons: [null], images: ["/9j/4AAQ"] } },
  },
  {
    about: "a whole answer",
    request: ask,
    reply: { json: converse([{ text: said.content }], "end_turn") },
    expect: said,
  },
  {
    about: "a tool call",
    request: { ...ask, tools },
    reply: {
      json: converse([{ toolUse: { toolUseId: "tooluse_1", name: "weather", input: { city: "Paris" } } }], "tool_use"),
    },
    expect: called,
  },
  {
    about: "a stream",
    request: stream,
    reply: {
      awsEvents: [
        ["messageStart", { role: "assistant" }],
        ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "It is mild " } }],
        ["contentBlockDelta", { contentBlockIndex: 0, delta: { text: "in Paris. 🌤" } }],
        ["contentBlockStop", { contentBlockIndex: 0 }],
        ["messageStop", { stopReason: "end_turn" }],
        ["metadata", { usage, metrics: { latencyMs: 351 } }],
      ],
    },
    expect: said,
  },
];

const vectorsOf = (about: string, model: string, path: string, body: object, json: object): Fixture => ({
  about,
  capability: "embeddings",
  model,
  request: { input: "Paris", dimensions: 256 },
  path,
  body,
  reply: { json },
});
const titan = vectorsOf(
  "vectors of Titan",
  "bedrock/amazon.titan-embed-text-v2:0",
  "/model/amazon.titan-embed-text-v2%3A0/invoke",
  { inputText: "Paris", dimensions: 256 },
  { embedding: [0.1, -0.2, 0.3], inputTextTokenCount: 3 },
);
const cohere = vectorsOf(
  "vectors of Cohere",
  "bedrock/cohere.embed-v4:0",
  "/model/cohere.embed-v4%3A0/invoke",
  { texts: ["Paris"], input_type: "search_document", output_dimension: 256 },
  { id: "1", embeddings: { float: [[0.1, -0.2, 0.3]] }, response_type: "embeddings_by_type" },
);
const predicted = vectorsOf(
  "vectors of Vertex",
  "vertex/gemini-embedding-001",
  "/google/models/gemini-embedding-001:predict",
  { instances: [{ content: "Paris" }], parameters: { outputDimensionality: 256 } },
  { predictions: [{ embeddings: { values: [0.1, -0.2, 0.3], statistics: { token_count: 3, truncated: false } } }] },
);
const counted = { promptTokens: 3 };
const vectors = (plugin: ProviderPlugin): ProviderPlugin => ({
  ...plugin,
  models: plugin.models.filter(({ capability }) => capability === "embeddings"),
});

const toSse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const counts = { promptTokenCount: 12, candidatesTokenCount: 7, totalTokenCount: 19 };
const generated = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
  usageMetadata: counts,
});
const ofVertex: Fixture[] = [
  { about: "a whole answer", request: ask, reply: { json: generated([{ text: said.content }], "STOP") }, expect: said },
  {
    about: "a tool call",
    request: { ...ask, tools },
    reply: { json: generated([{ functionCall: { name: "weather", args: { city: "Paris" } } }], "STOP") },
    expect: called,
  },
  {
    about: "a stream",
    request: stream,
    reply: { text: toSse(generated([{ text: "It is mild " }]), generated([{ text: "in Paris. 🌤" }], "STOP")) },
    expect: said,
  },
];

const drawn: Fixture = {
  about: "an image",
  capability: "images",
  model: "vertex/gemini-3.1-flash-image",
  request: { prompt: "A lighthouse", size: "1024x1024" },
  path: "/google/models/gemini-3.1-flash-image:generateContent",
  body: {
    contents: [{ role: "user", parts: [{ text: "A lighthouse" }] }],
    generationConfig: {
      responseModalities: ["TEXT", "IMAGE"],
      imageConfig: { aspectRatio: "1:1", imageSize: "1K" },
      maxOutputTokens: 6616,
    },
  },
  reply: { json: generated([{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }], "STOP") },
};
const edited: Fixture = {
  about: "an edited image",
  capability: "imageEdits",
  model: "vertex/gemini-3.1-flash-image",
  request: { prompt: "A hat" },
  path: "/google/models/gemini-3.1-flash-image:generateContent",
  reply: drawn.reply,
};
const images = (plugin: ProviderPlugin): ProviderPlugin => ({
  ...plugin,
  models: plugin.models.filter(({ capability }) => capability === "images"),
});

const spent = { input_tokens: 12, output_tokens: 7 };
const message = (content: object[], stop_reason: string) => ({
  type: "message",
  role: "assistant",
  content,
  stop_reason,
  usage: spent,
});
const ofClaude: Fixture[] = [
  {
    about: "a whole answer",
    request: ask,
    reply: { json: message([{ type: "text", text: said.content }], "end_turn") },
    expect: said,
  },
  {
    about: "a tool call",
    request: { ...ask, tools },
    reply: {
      json: message([{ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } }], "tool_use"),
    },
    expect: called,
  },
  {
    about: "a stream",
    request: stream,
    reply: {
      text: toSse(
        { type: "message_start", message: { content: [], usage: { input_tokens: 12, output_tokens: 1 } } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "It is mild " } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "in Paris. 🌤" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 7 } },
        { type: "message_stop" },
      ),
    },
    expect: said,
  },
];

/** The plugin with those of its rows alone that one kind of protocol serves. */
const only = (plugin: ProviderPlugin, wanted: (id: string) => boolean): ProviderPlugin => ({
  ...plugin,
  models: plugin.models.filter(({ id, capability }) => capability === "chat" && wanted(id)),
});
const isClaude = (id: string) => id.includes("/claude");

describe.each<[string, ProviderPlugin, Fixture[]]>([
  ["bedrock", bedrock, [...ofBedrock, titan]],
  ["bedrock with Claude", only(bedrock, (id) => id.includes("anthropic.claude")), ofBedrock],
  ["vertex with Gemini", only(vertex, (id) => !isClaude(id)), ofVertex],
  ["vertex with Claude", only(vertex, isClaude), ofClaude],
  ["bedrock with vectors", vectors(bedrock), [{ ...titan, expect: counted }, cohere]],
  ["vertex with vectors", vectors(vertex), [{ ...predicted, expect: counted }]],
  ["vertex with images", images(vertex), [drawn, edited]],
  ["azure with OpenAI's models", only(azure, (id) => !isClaude(id)), []],
  ["azure with Claude", only(azure, isClaude), ofClaude],
])("the plugin %s", (_, plugin, fixtures) => {
  test("passes all that plugin check looks at", async () => {
    const marks = await checkPlugin(plugin, fixtures);
    const hasChat = plugin.models.some(({ capability }) => capability === "chat");
    expect(marks.length).toBeGreaterThan(hasChat ? 12 : 4);
    expect(marks.filter(({ ok }) => !ok)).toEqual([]);
  });
});

test("texts beyond what a request takes are several requests, and all of their tokens are charged", async () => {
  const input = Array.from({ length: 100 }, (_, index) => `text ${index}`);
  const network = async (url: string, init: RequestInit) => {
    const { texts, inputText } = JSON.parse(String(init.body)) as { texts?: string[]; inputText?: string };
    if (inputText !== undefined) return Response.json({ embedding: [0.1, 0.2], inputTextTokenCount: 3 });
    const float = (texts ?? []).map(() => [0.1, 0.2]);
    return Response.json({ embeddings: { float }, meta: { billed_units: { input_tokens: 3 * float.length } }, url });
  };
  for (const [plugin, model] of [
    [cohereItself, "cohere/embed-v4.0"],
    [bedrock, "bedrock/amazon.titan-embed-text-v2:0"],
  ] as const) {
    const { kernel, ledger } = createBench([plugin], { fetch: network });
    const answer = await runCall(kernel, callOf("embeddings", { model, input }));
    expect(answer?.data).toHaveLength(100);
    expect(ledger.settlement).toMatchObject({ usageSource: "reported", meters: { inputToken: 300 } });
  }
});
