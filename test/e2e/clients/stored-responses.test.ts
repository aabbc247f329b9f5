import { beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI, { NotFoundError } from "openai";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const model = "famA-4o-mini";
let client: OpenAI;
beforeAll(() => {
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  client = new OpenAI({ baseURL: shared.gateway.baseUrl, apiKey: shared.gateway.key, maxRetries: 0 });
});

describe("the official openai client for Node", () => {
  test.each([false, true])(
    "goes on from a response, reads it, lists its input and deletes it (stream: %p)",
    async (streamed) => {
      const first = await client.responses.create({ model, input: "Say hello to Ada", store: true });
      const next = { model, input: "Say hello to Ben", previous_response_id: first.id };
      const second = streamed
        ? await client.responses.stream(next).finalResponse()
        : await client.responses.create(next);
      expect([second.previous_response_id, second.status]).toEqual([first.id, "completed"]);
      expect((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0)).toBe(true);
      const read = await client.responses.retrieve(second.id);
      expect([read.output_text, read.id]).toEqual([second.output_text, second.id]);
      const items: unknown[] = [];
      for await (const item of client.responses.inputItems.list(second.id, { limit: 1 })) items.push(item);
      expect(items).toMatchObject([{ type: "message", role: "user", content: [{ text: "Say hello to Ben" }] }]);
      await client.responses.delete(second.id);
      const error = await client.responses.retrieve(second.id).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(NotFoundError);
    },
  );
});

describe("the Vercel AI SDK with its OpenAI provider on default settings", () => {
  const add = tool({
    description: "Adds two numbers",
    inputSchema: jsonSchema<{ a: number; b: number }>({
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    }),
    execute: async ({ a, b }) => `the sum ${a + b}`,
  });

  test.each([false, true])(
    "makes two tool steps, and goes on from what it refers to (stream: %p)",
    async (streamed) => {
      const references: number[] = [];
      const sdk = createOpenAI({
        baseURL: shared.gateway.baseUrl,
        apiKey: shared.gateway.key,
        fetch: Object.assign(
          (input: string | URL | Request, init?: RequestInit) => {
            const body = JSON.parse(String(init?.body)) as { input: { type?: string }[] };
            references.push(body.input.filter(({ type }) => type === "item_reference").length);
            return fetch(input, init);
          },
          { preconnect: () => undefined },
        ),
      });
      const options = { model: sdk(model), tools: { add }, maxRetries: 0, stopWhen: stepCountIs(3) };
      // The sandbox answers in words once a tool has: two steps need to be asked for.
      const prepareStep = ({ stepNumber }: { stepNumber: number }) => ({
        toolChoice: stepNumber < 2 ? ("required" as const) : ("none" as const),
      });
      const first = streamed
        ? streamText({ ...options, prompt: "Use add", prepareStep })
        : await generateText({ ...options, prompt: "Use add", prepareStep });
      const steps = await first.steps;
      expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 1, 0]);
      const said = steps.flatMap(({ response }) => response.messages);
      const messages = [
        { role: "user" as const, content: "Use add" },
        ...said,
        { role: "user" as const, content: "Say hello to Ada" },
      ];
      const second = await generateText({ ...options, messages, toolChoice: "none" });
      expect(second.text).toContain("Ada");
      expect(references).toEqual([0, 0, 0, 1]);
    },
  );
});
