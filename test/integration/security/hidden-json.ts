/** JSON where it is parsed later than the body or the answer that it stands in: nested too deep to be walked, or too wide to be held. */

/** A text that is hidden, and what is wrong with it. */
interface HiddenText {
  readonly name: string;
  /** @param chars About how long it is at most. */
  make(chars: number): string;
}

const deepMax = 60_000;
const repeat = (piece: string, chars: number) => piece.repeat(Math.floor(chars / piece.length));

export const hiddenTexts: readonly HiddenText[] = [
  {
    name: "lists in lists",
    make: (chars) => `{"a":${"[".repeat(Math.min(deepMax, chars / 2))}${"]".repeat(Math.min(deepMax, chars / 2))}}`,
  },
  {
    name: "objects in objects",
    make: (chars) => `${'{"a":'.repeat(Math.min(deepMax, chars / 6))}1${"}".repeat(Math.min(deepMax, chars / 6))}`,
  },
  { name: "empty objects", make: (chars) => `{"a":[${repeat("{},", chars)}1]}` },
  { name: "numbers", make: (chars) => `{"a":[${repeat("1,", chars)}1]}` },
  {
    name: "names",
    make: (chars) => `{${Array.from({ length: Math.floor(chars / 16) }, (_, index) => `"${index}x":1`).join(",")}}`,
  },
  // Short of everything: what is not JSON has no end.
  { name: "lists that do not end", make: (chars) => `{"a":${"[".repeat(Math.min(deepMax, chars))}` },
];

/** Longest text in a body of 32 MB, and in an answer. */
export const hiddenCharsMax = 24_000_000;

/** A field of a request that takes a text. */
export interface RequestPlace {
  readonly name: string;
  readonly path: string;
  readonly models: readonly string[];
  body(text: string): object;
}

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
const user = { role: "user", content: "Hello" };
const called = (args: string) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: args } }],
});
const result = (content: unknown) => ({ role: "tool", tool_call_id: "call_1", content });
const item = { type: "function_call", call_id: "call_1", name: "look" };
const output = { type: "function_call_output", call_id: "call_1" };

const translated = ["gemini-3.5-flash", "claude-sonnet-5", "gpt-5.6", "qwen/qwen3.8-27b", "gpt-5.5-pro"];

export const requestPlaces: readonly RequestPlace[] = [
  {
    name: "arguments of a call",
    path: "/chat/completions",
    models: translated,
    body: (text) => ({ messages: [user, called(text), result("1")], tools }),
  },
  {
    name: "arguments of many calls",
    path: "/chat/completions",
    models: translated,
    body: (text) => {
      const one = `{"a":[${"{},".repeat(160)}1]}`;
      const calls = Array.from({ length: Math.min(9000, Math.ceil(text.length / 500)) }, (_, index) => ({
        id: `call_${index}`,
        type: "function",
        function: { name: "look", arguments: one },
      }));
      const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "1" }));
      return { messages: [user, { role: "assistant", content: null, tool_calls: calls }, ...results], tools };
    },
  },
  {
    name: "arguments of a call in the older form",
    path: "/chat/completions",
    models: translated,
    body: (text) => ({
      messages: [
        user,
        { role: "assistant", content: null, function_call: { name: "look", arguments: text } },
        { role: "function", name: "look", content: "1" },
      ],
      functions: [{ name: "look", parameters: { type: "object" } }],
    }),
  },
  {
    name: "result of a tool",
    path: "/chat/completions",
    models: translated,
    body: (text) => ({ messages: [user, called("{}"), result(text)], tools }),
  },
  {
    name: "part of a result of a tool",
    path: "/chat/completions",
    models: translated,
    body: (text) => ({ messages: [user, called("{}"), result([{ type: "text", text }])], tools }),
  },
  {
    name: "text of a user",
    path: "/chat/completions",
    models: translated,
    body: (text) => ({ messages: [{ role: "user", content: text }], response_format: { type: "json_object" } }),
  },
  {
    name: "arguments of a call",
    path: "/responses",
    models: translated,
    body: (text) => ({ input: [user, { ...item, arguments: text }, { ...output, output: "1" }] }),
  },
  {
    name: "input of a custom tool",
    path: "/responses",
    models: translated,
    body: (text) => ({
      input: [
        user,
        { type: "custom_tool_call", call_id: "call_1", name: "look", input: text },
        { type: "custom_tool_call_output", call_id: "call_1", output: "1" },
      ],
      tools: [{ type: "custom", name: "look" }],
    }),
  },
  {
    name: "output of a call",
    path: "/responses",
    models: translated,
    body: (text) => ({ input: [user, { ...item, arguments: "{}" }, { ...output, output: text }] }),
  },
  {
    name: "result of a tool",
    path: "/messages",
    models: translated,
    body: (text) => ({
      max_tokens: 10,
      messages: [
        user,
        { role: "assistant", content: [{ type: "tool_use", id: "call_1", name: "look", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: text }] },
      ],
    }),
  },
  {
    name: "name of a user",
    path: "/messages",
    models: translated,
    body: (text) => ({ max_tokens: 10, messages: [user], metadata: { user_id: text } }),
  },
];

/** A place of an answer that is parsed, and the request that is answered so. */
export interface AnswerPlace {
  readonly name: string;
  readonly path: string;
  readonly model: string;
  readonly request: object | (() => FormData);
  readonly status?: number;
  /** Absent: JSON. */
  readonly mediaType?: string;
  body(text: string): string;
}

const chat = { messages: [user], tools };
const asAnswer = (text: string) => text;
const event = (...data: string[]) => data.map((one) => `data: ${one}\n\n`).join("");
const completion = (args: string) =>
  JSON.stringify({
    object: "chat.completion",
    choices: [{ index: 0, message: called(args), finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
  });
/** Calls of no more characters. */
const manyCalls = (chars: number) => {
  const callOf = (index: number) => `{"index":${index},"id":"a${index}","function":{"name":"f","arguments":""}}`;
  return Array.from({ length: Math.floor(chars / (callOf(99_999).length + 1)) }, (_, index) => callOf(index)).join(",");
};
const audio = () => {
  const form = new FormData();
  form.set("file", new File([new Uint8Array(1000)], "a.mp3"));
  return form;
};

/** Endpoints whose provider answers JSON. */
const asked: readonly Pick<AnswerPlace, "path" | "model" | "request">[] = [
  { path: "/chat/completions", model: "gpt-5.6", request: chat },
  { path: "/chat/completions", model: "claude-sonnet-5", request: chat },
  { path: "/chat/completions", model: "gemini-3.5-flash", request: chat },
  { path: "/chat/completions", model: "gpt-5.5-pro", request: chat },
  { path: "/messages", model: "claude-sonnet-5", request: { max_tokens: 10, messages: [user] } },
  { path: "/responses", model: "gpt-5.6", request: { input: "Hello" } },
  { path: "/embeddings", model: "text-embedding-3-small", request: { input: "Hello" } },
  { path: "/moderations", model: "omni-moderation-latest", request: { input: "Hello" } },
  { path: "/images/generations", model: "gpt-image-2", request: { prompt: "Hello" } },
  { path: "/audio/speech", model: "gpt-4o-mini-tts", request: { input: "Hello", voice: "alloy" } },
  { path: "/audio/transcriptions", model: "whisper-1", request: audio },
];

const streamed = { mediaType: "text/event-stream" };

export const answerPlaces: readonly AnswerPlace[] = [
  ...asked.map((one) => ({ ...one, name: "an answer", body: asAnswer })),
  ...asked.map((one) => ({ ...one, name: "an error", status: 400, body: asAnswer })),
  ...asked.map((one) => ({ ...one, name: "an error in an answer", body: (text: string) => `{"error":${text}}` })),
  {
    name: "arguments of a call",
    path: "/messages",
    model: "qwen/qwen3.8-27b",
    request: { max_tokens: 10, messages: [user] },
    body: completion,
  },
  {
    name: "arguments of a call",
    path: "/responses",
    model: "qwen/qwen3.8-27b",
    request: { input: "Hello" },
    body: completion,
  },
  {
    name: "arguments of a call",
    path: "/chat/completions",
    model: "qwen/qwen3.8-27b",
    request: chat,
    body: completion,
  },
  {
    name: "an event",
    path: "/chat/completions",
    model: "gpt-5.6",
    request: { ...chat, stream: true },
    ...streamed,
    body: (text) => event(`{"choices":[{"index":0,"delta":{"content":"a","more":${text}}}]}`, "[DONE]"),
  },
  {
    name: "an event that reports usage, of a stream that breaks off",
    path: "/chat/completions",
    model: "gpt-5.6",
    request: { ...chat, stream: true, n: 3 },
    ...streamed,
    body: (text) =>
      event(
        '{"choices":[{"index":0,"delta":{"content":"a"}}]}',
        `{"usage":{"prompt_tokens":1,"more":${text}}}`,
        "[DONE]",
      ),
  },
  {
    name: "an event",
    path: "/messages",
    model: "claude-sonnet-5",
    request: { max_tokens: 10, messages: [user], stream: true },
    ...streamed,
    body: (text) => event(`{"type":"message_start","message":{"usage":{"input_tokens":1},"more":${text}}}`),
  },
  {
    name: "an event",
    path: "/responses",
    model: "gpt-5.6",
    request: { input: "Hello", stream: true },
    ...streamed,
    body: (text) => event(`{"type":"response.created","response":{"usage":null,"more":${text}}}`),
  },
  {
    name: "an event",
    path: "/chat/completions",
    model: "gemini-3.5-flash",
    request: { ...chat, stream: true },
    ...streamed,
    body: (text) => event(`{"usageMetadata":{},"candidates":[{"content":{"parts":[{"text":"a","more":${text}}]}}]}`),
  },
  {
    name: "an event of as many calls as fit into it",
    path: "/chat/completions",
    model: "gpt-5.6",
    request: { ...chat, stream: true },
    ...streamed,
    body: (text) => event(`{"choices":[{"index":0,"delta":{"tool_calls":[${manyCalls(text.length)}]}}]}`, "[DONE]"),
  },
  {
    name: "an event that says an error",
    path: "/chat/completions",
    model: "gpt-5.6",
    request: { ...chat, stream: true },
    ...streamed,
    body: (text) => event(`{"error":{"message":"Busy","more":${text}}}`),
  },
];
