/** Answers of providers that grow in one direction each. */

/** Something of which an answer has more and more. */
export interface GrowingAnswer {
  readonly name: string;
  readonly path: string;
  readonly model: string;
  readonly request: object | (() => FormData);
  /** Absent: JSON. */
  readonly mediaType?: string;
  body(size: number): string;
}

const list = <Item>(size: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: size }, (_, index) => make(index));
const events = (data: readonly object[], end = "data: [DONE]\n\n") =>
  data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") + end;
const typed = (data: readonly { type: string }[]) =>
  data.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("");

const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
const args = (index: number) => `{"a":${10_000 + index}}`;
const callOf = (index: number) => ({
  index,
  id: `a${index}`,
  type: "function",
  function: { name: "f", arguments: "" },
});
const chunkOf = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const ended = [chunkOf({}, "stop"), { choices: [], usage }];

const chunks: Record<string, (size: number) => object[]> = {
  "pieces of text": (size) => [...list(size, () => chunkOf({ content: "word " })), ...ended],
  "pieces of reasoning": (size) => [...list(size, () => chunkOf({ reasoning_content: "word " })), ...ended],
  "events of one call": (size) => [
    chunkOf({ tool_calls: [callOf(0)] }),
    ...list(size, () => chunkOf({ tool_calls: [{ index: 0, function: { arguments: " " } }] })),
    ...ended,
  ],
  "calls, each in an event": (size) => [...list(size, (index) => chunkOf({ tool_calls: [callOf(index)] })), ...ended],
  "calls in one event": (size) => [chunkOf({ tool_calls: list(size, callOf) }), ...ended],
  "calls without an index or an id": (size) => [
    ...list(size, (index) => chunkOf({ tool_calls: [{ function: { name: "f", arguments: args(index) } }] })),
    ...ended,
  ],
  "calls without a name": (size) => [
    ...list(size, (index) => chunkOf({ tool_calls: [{ index, function: { arguments: args(index) } }] })),
    ...ended,
  ],
  "calls that come once more at the end": (size) => {
    const calls = list(size, (index) => ({ id: `a${index}`, function: { name: "f", arguments: args(index) } }));
    return [...calls.map((call) => chunkOf({ tool_calls: [call] })), chunkOf({ tool_calls: calls }, "stop"), ...ended];
  },
  "reasons to finish": (size) => [
    ...list(1000, (index) => chunkOf({ tool_calls: [callOf(index)] })),
    ...list(size, () => chunkOf({}, "stop")),
  ],
  "reports of usage": (size) => [
    ...list(size, () => ({ choices: [{ index: 0, delta: { content: "a" } }], usage })),
    ...ended,
  ],
  annotations: (size) => [
    ...list(size, () =>
      chunkOf({ annotations: [{ type: "url_citation", url_citation: { url: "https://a.example", title: "A" } }] }),
    ),
    ...ended,
  ],
};
const streamed = { mediaType: "text/event-stream" };

const blocks: Record<string, (index: number) => object> = {
  "blocks of text": () => ({ type: "text", text: "word " }),
  "blocks of thinking": () => ({ type: "thinking", thinking: "word ", signature: "s" }),
  "blocks of calls": (index) => ({ type: "tool_use", id: `a${index}`, name: "f", input: { a: index } }),
};
const messageOf = (content: object[]) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  content,
  stop_reason: "end_turn",
  usage: { input_tokens: 5, output_tokens: 5 },
});
const blockEvents = (content: object[]) =>
  typed([
    { type: "message_start", ...{ message: { ...messageOf([]), stop_reason: null } } },
    ...content.flatMap((block, index) => {
      const { input, ...start } = block as { input?: object };
      const delta =
        input === undefined
          ? { type: "text_delta", text: "" }
          : { type: "input_json_delta", partial_json: JSON.stringify(input) };
      return [
        { type: "content_block_start", index, content_block: input === undefined ? block : { ...start, input: {} } },
        { type: "content_block_delta", index, delta },
        { type: "content_block_stop", index },
      ];
    }),
    { type: "message_delta", ...{ delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } } },
    { type: "message_stop" },
  ]);

const items: Record<string, (index: number) => object> = {
  "items of text": (index) => ({
    type: "message",
    id: `m${index}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "word ", annotations: [] }],
  }),
  "items of calls": (index) => ({
    type: "function_call",
    id: `f${index}`,
    call_id: `a${index}`,
    name: "f",
    arguments: args(index),
    status: "completed",
  }),
  "items of reasoning": (index) => ({
    type: "reasoning",
    id: `r${index}`,
    summary: [{ type: "summary_text", text: "word " }],
  }),
};
const responseOf = (output: object[]) => ({
  id: "resp_1",
  object: "response",
  status: "completed",
  model: "m",
  output,
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
});
const itemEvents = (output: object[]) =>
  typed([
    { type: "response.created", ...{ response: { ...responseOf([]), status: "in_progress", usage: null } } },
    ...output.flatMap((item, index) => [
      { type: "response.output_item.added", output_index: index, item },
      ...("arguments" in item
        ? [
            {
              type: "response.function_call_arguments.delta",
              ...{ item_id: `f${index}`, output_index: index, delta: args(index) },
            },
          ]
        : []),
      { type: "response.output_item.done", output_index: index, item },
    ]),
    { type: "response.completed", ...{ response: responseOf(output) } },
  ]);

const parts: Record<string, (index: number) => object> = {
  "parts of text": () => ({ text: "word " }),
  "parts of thoughts": () => ({ text: "word ", thought: true }),
  "parts of calls": (index) => ({ functionCall: { name: "f", args: { a: index } } }),
};
const contentOf = (content: object[]) => ({
  candidates: [{ content: { role: "model", parts: content }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
});

const user = { role: "user", content: "Hello" };
const f = { name: "f", description: "F" };
const clients = [
  {
    path: "/chat/completions",
    request: { messages: [user], tools: [{ type: "function", function: { ...f, parameters: { type: "object" } } }] },
  },
  {
    path: "/messages",
    request: { max_tokens: 10, messages: [user], tools: [{ ...f, input_schema: { type: "object" } }] },
  },
  {
    path: "/responses",
    request: { input: "Hello", tools: [{ ...f, type: "function", parameters: { type: "object" } }] },
  },
];
function audio(): FormData {
  const form = new FormData();
  form.set("file", new File([new Uint8Array(1000)], "a.mp3"));
  form.set("response_format", "verbose_json");
  return form;
}
const asStream = (request: object) => ({ ...request, stream: true });
const rows = <Value>(table: Record<string, Value>) => Object.entries(table);

const whole = clients.flatMap(({ path, request }): GrowingAnswer[] => [
  {
    name: "calls of a completion",
    path,
    model: "qwen/qwen3.8-27b",
    request,
    body: (size) => {
      const calls = list(size, (index) => ({ ...callOf(index), function: { name: "f", arguments: args(index) } }));
      const message = { role: "assistant", content: null, tool_calls: calls };
      return JSON.stringify({ choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage });
    },
  },
  ...rows(blocks).map(([name, make]) => ({
    name: `${name} of a message`,
    path,
    model: "claude-sonnet-5",
    request,
    body: (size: number) => JSON.stringify(messageOf(list(size, make))),
  })),
  ...rows(items).map(([name, make]) => ({
    name: `${name} of a response`,
    path,
    model: "gpt-5.5-pro",
    request,
    body: (size: number) => JSON.stringify(responseOf(list(size, make))),
  })),
  ...rows(parts).map(([name, make]) => ({
    name: `${name} of a content`,
    path,
    model: "gemini-3.5-flash",
    request,
    body: (size: number) => JSON.stringify(contentOf(list(size, make))),
  })),
]);

const streams = clients.flatMap(({ path, request }): GrowingAnswer[] => [
  ...rows(chunks).map(([name, make]) => ({
    name,
    path,
    model: "qwen/qwen3.8-27b",
    request: asStream(request),
    ...streamed,
    body: (size: number) => events(make(size)),
  })),
  ...rows(blocks).map(([name, make]) => ({
    name: `${name} of a stream`,
    path,
    model: "claude-sonnet-5",
    request: asStream(request),
    ...streamed,
    body: (size: number) => blockEvents(list(size, make)),
  })),
  ...rows(items).map(([name, make]) => ({
    name: `${name} of a stream`,
    path,
    model: "gpt-5.5-pro",
    request: asStream(request),
    ...streamed,
    body: (size: number) => itemEvents(list(size, make)),
  })),
  ...rows(parts).flatMap(([name, make]) => [
    {
      name: `${name} in one event`,
      path,
      model: "gemini-3.5-flash",
      request: asStream(request),
      ...streamed,
      body: (size: number) => events([contentOf(list(size, make))], ""),
    },
    {
      name: `${name}, each in an event`,
      path,
      model: "gemini-3.5-flash",
      request: asStream(request),
      ...streamed,
      body: (size: number) =>
        events(
          [...list(size, (index) => ({ candidates: [{ content: { parts: [make(index)] } }] })), contentOf([])],
          "",
        ),
    },
  ]),
]);

const others: readonly GrowingAnswer[] = [
  {
    name: "vectors",
    path: "/embeddings",
    model: "text-embedding-3-small",
    request: { input: "Hello" },
    body: (size) => JSON.stringify({ data: list(size, (index) => ({ index: 0, embedding: [index] })), usage }),
  },
  {
    name: "results",
    path: "/moderations",
    model: "omni-moderation-latest",
    request: { input: "Hello" },
    body: (size) =>
      JSON.stringify({ results: list(size, () => ({ flagged: false, categories: {}, category_scores: {} })) }),
  },
  {
    name: "images",
    path: "/images/generations",
    model: "gpt-image-2",
    request: { prompt: "Hello" },
    body: (size) => JSON.stringify({ created: 1, data: list(size, () => ({ b64_json: "aGVsbG8=" })) }),
  },
  {
    name: "segments",
    path: "/audio/transcriptions",
    model: "whisper-1",
    request: audio,
    body: (size) =>
      JSON.stringify({
        text: "a",
        duration: 1,
        segments: list(size, (id) => ({ id, start: 0, end: 1, text: "word" })),
      }),
  },
];

export const growingAnswers: readonly GrowingAnswer[] = [...whole, ...streams, ...others];
