import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import type { ChatRequest } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { completionOf } from "../../kernel/streams.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { goodKey, httpOf } from "../support.ts";

const questions = [
  { type: "predicate" as const, name: "complaint", instructions: "Is this a complaint?" },
  {
    type: "choice" as const,
    instructions: "What is it about?",
    choices: [{ value: "delivery" }, { value: true, description: "Anything else" }, { value: "true" }],
  },
  {
    type: "score" as const,
    name: "anger",
    instructions: "How angry?",
    levels: [{ label: "calm" }, { label: "furious" }],
  },
];
const numbers = { q1: 0.9, q2: { c1: 0.6, c2: 0.2, c3: 0 }, q3: { l1: 0.25, l2: 0.75 } };

/** A gateway whose model answers this text. */
function gateway(answer: string | null = JSON.stringify(numbers), refusal?: string) {
  const requests: ChatRequest[] = [];
  const chat = async ({ request }: { request: ChatRequest }) => {
    requests.push(request);
    const completion = completionOf(answer ?? "");
    if (refusal !== undefined) Object.assign(completion.choices[0]?.message ?? {}, { content: null, refusal });
    return completion;
  };
  return { ...httpOf([createPlugin({ chat }, { models: [{ ...chatModel, features: ["json_schema"] }] })]), requests };
}

describe("POST /decisions", () => {
  test("answers OpenAI's client with a probability for each option, which sum to 1", async () => {
    const { app } = gateway();
    const client = new OpenAI({
      apiKey: goodKey,
      baseURL: "http://gateway.example/v1",
      fetch: (url, init) => app.handle(new Request(url as string, init as RequestInit)),
    });
    const decision = await client.decisions.create({ model: "chat-1", input: "My parcel is late!", questions });
    expect(decision.model).toBe("chat-1");
    expect(decision.answers[0]).toEqual({ type: "predicate", name: "complaint", probability: 0.9 });
    expect(decision.answers[1]).toMatchObject({ type: "choice", name: null, choice: "delivery" });
    const { probabilities } = decision.answers[1] as { probabilities: { value: unknown; probability: number }[] };
    expect(probabilities.map(({ value }) => value)).toEqual(["delivery", true, "true"]);
    expect(probabilities.map(({ probability }) => probability.toFixed(3))).toEqual(["0.750", "0.250", "0.000"]);
    expect(decision.answers[2]).toEqual({
      type: "score",
      name: "anger",
      score: 0.75,
      confidence: 0.75,
      probabilities: [
        { value: 0, label: "calm", probability: 0.25 },
        { value: 1, label: "furious", probability: 0.75 },
      ],
    });
    expect(decision.usage.total_tokens).toBe(decision.usage.input_tokens + decision.usage.output_tokens);
    expect(decision.usage.output_tokens).toBeGreaterThan(0);
  });

  test("asks the model for these numbers alone, with the conversation before the questions", async () => {
    const { post, requests } = gateway();
    const input = [
      { role: "developer", content: "You sell shoes." },
      {
        role: "user",
        content: [
          { type: "input_text", text: "Where is it?" },
          { type: "input_json", data: { order: 7 } },
        ],
      },
      { type: "function_call", call_id: "c1", name: "find", arguments: '{"order":7}' },
      { type: "function_call_output", call_id: "c1", output: "lost" },
      { role: "assistant", content: [{ type: "output_text", text: "It is lost." }] },
    ];
    expect((await post("decisions", { model: "chat-1", input, questions })).status).toBe(200);
    const [{ messages, response_format: format }] = requests as [ChatRequest];
    expect(messages.map(({ role }) => role)).toEqual([
      "system",
      "system",
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    expect(JSON.stringify(messages[2])).toContain('{\\"order\\":7}');
    expect(messages[3]?.content).toBe('Tool call c1: find {"order":7}');
    expect(JSON.stringify(messages[4])).toContain("lost");
    const { json_schema: named } = format as { json_schema: { schema: Record<string, unknown>; strict: boolean } };
    expect(named.strict).toBe(true);
    expect(named.schema).toMatchObject({
      required: ["q1", "q2", "q3"],
      properties: { q1: { type: "number" }, q2: { required: ["c1", "c2", "c3"] }, q3: { required: ["l1", "l2"] } },
    });
  });

  test("says of each question that the model refused, where it did", async () => {
    const { post } = gateway(null, "I will not judge this.");
    const response = await post("decisions", { model: "chat-1", input: "Hi", questions });
    const { answers } = (await response.json()) as { answers: object[] };
    expect(answers).toEqual(["complaint", null, "anger"].map((name) => ({ type: "refusal", name })));
  });

  test.each([
    ["has no number for a question", JSON.stringify({ ...numbers, q1: undefined })],
    ["has a number that is no probability", JSON.stringify({ ...numbers, q1: 90 })],
    ["gives no option anything", JSON.stringify({ ...numbers, q3: { l1: 0, l2: 0 } })],
    ["is no JSON", "About ninety percent"],
  ])("is the model's failure where its answer %s, and is charged all the same", async (_, answer) => {
    const { post, ledger } = gateway(answer);
    const response = await post("decisions", { model: "chat-1", input: "Hi", questions });
    await expectError(response, { status: 500, code: "upstream_error" });
    expect(ledger.settlement.meters.outputToken).toBeGreaterThan(0);
  });

  test.each([
    ["two choices of one value", { choices: [{ value: "a" }, { value: "a" }] }, "questions[0].choices[1].value"],
    ["one choice", { choices: [{ value: "a" }] }, "questions[0].choices"],
    ["a stream", { stream: true }, "stream"],
  ])("with %s is refused", async (_, { stream, ...change }: { stream?: boolean; choices?: object[] }, param) => {
    const { post } = gateway();
    const question = change.choices ? { type: "choice", instructions: "Which?", ...change } : questions[0];
    const body = { model: "chat-1", input: "Hi", questions: [question], ...(stream && { stream }) };
    const response = await post("decisions", body);
    const { error } = (await response.clone().json()) as { error: { param: string } };
    expect([response.status, error.param]).toEqual([400, expect.stringContaining(param)]);
  });
});
