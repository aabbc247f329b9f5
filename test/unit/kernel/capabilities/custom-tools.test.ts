import { describe, expect, test } from "bun:test";
import type { Call, ChatChunk, ChatCompletion, ChatRequest } from "../../../../src/provider/index.ts";
import { completionOf, FakeStream, Sink } from "../streams.ts";
import { callOf, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const tools = [{ type: "custom", custom: { name: "apply_patch" } }];
const called = { id: "call_Qm4vT9xZ", type: "custom", custom: { name: "apply_patch", input: "*** Begin" } };
const messages = [
  { role: "user", content: "Patch it" },
  { role: "assistant", content: null, tool_calls: [{ ...called, id: "call_1" }] },
  { role: "tool", tool_call_id: "call_1", content: "done" },
];

/** A call of a model whose plugin takes custom tools, or does not. */
function ask(request: object, answer: unknown, takes = true) {
  const asked: ChatRequest[] = [];
  const chat = async ({ request }: Call<ChatRequest>) => {
    asked.push(request);
    return answer as ChatCompletion;
  };
  const bench = createBench([createPlugin({ chat }, takes ? { takes: ["customTools"] } : {})]);
  const sink = new Sink<ChatChunk>();
  const isStream = "stream" in request;
  const whole = { model: "chat-1", messages: [messages[0]], ...request } as unknown as ChatRequest;
  const call = callOf("chat", whole, isStream ? { sink } : {});
  return { ...bench, asked, sink, done: runCall(bench.kernel, call) };
}

/** A completion that calls the tool. */
function calling(): ChatCompletion {
  const completion = completionOf(null);
  Object.assign(completion.choices[0]?.message ?? {}, { tool_calls: [structuredClone(called)] });
  return completion;
}

describe("custom tools", () => {
  test("and their calls go as they are to a provider that takes them, and come back", async () => {
    const { done, asked, ledger } = ask({ tools, messages, tool_choice: "auto" }, calling());
    const answer = await done;
    expect(asked[0]).toMatchObject({ tools, messages });
    const [choice] = answer?.choices ?? [];
    expect([choice?.message.tool_calls as unknown[], choice?.finish_reason]).toEqual([[called], "tool_calls"]);
    expect(ledger.settlement.outcome).toBe("settled");
  });

  test("are streamed piece by piece, and counted", async () => {
    const piece = (call: object, finish_reason: string | null = null) =>
      ({ choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason }] }) as unknown as ChatChunk;
    const { custom: _, ...head } = called;
    const pieces = [
      piece({ index: 0, ...head, custom: { name: "apply_patch", input: "" } }),
      piece({ index: 0, custom: { input: "*** " } }),
      piece({ index: 0, custom: { input: "Begin" } }),
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } as ChatChunk,
    ];
    const { done, sink, ledger } = ask({ tools, stream: true }, new FakeStream<ChatChunk>(...pieces));
    await done;
    const calls = sink.pieces.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
    expect(calls as unknown[]).toEqual([
      { index: 0, ...head, custom: { name: "apply_patch", input: "" } },
      { index: 0, custom: { input: "*** " } },
      { index: 0, custom: { input: "Begin" } },
    ]);
    expect(sink.pieces.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
    expect(ledger.settlement.usageSource).toBe("estimated");
    expect(ledger.settlement.meters.outputToken).toBeGreaterThan(3);
  });

  test.each<[string, object]>([
    ["tools[0].type", { tools }],
    ["messages[1].tool_calls[0].type", { messages }],
    ["tool_choice.type", { tool_choice: { type: "custom", custom: { name: "apply_patch" } } }],
  ])("are refused at %s by a model that takes only functions", async (param, request) => {
    const { done, asked, ledger } = ask(request, calling(), false);
    const error = await rejectionOf(done);
    expect(error).toMatchObject({ code: "invalid_request", param });
    expect(error.message).toContain("function tools");
    expect([asked, ledger.claims]).toEqual([[], []]);
  });
});
