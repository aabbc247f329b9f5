import { beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { Agent, tool as agentTool, OpenAIProvider, Runner } from "@openai/agents";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const models = ["famA-4o-mini", "famC-haiku-4-5", "famB-3-flash"];
const parameters = {
  type: "object" as const,
  properties: { a: { type: "number" as const }, b: { type: "number" as const } },
  required: ["a" as const, "b" as const],
  additionalProperties: false as const,
};
const execute = async (input: unknown) => `the sum ${Object.values(input as { a: number; b: number }).length}`;

describe("the AI SDK with its OpenAI provider, which speaks Responses", () => {
  let sdk: ReturnType<typeof createOpenAI>;
  beforeAll(() => {
    (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
    sdk = createOpenAI({ baseURL: `${shared.gateway.origin}/v1`, apiKey: shared.gateway.key });
  });

  describe.each([{ store: false }, {}])("with the settings %p", (openai) => {
    test.each(models)("takes two steps with a tool on %s, whole and streamed", async (name) => {
      const addNumbers = tool({ description: "Adds", inputSchema: jsonSchema(parameters), execute });
      const options = { model: sdk(name), prompt: "Use addNumbers", tools: { addNumbers }, stopWhen: stepCountIs(3) };
      const asked = { ...options, maxRetries: 0, providerOptions: { openai } };
      for (const steps of [(await generateText(asked)).steps, await streamText(asked).steps]) {
        expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
        expect(steps[0]?.toolCalls.map(({ toolName }) => toolName)).toEqual(["addNumbers"]);
        expect(steps[1]?.text).toContain("the sum");
      }
    });
  });
});

describe("OpenAI's Agents SDK", () => {
  test.each(models)("calls a tool on %s and goes on with its result, whole and streamed", async (model) => {
    const { origin, key } = shared.gateway;
    const modelProvider = new OpenAIProvider({ baseURL: `${origin}/v1`, apiKey: key });
    const addNumbers = agentTool({ name: "add_numbers", description: "Adds", parameters, strict: true, execute });
    const agent = new Agent({ name: "adder", instructions: "Use the tool", model, tools: [addNumbers] });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const whole = await runner.run(agent, "Use add_numbers for 5 and 7");
    expect(whole.finalOutput).toContain("the sum");
    const streamed = await runner.run(agent, "Use add_numbers for 5 and 7", { stream: true });
    await streamed.completed;
    expect(streamed.finalOutput).toContain("the sum");
  });
});
