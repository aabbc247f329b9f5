import { describe, expect, test } from "bun:test";
import { readError } from "../../../../plugins/bedrock/errors.ts";
import bedrock from "../../../../plugins/bedrock/index.ts";
import { toConverse } from "../../../../plugins/bedrock/request.ts";
import { fromConverse, readUsage } from "../../../../plugins/bedrock/response.ts";
import { ConverseStream } from "../../../../plugins/bedrock/stream.ts";
import { EventStreamParser } from "../../../../src/lib/aws-event-stream.ts";
import type { ChatRequest, Model } from "../../../../src/provider/index.ts";
import { assemble, whole } from "../../../conformance/assemble.ts";
import file from "../../../fixtures/aws/event-streams.json";
import { readEvents } from "../../../support/chat-streams.ts";
import { findShapeFaults } from "../../../support/converse-shapes.ts";
import { errorOf } from "../../../support/error-of.ts";
import { toEvent } from "../../../support/event-stream.ts";
import { drain, fakeCall, piecesOf } from "../../sdk/fake-call.ts";

const rowOf = (upstreamId: string) => bedrock.models.find((row) => row.upstreamId === upstreamId) as Model;
const opus = rowOf("us.anthropic.claude-opus-5");
const haiku = rowOf("anthropic.claude-haiku-4-5-20251001-v1:0");
const nova = rowOf("amazon.nova-pro-v1:0");
const gptOss = rowOf("openai.gpt-oss-120b-1:0");
const plain = { firstOnly: false };
const png = "data:image/png;base64,iVBORw0KGgo=";
const weather = {
  type: "function" as const,
  function: {
    name: "weather",
    description: "Tells it",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const call = {
  id: "call|1/ä",
  type: "function" as const,
  function: { name: "weather", arguments: '{"city":"Paris"}' },
};

function translate(request: Partial<ChatRequest> & Record<string, unknown>, model: Model = opus) {
  const notes: string[] = [];
  const all = { model: model.id, messages: [{ role: "user" as const, content: "Hi" }], ...request } as ChatRequest;
  const { body, reading } = toConverse(all, {
    model,
    fetched: new Map(),
    warn: (sentence) => void notes.push(sentence),
  });
  const sent = JSON.parse(JSON.stringify(body)) as Record<string, never>;
  expect(findShapeFaults(sent, "ConverseRequest")).toEqual([]);
  return { body: sent as unknown as typeof body, reading, notes };
}

test("a stop sequence of white space, which the provider refuses, ends the answer here", async () => {
  const answer = {
    output: { message: { role: "assistant", content: [{ text: "one\ntwo" }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 1, outputTokens: 3, totalTokens: 4 },
  };
  const request = { model: opus.id, messages: [{ role: "user" as const, content: "Hi" }], stop: ["\n", "END"] };
  const { call: asking, asked } = fakeCall<ChatRequest>(request, { json: answer }, opus);
  expect(await bedrock.handlers.chat?.(asking)).toMatchObject({ choices: [{ message: { content: "one" } }] });
  expect(asked[0]?.body.inferenceConfig).toMatchObject({ stopSequences: ["END"] });
});

describe("a request to Converse is one by the model of the service, and has", () => {
  test("system text apart, turns that alternate, and the limit of the output", () => {
    const { body } = translate({
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "Hi" },
        {
          role: "user",
          content: [
            { type: "text", text: " " },
            { type: "text", text: "there" },
          ],
        },
      ],
      max_tokens: 9,
      stop: ["END", " "],
    });
    expect(body).toEqual({
      system: [{ text: "Be brief" }],
      messages: [{ role: "user", content: [{ text: "Hi" }, { text: "there" }] }],
      inferenceConfig: { maxTokens: 9, stopSequences: ["END"] },
    } as unknown as typeof body);
  });

  test("the question at which of several stop sequences Claude ended; no other model says so", () => {
    const asks = (stop: string[], model?: Model) =>
      translate({ stop }, model).body.additionalModelResponseFieldPaths ?? [];
    expect(asks(["END", "STOP"])).toEqual(["/stop_sequence"]);
    expect([asks(["END", " "]), asks(["END", "STOP"], nova)]).toEqual([[], []]);
  });

  test("the most that the model writes where the client names no limit", () => {
    expect(translate({}).body.inferenceConfig.maxTokens).toBe(opus.outputTokensMax as number);
  });

  test("tools, calls with ids of its alphabet, and their results in the next turn", () => {
    const { body } = translate({
      tools: [weather],
      tool_choice: { type: "function", function: { name: "weather" } },
      messages: [
        { role: "user", content: "Weather?" },
        { role: "assistant", content: null, tool_calls: [call, { ...call, id: "call_1__" }] },
        { role: "tool", tool_call_id: call.id, content: "mild" },
        { role: "tool", tool_call_id: "call_1__", content: [{ type: "image_url", image_url: { url: png } }] },
      ] as ChatRequest["messages"],
    });
    const ids = ["call_1___nkpnsu2fk", "call_1__"];
    expect(body.toolConfig?.toolChoice).toEqual({ tool: { name: "weather" } });
    expect(body.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: ids.map((toolUseId) => ({ toolUse: { toolUseId, name: "weather", input: { city: "Paris" } } })),
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: ids[0], content: [{ text: "mild" }] } },
          {
            toolResult: {
              toolUseId: ids[1],
              content: [{ image: { format: "png", source: { bytes: "iVBORw0KGgo=" } } }],
            },
          },
        ],
      },
    ]);
  });

  test("definitions of tools that were called, also where the request has none any more", () => {
    const { body } = translate({
      messages: [
        { role: "user", content: "Weather?" },
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: call.id, content: "mild" },
      ] as ChatRequest["messages"],
    });
    expect(body.toolConfig?.tools).toEqual([
      { toolSpec: { name: "weather", inputSchema: { json: { type: "object" } } } },
    ]);
  });

  test("pictures and PDFs by their bytes, with names that differ", () => {
    const pdf = { type: "file", file: { filename: "a/b?.pdf", file_data: "data:application/pdf;base64,AAAA" } };
    const plain = { type: "file", file: { file_data: "data:application/octet-stream;base64,JVBERi0xLjcK" } };
    const { body: detected } = translate({ messages: [{ role: "user", content: [plain] }] as never });
    expect(detected.messages[0]?.content).toMatchObject([{ document: { format: "pdf" } }]);
    const { body } = translate({
      messages: [{ role: "user", content: [pdf, pdf, { type: "image_url", image_url: { url: png } }] }] as never,
    });
    const names = (body.messages[0]?.content ?? []).map(
      (block) => (block.document as { name?: string } | undefined)?.name,
    );
    expect(names).toEqual(["a-b-pdf 1", "a-b-pdf 2", undefined]);
  });

  test("a conversation that an answer begins with the user's turn, and one that an answer ends without white space", () => {
    const messages = [
      { role: "assistant", content: "Hello" },
      { role: "user", content: "Write" },
      { role: "assistant", content: "Once \n" },
    ];
    expect(translate({ messages } as never).body.messages).toEqual([
      { role: "user", content: [{ text: "Begin." }] },
      { role: "assistant", content: [{ text: "Hello" }] },
      { role: "user", content: [{ text: "Write" }] },
      { role: "assistant", content: [{ text: "Once" }] },
    ]);
  });

  test("files of text as their text", () => {
    const file = { type: "file", file: { filename: "notes.md", file_data: "data:text/markdown;base64,IyBOb3Rlcw==" } };
    const { body } = translate({ messages: [{ role: "user", content: [file] }] as never });
    expect(body.messages[0]?.content).toEqual([{ text: "# Notes" }]);
  });

  test("cache points behind what a client marks, of an hour only where the row has a price for that", () => {
    const marked = [{ type: "text", text: "Long", cache_control: { type: "ephemeral", ttl: "1h" } }];
    const messages = [
      { role: "system", content: marked },
      { role: "user", content: "Hi" },
    ] as never;
    expect(translate({ messages }).body.system).toEqual([
      { text: "Long" },
      { cachePoint: { type: "default", ttl: "1h" } },
    ]);
    const { cacheWrite1hToken: _, ...price } = opus.price ?? {};
    expect(translate({ messages }, { ...opus, price }).body.system?.[1]).toEqual({ cachePoint: { type: "default" } });
    expect(translate({ messages }, nova).body.system).toEqual([{ text: "Long" }]);
  });

  test("signed thoughts that come back, while the model is to think", () => {
    const details = [
      { type: "reasoning.text", text: "Hm", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
      { type: "reasoning.text", text: "unsigned", format: "anthropic-claude-v1", index: 1 },
      { type: "reasoning.encrypted", data: "cmVk", format: "anthropic-claude-v1", index: 2 },
    ];
    const messages = [
      { role: "user", content: "Weather?" },
      { role: "assistant", content: null, tool_calls: [call], reasoning_details: details },
      { role: "tool", tool_call_id: call.id, content: "mild" },
    ] as never;
    const { body } = translate({ messages, tools: [weather], reasoning_effort: "high" });
    expect(body.additionalModelRequestFields).toEqual({ thinking: { type: "adaptive" } });
    expect(body.outputConfig).toEqual({ effort: "high" } as unknown as typeof body.outputConfig);
    expect(body.messages[1]?.content.slice(0, -1)).toEqual([
      { reasoningContent: { reasoningText: { text: "Hm", signature: "c2ln" } } },
      { reasoningContent: { redactedContent: "cmVk" } },
    ]);
    expect(translate({ messages, tools: [weather] }).body.messages[1]?.content).toHaveLength(1);
  });

  test("a budget of thinking for models that have one, and an effort for others", () => {
    const budget = translate({ reasoning_effort: "low", max_tokens: 8000, temperature: 0.3 }, haiku);
    expect(budget.body.additionalModelRequestFields).toEqual({ thinking: { type: "enabled", budget_tokens: 2048 } });
    expect(budget.body.inferenceConfig as object).toEqual({ maxTokens: 8000 });
    expect(translate({ reasoning_effort: "minimal" }, gptOss).body.additionalModelRequestFields).toEqual({
      reasoning_effort: "low",
    });
  });

  test("a schema of the answer, as Converse's own or as a tool that is forced", () => {
    const schema = { type: "object", properties: { city: { type: "string", minLength: 1 } } };
    const closed = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false };
    const format = { type: "json_schema" as const, json_schema: { name: "place", schema } };
    const own = translate({ response_format: format });
    expect(own.body.outputConfig?.textFormat).toEqual({
      type: "json_schema",
      structure: { jsonSchema: { name: "place", schema: JSON.stringify(closed) } },
    });
    const forced = translate({ response_format: format }, nova);
    expect(forced.body.toolConfig?.toolChoice).toEqual({ tool: { name: "json_answer" } });
    expect(forced.reading).toEqual({ firstOnly: true, jsonTool: "json_answer" });
  });

  test("a tool that is strict where the model holds answers to a schema", () => {
    const parameters = { type: "object", properties: { n: { type: "integer", minimum: 1 } } };
    const tools = [{ type: "function" as const, function: { name: "f", parameters, strict: true } }];
    const inputSchema = {
      json: { type: "object", properties: { n: { type: "integer" } }, additionalProperties: false },
    };
    expect(translate({ tools }).body.toolConfig?.tools[0]).toEqual({
      toolSpec: { name: "f", inputSchema, strict: true },
    });
    expect(translate({ tools }, nova).body.toolConfig?.tools[0]).toEqual({
      toolSpec: { name: "f", inputSchema: { json: parameters } },
    });
  });

  test("a tier of service where the row has its price", () => {
    expect(translate({ service_tier: "flex" }, gptOss).body.serviceTier).toEqual({ type: "flex" });
    expect(translate({ service_tier: "flex" }).body.serviceTier).toBeUndefined();
  });

  test("no tool whose name the provider refuses, and no sound", () => {
    const odd = { ...weather, function: { ...weather.function, name: "a.b" } };
    expect(() => translate({ tools: [odd] })).toThrow("a.b cannot name a function of this model");
    const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
    expect(() => translate({ messages: [{ role: "user", content: [sound] }] as never })).toThrow(
      "does not support audio input",
    );
  });
});

const streamOf = (name: keyof typeof file.streams, reading = plain) =>
  new ConverseStream(
    readEvents(piecesOf(Uint8Array.fromBase64(file.streams[name].base64)), new EventStreamParser()),
    reading,
  );

describe("an answer of Converse", () => {
  const usage = {
    inputTokens: 12,
    outputTokens: 7,
    totalTokens: 1219,
    cacheReadInputTokens: 1000,
    cacheWriteInputTokens: 200,
    cacheDetails: [
      { ttl: "5m", inputTokens: 150 },
      { ttl: "1h", inputTokens: 50 },
    ],
  };
  const uniform = {
    prompt_tokens: 1212,
    completion_tokens: 7,
    total_tokens: 1219,
    prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 200, cache_write_1h_tokens: 50 },
  };
  const tools = {
    output: {
      message: {
        role: "assistant",
        content: [
          { reasoningContent: { reasoningText: { text: "The user wants the weather.", signature: "c2lnbmF0dXJl" } } },
          { toolUse: { toolUseId: "tooluse_1", name: "weather", input: { city: "Paris" } } },
          { toolUse: { toolUseId: "tooluse_2", name: "now", input: {} } },
        ],
      },
    },
    stopReason: "tool_use",
    usage: { inputTokens: 40, outputTokens: 31, totalTokens: 71 },
    metrics: { latencyMs: 1 },
    serviceTier: { type: "default" },
  };

  test("has its usage with what was read from the cache and written to it, by how long it is kept", () => {
    expect(readUsage({ usage })).toEqual(uniform);
    expect(readUsage({ usage: { inputTokens: 1 } })).toBeUndefined();
  });

  test("streamed says the same as whole: text", async () => {
    const { items, error } = await drain(streamOf("text"));
    expect(error).toBeUndefined();
    const streamed = assemble(items);
    expect(streamed.choices).toEqual([{ content: "It is mild in Paris. 🌤", finish_reason: "stop", calls: [] }]);
    expect(streamed.usage).toEqual(uniform);
  });

  test("streamed says the same as whole: thoughts with their signature, and calls", async () => {
    expect(findShapeFaults(tools, "ConverseResponse")).toEqual([]);
    const { items } = await drain(streamOf("tools"));
    const streamed = assemble(items);
    expect(streamed).toEqual(whole(fromConverse(structuredClone(tools), plain, 0)));
    expect(streamed.choices[0]).toMatchObject({
      reasoning_details: [{ type: "reasoning.text", text: "The user wants the weather.", signature: "c2lnbmF0dXJl" }],
      finish_reason: "tool_calls",
    });
    expect(items.at(-1)).toMatchObject({ service_tier: "default", usage: { prompt_tokens: 40 } });
  });

  test("has one call where the client wants one at a time", async () => {
    const first = { firstOnly: true };
    const { items } = await drain(streamOf("tools", first));
    expect(assemble(items)).toEqual(whole(fromConverse(structuredClone(tools), first, 0)));
    expect(assemble(items).choices[0]?.calls).toHaveLength(1);
  });

  test("that is thrown out in the middle is the provider's fault, by its kind", async () => {
    const { items, error } = await drain(streamOf("throttled"));
    expect(items.length).toBeGreaterThan(0);
    expect(error).toMatchObject({ kind: "rate_limited", message: expect.stringContaining("Too many tokens") });
  });

  test("that ends before its message does is never taken for whole", async () => {
    const bytes = [
      toEvent("messageStart", { role: "assistant" }),
      toEvent("contentBlockDelta", { delta: { text: "Hi" } }),
    ];
    const { error } = await drain(new ConverseStream(readEvents(piecesOf(...bytes), new EventStreamParser()), plain));
    expect(error).toMatchObject({ kind: "bad_response" });
  });

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
    ["a reason of tomorrow", "a reason of tomorrow"],
    ["malformed_tool_use", "malformed_tool_use"],
  ])("ends with %s as %s, which the kernel judges where it is not known", (stopReason, finish) => {
    const answer = { output: { message: { content: [{ text: "Hi" }] } }, stopReason };
    expect(fromConverse(answer, plain, 0).choices[0]?.finish_reason as string).toBe(finish);
  });

  test("that is none is not passed for one", async () => {
    for (const junk of [null, [], "", { output: {} }, { message: "x" }]) {
      expect(await errorOf((async () => fromConverse(junk, plain, 0))())).toMatchObject({ kind: "bad_response" });
    }
  });
});

describe("a refusal", () => {
  const fault = (status: number, type: string, message: string) =>
    readError({ status, headers: new Headers({ "x-amzn-errortype": type }), body: JSON.stringify({ message }) });

  test.each<[number, string, string, string]>([
    [
      403,
      "AccessDeniedException:http://internal.amazon.com/",
      "User: arn:aws:iam::123456789012:user/x is not authorized",
      "auth",
    ],
    [403, "UnrecognizedClientException", "The security token included in the request is invalid.", "auth"],
    [403, "ExpiredTokenException", "The security token included in the request is expired", "auth"],
    [
      403,
      "AccessDeniedException",
      "You don't have access to the model with the specified model ID.",
      "model_not_found",
    ],
    [400, "ValidationException", "The provided model identifier is invalid.", "model_not_found"],
    [
      400,
      "ValidationException",
      "Invocation of model ID x with on-demand throughput isn’t supported.",
      "model_not_found",
    ],
    [400, "ValidationException", "Input is too long for requested model.", "context_length"],
    [400, "ValidationException", "messages.1: text content blocks must be non-empty", "bad_request"],
    [404, "ResourceNotFoundException", "Could not resolve the foundation model", "model_not_found"],
    [408, "ModelTimeoutException", "Model took too long", "timeout"],
    [424, "ModelErrorException", "The model failed", "bad_response"],
    [429, "ThrottlingException", "Too many requests, please wait before trying again.", "rate_limited"],
    [429, "ModelNotReadyException", "Model is not ready for inference.", "overloaded"],
    [500, "InternalServerException", "Oh", "server_error"],
    [503, "ServiceUnavailableException", "Bedrock is unable to process your request.", "overloaded"],
    [418, "", "", "bad_request"],
  ])("%d %s (%s) is %s", (status, type, message, kind) => {
    expect(fault(status, type, message)).toMatchObject({ kind, status });
  });

  test("never names an account, a role or an ARN", () => {
    const arn = "arn:aws:iam::123456789012:role/gateway";
    for (const [status, type] of [
      [403, "AccessDeniedException"],
      [400, "ValidationException"],
      [404, "ResourceNotFoundException"],
    ] as const) {
      expect(fault(status, type, `User ${arn} in 123456789012 may not`).message).not.toContain("123456789012");
    }
  });
});
