import { describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { faultsOf, schemaMissing } from "../../support/openai-schema.ts";
import { saidByChunks, type WireChunk, type WireCompletion } from "../../support/said.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { parseEvents } from "../../support/sse.ts";

const shared = useSandboxGateway();
const messages = [{ role: "user", content: "Hello" }];
const base = { model: "famA-4o-mini", messages };
const ask = (fields: Record<string, unknown>) => shared.gateway.post("/chat/completions", { ...base, ...fields });

const tool = { type: "function", function: { name: "add", parameters: { type: "object", properties: {} } } };
const toolTurn = [
  ...messages,
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "add", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "c1", content: "3" },
];
const parts = [
  { type: "text", text: "What is it?" },
  { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
];

const taken: [string, Record<string, unknown>][] = [
  ["temperature 0", { temperature: 0 }],
  ["temperature 2", { temperature: 2 }],
  ["top_p 0", { top_p: 0 }],
  ["top_p 1", { top_p: 1 }],
  ["frequency_penalty -2", { frequency_penalty: -2 }],
  ["frequency_penalty 2", { frequency_penalty: 2 }],
  ["presence_penalty -2", { presence_penalty: -2 }],
  ["presence_penalty 2", { presence_penalty: 2 }],
  ["stop as one string", { stop: "END" }],
  ["4 stop sequences", { stop: ["a", "b", "c", "d"] }],
  ["n 1", { n: 1 }],
  ["max_tokens 1", { max_tokens: 1 }],
  ["max_completion_tokens 1", { max_completion_tokens: 1 }],
  ["stream false", { stream: false }],
  ["seed 0", { seed: 0 }],
  ["a negative seed", { seed: -7 }],
  ["tools", { tools: [tool] }],
  ["tool_choice auto", { tools: [tool], tool_choice: "auto" }],
  ["tool_choice none", { tools: [tool], tool_choice: "none" }],
  ["tool_choice required", { tools: [tool], tool_choice: "required" }],
  ["tool_choice of one tool", { tools: [tool], tool_choice: { type: "function", function: { name: "add" } } }],
  ["JSON mode", { response_format: { type: "json_object" } }],
  ["response_format text", { response_format: { type: "text" } }],
  [
    "a JSON schema",
    { response_format: { type: "json_schema", json_schema: { name: "s", schema: { type: "object" } } } },
  ],
  [
    "system, user and assistant",
    { messages: [{ role: "system", content: "a" }, ...messages, { role: "assistant", content: "b" }, ...messages] },
  ],
  ["a developer message", { messages: [{ role: "developer", content: "a" }, ...messages] }],
  ["a tool's result", { messages: toolTurn, tools: [tool] }],
  ["content in parts", { messages: [{ role: "user", content: parts }] }],
  ["fields that are null", { temperature: null, stop: null, tools: null, n: null, stream: null, max_tokens: null }],
  ["a field nobody knows", { frobnicate: true }],
  ["a name that clients know", { model: "gpt-4o-mini" }],
];

const refused: [string, Record<string, unknown>, string][] = [
  ["temperature 2.01", { temperature: 2.01 }, "temperature"],
  ["temperature -0.01", { temperature: -0.01 }, "temperature"],
  ["temperature as text", { temperature: "1" }, "temperature"],
  ["top_p 1.01", { top_p: 1.01 }, "top_p"],
  ["top_p -0.01", { top_p: -0.01 }, "top_p"],
  ["frequency_penalty -2.01", { frequency_penalty: -2.01 }, "frequency_penalty"],
  ["frequency_penalty 2.01", { frequency_penalty: 2.01 }, "frequency_penalty"],
  ["presence_penalty -2.01", { presence_penalty: -2.01 }, "presence_penalty"],
  ["presence_penalty 2.01", { presence_penalty: 2.01 }, "presence_penalty"],
  ["5 stop sequences", { stop: ["a", "b", "c", "d", "e"] }, "stop"],
  ["a number as stop", { stop: 5 }, "stop"],
  ["n 0", { n: 0 }, "n"],
  ["n 1.5", { n: 1.5 }, "n"],
  ["n 129", { n: 129 }, "n"],
  ["max_tokens 0", { max_tokens: 0 }, "max_tokens"],
  ["max_tokens 1.5", { max_tokens: 1.5 }, "max_tokens"],
  ["max_tokens beyond the context", { max_tokens: 128_001 }, "max_tokens"],
  ["stream as text", { stream: "yes" }, "stream"],
  ["seed 1.5", { seed: 1.5 }, "seed"],
  ["tools that are no array", { tools: tool }, "tools"],
  ["a tool without a function", { tools: [{ type: "function" }] }, "tools[0].function"],
  ["tool_choice maybe", { tools: [tool], tool_choice: "maybe" }, "tool_choice"],
  ["an unknown response_format", { response_format: { type: "xml" } }, "response_format.type"],
  ["no messages", { messages: undefined }, "messages"],
  ["an empty conversation", { messages: [] }, "messages"],
  ["an unknown role", { messages: [{ role: "robot", content: "a" }] }, "messages[0].role"],
  ["content that is a number", { messages: [{ role: "user", content: 5 }] }, "messages[0].content"],
  ["no model", { model: undefined }, "model"],
  ["a model that is a number", { model: 5 }, "model"],
];

describe("POST /chat/completions", () => {
  test.each(taken)("takes %s", async (_, fields) => {
    const response = await ask(fields);
    const answer = (await response.json()) as WireCompletion;
    expect({ status: response.status, answer: response.status === 200 ? undefined : answer }).toEqual({
      status: 200,
      answer: undefined,
    });
    if (schemaMissing === undefined) expect(faultsOf("CreateChatCompletionResponse", answer)).toEqual([]);
    expect(answer.usage?.total_tokens).toBe(
      (answer.usage?.prompt_tokens as number) + (answer.usage?.completion_tokens as number),
    );
  });

  test.each(refused)("refuses %s, naming the field", async (_, fields, param) => {
    const before = shared.ledger.counts();
    await expectError(await ask(fields), { status: 400, param });
    expect(shared.ledger.counts()).toEqual(before);
  });

  test("n makes that many choices, whole and streamed", async () => {
    const whole = (await (await ask({ n: 3 })).json()) as WireCompletion;
    expect(whole.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    const { events, done } = parseEvents<WireChunk>(await (await ask({ n: 3, stream: true })).text());
    expect(done).toBe(true);
    expect(saidByChunks(events).choices.map(({ finish, text }) => [finish, text !== ""])).toEqual([
      ["stop", true],
      ["stop", true],
      ["stop", true],
    ]);
  });

  test("a stream is data lines with blank lines between, ended by [DONE]", async () => {
    const response = await ask({ stream: true });
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    const text = await response.text();
    expect(
      text
        .trimEnd()
        .split("\n\n")
        .every((event) => event.startsWith("data: ") && !event.includes("\n")),
    ).toBe(true);
    expect(text).toEndWith("data: [DONE]\n\n");
    const { events } = parseEvents<WireChunk & { id: string }>(text);
    expect(events[0]?.id).toStartWith("chatcmpl-");
    expect(saidByChunks(events).choices[0]?.text).not.toBe("");
  });

  test("an answer says what the specification lists", async () => {
    const answer = (await (await ask({})).json()) as WireCompletion & Record<string, unknown>;
    expect(answer).toMatchObject({ object: "chat.completion", model: "famA-4o-mini" });
    expect(answer.id).toStartWith("chatcmpl-");
    expect(Math.abs(Number(answer.created) - Date.now() / 1000)).toBeLessThan(60);
    expect(answer.choices[0]).toMatchObject({ index: 0, message: { role: "assistant" }, finish_reason: "stop" });
  });
});
