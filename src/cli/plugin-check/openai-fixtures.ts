import type { Fixture } from "./fixture.ts";

const question = { messages: [{ role: "user", content: "What is the weather in Paris?" }] };
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const head = { id: "simulated-1", created: 1_780_000_000, model: "simulated" };
const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 };
const city = { name: "weather", arguments: { city: "Paris" } };

const completion = (message: object, finish_reason: string) => ({
  ...head,
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
  usage,
});

function stream(deltas: object[], finish_reason: string): string {
  const choices = [...deltas.map((delta) => ({ delta, finish_reason: null })), { delta: {}, finish_reason }];
  const chunks = choices.map((choice) => ({
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, ...choice }],
  }));
  const last = { ...head, object: "chat.completion.chunk", choices: [], usage };
  return `${[...chunks, last].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}

const toolCall = (index?: number) => ({
  ...(index !== undefined && { index }),
  id: "call_1",
  type: "function",
  function: { name: city.name, arguments: JSON.stringify(city.arguments) },
});

/** Answers of a provider of OpenAI's dialect, for plugins without fixtures of their own. */
export const openaiFixtures: readonly Fixture[] = [
  {
    about: "a whole answer in OpenAI's dialect",
    request: question,
    reply: { json: completion({ content: "It is mild in Paris." }, "stop") },
    expect: { content: "It is mild in Paris.", finishReason: "stop", promptTokens: 12, completionTokens: 5 },
  },
  {
    about: "a streamed answer in OpenAI's dialect",
    request: { ...question, stream: true, stream_options: { include_usage: true } },
    reply: {
      text: stream(
        [{ role: "assistant", content: "" }, { content: "It is mild " }, { content: "in Paris. 🌤" }],
        "stop",
      ),
    },
    expect: { content: "It is mild in Paris. 🌤", finishReason: "stop", promptTokens: 12, completionTokens: 5 },
  },
  {
    about: "a tool call in OpenAI's dialect",
    request: { ...question, tools: [weather] },
    reply: { json: completion({ content: null, tool_calls: [toolCall()] }, "tool_calls") },
    expect: { toolCalls: [city], finishReason: "tool_calls" },
  },
  {
    about: "a streamed tool call in OpenAI's dialect",
    request: { ...question, tools: [weather], stream: true },
    reply: { text: stream([{ role: "assistant", content: null, tool_calls: [toolCall(0)] }], "tool_calls") },
    expect: { toolCalls: [city], finishReason: "tool_calls" },
  },
  {
    about: "vectors in OpenAI's dialect",
    capability: "embeddings",
    request: { input: "Paris" },
    reply: {
      json: {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: [0.1, -0.2, 0.3] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      },
    },
    expect: { promptTokens: 1 },
  },
];
