import { beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError,
  embed,
  embedMany,
  generateImage,
  experimental_generateSpeech as generateSpeech,
  generateText,
  jsonSchema,
  Output,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const sdk = (apiKey = shared.gateway.key) =>
  createOpenAICompatible({
    name: "modelgate",
    baseURL: shared.gateway.baseUrl,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });

let model: ReturnType<ReturnType<typeof sdk>["chatModel"]>;
beforeAll(() => {
  // The SDK prints what it thinks of features it cannot know of here.
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  model = sdk().chatModel("famA-4o-mini");
});

const addNumbers = tool({
  description: "Adds two numbers",
  inputSchema: jsonSchema<{ a: number; b: number }>({
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  }),
  execute: async ({ a, b }) => `the sum ${a + b}`,
});

describe("the Vercel AI SDK", () => {
  test("generates text, with usage", async () => {
    const { text, finishReason, usage } = await generateText({ model, prompt: "Say hello to Ada", maxRetries: 0 });
    expect(text).toContain("Ada");
    expect([finishReason, usage.totalTokens !== undefined && usage.totalTokens > 0]).toEqual(["stop", true]);
  });

  test("streams text, with usage", async () => {
    const result = streamText({ model, prompt: "Say hello to Ada", maxRetries: 0 });
    let text = "";
    for await (const piece of result.textStream) text += piece;
    expect(text).toContain("Ada");
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
  });

  test.each([false, true])("calls a tool and goes on with its result (stream: %p)", async (streamed) => {
    const options = { model, prompt: "Use addNumbers", tools: { addNumbers }, stopWhen: stepCountIs(2), maxRetries: 0 };
    const steps = streamed ? await streamText(options).steps : (await generateText(options)).steps;
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]?.toolCalls.map(({ toolName }) => toolName)).toEqual(["addNumbers"]);
    expect(steps[1]?.text).toContain("the sum");
  });

  test("fills a schema", async () => {
    const schema = jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    });
    const { output } = await generateText({ model, prompt: "Name a city", output: Output.object({ schema }) });
    expect(Object.keys(output)).toEqual(["city"]);
  });

  test("sends an image", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const content = [
      { type: "text" as const, text: "What is it?" },
      { type: "file" as const, data: png, mediaType: "image/png" },
    ];
    const { text } = await generateText({ model, messages: [{ role: "user", content }] });
    expect(text).toContain("attachment");
  });

  test("embeds several values", async () => {
    const embedder = sdk().embeddingModel("text-embedding-3-small");
    const { embeddings, usage } = await embedMany({ model: embedder, values: ["one", "two"] });
    expect(embeddings.map((vector) => vector.length)).toEqual([1536, 1536]);
    expect(usage.tokens).toBeGreaterThan(0);
  });

  test("draws an image", async () => {
    const painter = sdk().imageModel("famB-3-pro-image-preview");
    const { image } = await generateImage({ model: painter, prompt: "A kite" });
    expect(Buffer.from(image.uint8Array).toString("latin1", 1, 4)).toBe("PNG");
  });

  const failures: [string, number, () => Promise<unknown>][] = [
    ["a wrong value", 400, () => generateText({ model, prompt: "a", temperature: 3, maxRetries: 0 })],
    [
      "a wrong key",
      401,
      () => generateText({ model: sdk("sk-wrong").chatModel("famA-4o"), prompt: "a", maxRetries: 0 }),
    ],
    ["a limit", 429, () => generateText({ model, prompt: "[[fault:status=429]]", maxRetries: 0 })],
    ["a failing provider", 500, () => generateText({ model, prompt: "[[fault:status=503]]", maxRetries: 0 })],
  ];
  test.each(failures)("tells %s by its status %d, and whether a retry helps", async (_, status, ask) => {
    const error = await ask().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(APICallError.isInstance(error)).toBe(true);
    const { statusCode, isRetryable } = error as APICallError;
    expect([statusCode, isRetryable]).toEqual([status, status >= 429]);
  });

  test("tells of a stream that breaks", async () => {
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const result = streamText({ model, prompt: "one two three [[fault:error=3]]", maxRetries: 0, onError });
    let text = "";
    for await (const piece of result.textStream) text += piece;
    expect(text).not.toBe("");
    expect(errors.length).toBe(1);
  });
});

describe("the AI SDK's provider for OpenAI", () => {
  const openai = () => createOpenAI({ baseURL: shared.gateway.baseUrl, apiKey: shared.gateway.key });
  const [prompt, name] = ["Use add_numbers for 5 and 7", "famA-4o-mini"];

  test("generates in two steps with tools, by its default protocol and by chat", async () => {
    for (const model of [openai()(name), openai().chat(name)]) {
      const { text, steps } = await generateText({
        model,
        prompt,
        tools: { add_numbers: addNumbers },
        stopWhen: stepCountIs(3),
      });
      expect([steps.length, text]).toEqual([2, expect.stringContaining("the sum")]);
    }
  });

  test("streams and completes", async () => {
    const ask = "Say hello to Ada";
    for (const model of [openai()(name), openai().completion(name)]) {
      let text = "";
      for await (const piece of streamText({ model, prompt: ask }).textStream) text += piece;
      expect(text).toContain("Ada");
    }
  });

  test("embeds", async () => {
    const { embedding } = await embed({ model: openai().embedding("text-embedding-3-small"), value: "one" });
    expect(embedding.length).toBe(1536);
  });

  test("speaks with its defaults, which are a voice of OpenAI's and a format that the model does not make", async () => {
    const model = openai().speech("famT/v1-english");
    const { audio } = await generateSpeech({ model, text: "Hello" });
    expect(Buffer.from(audio.uint8Array).toString("latin1", 0, 4)).toBe("RIFF");
  });
});
