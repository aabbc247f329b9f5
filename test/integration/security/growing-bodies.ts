/** Bodies that grow along one axis, for every endpoint that takes them. */

/** Makes a body of a size. Its bytes grow in proportion to that. */
export type Grow = (size: number) => object | FormData;

export interface Axis {
  name: string;
  path: string;
  /** The models that it is sent to; first the one whose translation has the most to do. */
  models: readonly string[];
  /** The least of the sizes; the greatest is sixteen times as much. */
  size: number;
  grow: Grow;
  /** It is sent with an `Idempotency-Key`. */
  isRepeatable?: boolean;
}

const list = <Member>(size: number, make: (index: number) => Member): Member[] =>
  Array.from({ length: size }, (_, index) => make(index));
const record = (size: number, name: string, value: (index: number) => unknown) =>
  Object.fromEntries(list(size, (index) => [`${name}${index}`, value(index)]));
const words = (size: number) => "some words ".repeat(size);
const user = (content: unknown = "Hello") => ({ role: "user", content });
const nest = (depth: number, wrap: (inner: unknown) => unknown, inner: unknown): unknown =>
  depth === 0 ? inner : nest(depth - 1, wrap, wrap(inner));
const picture = (size: number) => `data:image/png;base64,${"A".repeat(4 * size)}`;

/** JSON schemas. Each is asked for as a tool's parameters and as the form of the answer. */
const schemas: Readonly<Record<string, readonly [size: number, grow: (size: number) => object]>> = {
  "properties and required names": [
    250,
    (size) => ({
      type: "object",
      properties: record(size, "p", () => ({ type: "string" })),
      required: list(size, (index) => `p${index}`),
      additionalProperties: false,
    }),
  ],
  "references to one definition of as many properties": [
    60,
    (size) => ({
      type: "object",
      $defs: { a: { type: "object", properties: record(size, "p", () => ({ type: "string" })) } },
      allOf: list(size, () => ({ $ref: "#/$defs/a" })),
    }),
  ],
  "places that refer to one definition of as many properties": [
    60,
    (size) => ({
      type: "object",
      $defs: { a: { type: "object", properties: record(size, "p", () => ({ type: "string" })) } },
      properties: record(size, "q", () => ({ $ref: "#/$defs/a" })),
    }),
  ],
  "definitions of as many values in one place": [
    40,
    (size) => ({
      $defs: record(size, "d", () => ({ enum: list(size, (index) => `v${index}`) })),
      type: "object",
      properties: { a: { allOf: list(size, (index) => ({ $ref: `#/$defs/d${index}` })) } },
    }),
  ],
  values: [500, (size) => ({ type: "object", properties: { a: { enum: list(size, (index) => `v${index}`) } } })],
  "types and values": [
    100,
    (size) => ({
      type: "object",
      properties: { a: { type: list(size, (index) => `t${index}`), enum: list(size, (index) => index) } },
    }),
  ],
  choices: [250, (size) => ({ type: "object", properties: { a: { anyOf: list(size, () => ({ type: "string" })) } } })],
  "a name of many characters over many keywords": [
    100,
    (size) => ({
      type: "object",
      properties: { ["n".repeat(100 * size)]: { type: "object", ...record(size, "k", () => 1) } },
    }),
  ],
  "a name of many characters over many properties": [
    100,
    (size) => ({
      type: "object",
      properties: {
        ["n".repeat(100 * size)]: { type: "object", properties: record(size, "p", () => ({ type: "string" })) },
      },
    }),
  ],
  "a description that many places refer to": [
    100,
    (size) => ({
      type: "object",
      $defs: { a: { type: "string", description: words(10 * size) } },
      properties: record(size, "p", () => ({ $ref: "#/$defs/a" })),
    }),
  ],
  "references to references": [
    50,
    (size) => ({
      type: "object",
      $defs: record(size, "d", (index) => ({ allOf: [{ $ref: `#/$defs/d${index + 1}` }] })),
      properties: record(size, "p", () => ({ $ref: "#/$defs/d0" })),
    }),
  ],
  "places below each other": [
    3,
    (size) => nest(size, (inner) => ({ type: "object", properties: { a: inner } }), { type: "string" }) as object,
  ],
};

const tool = (parameters: object) => ({ type: "function", function: { name: "look", parameters, strict: true } });

/** Conversations of chat: fields beside the model. */
const chats: Readonly<Record<string, readonly [size: number, grow: (size: number) => object]>> = {
  "a text": [2000, (size) => ({ messages: [user(words(size))] })],
  "a text without spaces": [20_000, (size) => ({ messages: [user("a".repeat(size))] })],
  messages: [
    500,
    (size) => ({ messages: list(size, (index) => ({ ...user(), role: index % 2 ? "assistant" : "user" })) }),
  ],
  "messages of the user in parts": [
    500,
    (size) => ({ messages: list(size, () => user([{ type: "text", text: "Hello" }])) }),
  ],
  "instructions in parts": [
    500,
    (size) => ({
      messages: [...list(size, () => ({ ...user([{ type: "text", text: "Be kind" }]), role: "system" })), user()],
    }),
  ],
  "parts of text": [1000, (size) => ({ messages: [user(list(size, () => ({ type: "text", text: "Hello" })))] })],
  pictures: [
    300,
    (size) => ({ messages: [user(list(size, () => ({ type: "image_url", image_url: { url: picture(8) } })))] }),
  ],
  "one picture": [20_000, (size) => ({ messages: [user([{ type: "image_url", image_url: { url: picture(size) } }])] })],
  files: [
    300,
    (size) => {
      const file = { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" };
      return { messages: [user(list(size, () => ({ type: "file", file })))] };
    },
  ],
  "turns with calls of one id": [250, (size) => turns(size, () => "call")],
  "turns with calls of ids that differ in one character": [
    250,
    (size) => turns(size, (index) => `call${"_.:#"[index % 4]}`),
  ],
  "calls of one message": [400, (size) => calls(size, (index) => `call_${index}`)],
  "calls of one id in one message": [400, (size) => calls(size, () => "call")],
  "a long id of calls": [1000, (size) => calls(2, (index) => `${"c".repeat(size)}.${index}`)],
  "thoughts that come back": [
    400,
    (size) => {
      const details = list(size, (index) => ({
        type: "reasoning.text",
        text: "Hm",
        signature: "s",
        format: "anthropic-claude-v1",
        index,
      }));
      const turn = { role: "assistant", content: "Hi", reasoning_details: details };
      return { messages: [user(), turn, user()], reasoning_effort: "high" };
    },
  ],
  "cache marks": [
    400,
    (size) => {
      const mark = { cache_control: { type: "ephemeral", ttl: "1h" } };
      return { messages: [user(list(size, () => ({ type: "text", text: "Hello", ...mark })))] };
    },
  ],
  "unknown fields": [700, (size) => ({ messages: [user()], ...record(size, "field", (index) => index) })],
  "an unknown field of a long name": [20_000, (size) => ({ messages: [user()], ["f".repeat(size)]: 1 })],
  "values of an unknown field": [2000, (size) => ({ messages: [user()], extra: list(size, (index) => index) })],
  "levels of an unknown field": [11, (size) => ({ messages: [user()], extra: nest(size, (inner) => [inner], 1) })],
  "a long stop sequence": [
    20_000,
    (size) => ({ messages: [user(words(size))], stop: ["ab".repeat(size), "ba".repeat(size)] }),
  ],
  biases: [700, (size) => ({ messages: [user()], logit_bias: record(size, "", () => 1) })],
  "names that a choice allows": [
    500,
    (size) => ({
      messages: [user()],
      tools: list(100, (index) => ({ type: "function", function: { name: `f${index}`, parameters: {} } })),
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: {
          mode: "auto",
          tools: list(size, (index) => ({ type: "function", function: { name: `f${index % 100}` } })),
        },
      },
    }),
  ],
};

function turns(size: number, idOf: (index: number) => string): object {
  const messages = list(size, (index) => [
    { role: "assistant", content: null, tool_calls: [callOf(idOf(index))] },
    { role: "tool", tool_call_id: idOf(index), content: "1" },
  ]);
  return { messages: [user(), ...messages.flat()] };
}

function calls(size: number, idOf: (index: number) => string): object {
  const results = list(size, (index) => ({ role: "tool", tool_call_id: idOf(index), content: "1" }));
  const turn = { role: "assistant", content: null, tool_calls: list(size, (index) => callOf(idOf(index))) };
  return { messages: [user(), turn, ...results] };
}

function callOf(id: string) {
  return { id, type: "function", function: { name: "look", arguments: "{}" } };
}

const itemCall = (index: number) => ({
  type: "function_call",
  call_id: `call_${index}`,
  name: "look",
  arguments: "{}",
});
const itemResult = (index: number) => ({ type: "function_call_output", call_id: `call_${index}`, output: "1" });

/** Fields of a Responses request. */
const responses: Readonly<Record<string, readonly [size: number, grow: (size: number) => object]>> = {
  "a text": [2000, (size) => ({ input: words(size) })],
  messages: [500, (size) => ({ input: list(size, () => user()) })],
  parts: [1000, (size) => ({ input: [user(list(size, () => ({ type: "input_text", text: "Hello" })))] })],
  "calls and then their outputs": [300, (size) => ({ input: [...list(size, itemCall), ...list(size, itemResult)] })],
  "calls and outputs by turns": [300, (size) => ({ input: list(size, (at) => [itemCall(at), itemResult(at)]).flat() })],
  "references to one item": [300, (size) => ({ input: list(size, () => ({ type: "item_reference", id: "msg_1" })) })],
  "references to many items": [
    300,
    (size) => ({ input: list(size, (index) => ({ type: "item_reference", id: `msg_${index}` })) }),
  ],
  "tools that were loaded": [
    250,
    (size) => ({
      input: [
        user(),
        { type: "additional_tools", tools: list(size, (at) => ({ type: "function", name: `f${at}`, parameters: {} })) },
      ],
    }),
  ],
  "namespaces that a choice names again and again": [
    150,
    (size) => ({
      input: "Hello",
      tools: [
        {
          type: "namespace",
          name: "space",
          tools: list(size, (at) => ({ type: "function", name: `f${at}`, parameters: {} })),
        },
      ],
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: list(size, () => ({ type: "namespace", name: "space" })),
      },
    }),
  ],
  "sealed thoughts": [
    400,
    (size) => ({
      input: [user(), ...list(size, () => ({ type: "reasoning", summary: [], encrypted_content: "mg1.a.b" }))],
    }),
  ],
  "a schema of the answer": [
    250,
    (size) => ({
      input: "Hello",
      text: {
        format: {
          type: "json_schema",
          name: "a",
          strict: true,
          schema: schemas["properties and required names"]?.[1](size),
        },
      },
    }),
  ],
  "unknown fields": [700, (size) => ({ input: "Hello", ...record(size, "field", (index) => index) })],
};

const toolUse = (index: number) => ({ type: "tool_use", id: `toolu_${index}`, name: "look", input: {} });
const toolResult = (index: number) => ({ type: "tool_result", tool_use_id: `toolu_${index}`, content: "1" });

const documentOf = (inner: unknown) => ({ type: "document", source: { type: "content", content: [inner] } });

/** Fields of a Messages request. */
const messages: Readonly<Record<string, readonly [size: number, grow: (size: number) => object]>> = {
  "a text": [2000, (size) => ({ messages: [user(words(size))] })],
  messages: [500, (size) => ({ messages: list(size, (at) => ({ ...user(), role: at % 2 ? "assistant" : "user" })) })],
  blocks: [1000, (size) => ({ messages: [user(list(size, () => ({ type: "text", text: "Hello" })))] })],
  "system blocks": [
    1000,
    (size) => ({ system: list(size, () => ({ type: "text", text: "Be kind" })), messages: [user()] }),
  ],
  "calls of one message": [
    300,
    (size) => ({
      messages: [user(), { role: "assistant", content: list(size, toolUse) }, user(list(size, toolResult))],
    }),
  ],
  "turns with calls": [
    200,
    (size) => ({
      messages: [
        user(),
        ...list(size, (at) => [{ role: "assistant", content: [toolUse(at)] }, user([toolResult(at)])]).flat(),
      ],
    }),
  ],
  "thoughts and texts by turns": [
    200,
    (size) => {
      const said = list(size, () => [
        { type: "thinking", thinking: "Hm", signature: "theirs" },
        { type: "text", text: "Hi" },
      ]);
      return { messages: [user(), { role: "assistant", content: said.flat() }, user()] };
    },
  ],
  "tools that are added": [
    200,
    (size) => ({
      messages: [
        user(
          list(size, (at) => ({
            type: "tool_addition",
            tool: { definition: { name: `f${at}`, input_schema: { type: "object" } } },
          })),
        ),
        user(),
      ],
    }),
  ],
  "a schema of the answer": [
    250,
    (size) => ({
      messages: [user()],
      output_config: {
        format: { type: "json_schema", schema: schemas["properties and required names"]?.[1](size) },
      },
    }),
  ],
  "documents in documents, and values in the last": [
    3,
    (size) => {
      const last = { type: "text", text: "Hello", extra: list(5000 * size, () => 1) };
      return { messages: [user([nest(size, documentOf, last)])] };
    },
  ],
  "stop sequences": [6, (size) => ({ messages: [user()], stop_sequences: list(size, (at) => `stop ${at}`) })],
  "unknown fields": [700, (size) => ({ messages: [user()], ...record(size, "field", (index) => index) })],
};

/** What is asked of which model: two for each plugin that has a wire format of its own. */
const chatModels = ["claude-sonnet-5", "gemini-3.5-flash", "gpt-5.6", "gpt-5.5-pro", "qwen/qwen3.8-27b"];
/** The same dialect as those, with options of their own. */
const otherChatModels = ["sarvam-105b", "Qwen/Qwen3.7-Max"];
/** Its turns alternate. */
const strictModel = "mistral/ministral-3b-2512";

function form(fields: Readonly<Record<string, string>>, bytes = 1000, extra = 0): FormData {
  const data = new FormData();
  data.set("file", new File([new Uint8Array(bytes)], "a.mp3"));
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (let at = 0; at < extra; at++) data.append(`field${at}`, "x");
  return data;
}

const fileOf = (data: string) => ({ type: "file", file: { filename: "a.txt", file_data: data } });
const soundOf = (data: string) => ({ type: "input_audio", input_audio: { format: "mp3", data } });

/** Parts of chat with as much data as a body may have. */
const files: Readonly<Record<string, () => object>> = {
  "a file of plain text": () => fileOf(`data:text/plain,${"a".repeat(31_000_000)}`),
  "a file of plain text that is all escaped": () => fileOf(`data:text/plain,${"%41".repeat(10_300_000)}`),
  "a file of plain text that has an escape": () => fileOf(`data:text/plain,%41${"a".repeat(31_000_000)}`),
  "a file of text in base64": () => fileOf(`data:text/plain;base64,${"QUFB".repeat(7_800_000)}`),
  sound: () => soundOf("AAAA".repeat(7_800_000)),
  "sound with a stranger at its end": () => soundOf(`${"AAAA".repeat(7_800_000)}A*AA`),
};

/** Requests near the limits: 32 MB, 500 000 values, 10 000 messages or items. */
export const largest: readonly Omit<Axis, "size">[] = [
  ...(
    [
      ["a text", 2_800_000],
      ["a text without spaces", 31_000_000],
      ["messages", 10_000],
      ["parts of text", 24_000],
      ["pictures", 15_000],
      ["one picture", 7_800_000],
      ["turns with calls of one id", 4999],
      ["calls of one message", 9990],
      ["thoughts that come back", 10_000],
      ["unknown fields", 45_000],
      ["values of an unknown field", 490_000],
      ["biases", 45_000],
      ["names that a choice allows", 15_000],
    ] as const
  ).map(([name, size]) => ({
    name,
    path: "/chat/completions",
    models: ["claude-sonnet-5", "gemini-3.5-flash", "gpt-5.5-pro", "gpt-5.6"],
    grow: () => (chats[name] as (typeof chats)[string])[1](size),
  })),
  ...Object.entries(files).map(([name, part]) => ({
    name,
    path: "/chat/completions",
    models: ["gpt-5.6", "gpt-audio", "gemini-3.5-flash"],
    grow: () => ({ messages: [user([part()])] }),
  })),
  ...(
    [
      ["a text", 2_800_000],
      ["a text without spaces", 31_000_000],
    ] as const
  ).map(([name, size]) => ({
    name: `${name}, to be repeated`,
    path: "/chat/completions",
    models: ["gpt-5.6"],
    isRepeatable: true,
    grow: () => (chats[name] as (typeof chats)[string])[1](size),
  })),
  {
    name: "a text of two bytes a character, to be repeated",
    path: "/chat/completions",
    models: ["gpt-5.6"],
    isRepeatable: true,
    grow: () => ({ messages: [user("\u0101".repeat(15_500_000))] }),
  },
  {
    name: "a file of sound, to be repeated",
    path: "/audio/transcriptions",
    models: ["whisper-1"],
    isRepeatable: true,
    grow: () => form({}, 24_000_000),
  },
  {
    name: "many lists in a body that is read at once",
    path: "/chat/completions",
    models: ["gpt-5.6"],
    grow: () => ({ messages: [user()], extra: list(1000, () => list(450, () => 1)) }),
  },
  {
    name: "a text for many models",
    path: "/chat/completions",
    models: ["claude-sonnet-5"],
    grow: () => ({ models: [...chatModels, ...otherChatModels], messages: [user(words(2_800_000))] }),
  },
  ...Object.entries(schemas).map(([name, [, grow]]) => ({
    name: `128 tools with ${name}`,
    path: "/chat/completions",
    models: ["claude-sonnet-5", "gemini-3.5-flash"],
    grow: () => ({
      messages: [user()],
      tools: list(128, (index) => ({
        type: "function",
        function: { name: `f${index}`, strict: true, parameters: grow(name === "places below each other" ? 40 : 200) },
      })),
    }),
  })),
  ...(
    [
      ["a text", 2_800_000],
      ["messages", 10_000],
      ["calls and outputs by turns", 4999],
      ["tools that were loaded", 12_000],
      ["namespaces that a choice names again and again", 9000],
    ] as const
  ).map(([name, size]) => ({
    name,
    path: "/responses",
    models: ["gpt-5.6", "claude-sonnet-5"],
    grow: () => (responses[name] as (typeof responses)[string])[1](size),
  })),
  ...(
    [
      ["a text", 2_800_000],
      ["blocks", 24_000],
      ["turns with calls", 8000],
      ["documents in documents, and values in the last", 60],
      ["a schema of the answer", 20_000],
    ] as const
  ).map(([name, size]) => ({
    name,
    path: "/messages",
    models: ["claude-sonnet-5", "gpt-5.6"],
    grow: () => ({ max_tokens: 100, ...(messages[name] as (typeof messages)[string])[1](size) }),
  })),
];

/** Every endpoint by every axis that it has. */
export const axes: readonly Axis[] = [
  ...Object.entries(chats).map(([name, [size, grow]]) => ({
    name,
    path: "/chat/completions",
    models: chatModels,
    size,
    grow,
  })),
  ...["messages", "calls of one message", "messages of the user in parts", "instructions in parts"].map((name) => {
    const [size, grow] = chats[name] as (typeof chats)[string];
    return { name, path: "/chat/completions", models: [strictModel, ...otherChatModels], size, grow };
  }),
  ...Object.entries(schemas).flatMap(([name, [size, grow]]) => [
    {
      name: `a tool with ${name}`,
      path: "/chat/completions",
      size,
      models: ["gemini-3.5-flash", "claude-sonnet-5", "gpt-5.6"],
      grow: (of: number) => ({ messages: [user()], tools: [tool(grow(of))] }),
    },
    {
      name: `an answer with ${name}`,
      path: "/chat/completions",
      size,
      models: ["claude-sonnet-5", "gemini-3.5-flash"],
      grow: (of: number) => ({
        messages: [user()],
        response_format: { type: "json_schema", json_schema: { name: "a", schema: grow(of) } },
      }),
    },
  ]),
  ...Object.entries(responses).map(([name, [size, grow]]) => ({
    name,
    path: "/responses",
    models: ["gpt-5.6", "claude-sonnet-5", "gemini-3.5-flash"],
    size,
    grow,
  })),
  ...["messages", "calls and then their outputs"].map((name) => {
    const [size, grow] = responses[name] as (typeof responses)[string];
    return { name, path: "/responses/input_tokens", models: ["gpt-5.6", "claude-sonnet-5"], size, grow };
  }),
  ...Object.entries(messages).map(([name, [size, grow]]) => ({
    name,
    path: "/messages",
    models: ["claude-sonnet-5", "gpt-5.6", "gemini-3.5-flash"],
    size,
    grow: (of: number) => ({ max_tokens: 100, ...grow(of) }),
  })),
  ...["blocks", "calls of one message", "a schema of the answer"].map((name) => {
    const [size, grow] = messages[name] as (typeof messages)[string];
    return { name, path: "/messages/count_tokens", models: ["claude-sonnet-5", "gpt-5.6"], size, grow };
  }),
  {
    name: "a prompt",
    path: "/completions",
    models: ["gpt-5.6", "claude-sonnet-5"],
    size: 2000,
    grow: (size) => ({ prompt: words(size) }),
  },
  {
    name: "texts",
    path: "/embeddings",
    models: ["text-embedding-3-small", "gemini-embedding-2"],
    size: 128,
    grow: (size) => ({ input: list(size, () => "Hello") }),
  },
  {
    name: "tokens",
    path: "/embeddings",
    models: ["text-embedding-3-small", "gemini-embedding-2"],
    size: 400,
    grow: (size) => ({ input: [list(size, (index) => index + 100)] }),
  },
  {
    name: "unknown fields",
    path: "/embeddings",
    models: ["text-embedding-3-small"],
    size: 700,
    grow: (size) => ({ input: "Hello", ...record(size, "field", (index) => index) }),
  },
  {
    name: "a prompt",
    path: "/images/generations",
    models: ["gpt-image-2", "gemini-3-pro-image"],
    size: 1900,
    grow: (size) => ({ prompt: "a".repeat(size) }),
  },
  {
    name: "unknown fields",
    path: "/images/generations",
    models: ["gpt-image-2", "gemini-3-pro-image"],
    size: 700,
    grow: (size) => ({ prompt: "Hello", ...record(size, "field", (index) => index) }),
  },
  {
    name: "a text",
    path: "/audio/speech",
    models: ["gpt-4o-mini-tts", "famF-tts"],
    size: 500,
    grow: (size) => ({ input: words(size).slice(0, 10 * size), voice: "alloy" }),
  },
  {
    name: "unknown fields",
    path: "/audio/speech",
    models: ["gpt-4o-mini-tts", "famF-tts"],
    size: 700,
    grow: (size) => ({ input: "Hello", voice: "alloy", ...record(size, "field", (index) => index) }),
  },
  {
    name: "fields",
    path: "/audio/transcriptions",
    models: ["whisper-1", "famF-stt"],
    size: 55,
    grow: (size) => form({}, 1000, size),
  },
  {
    name: "a prompt",
    path: "/audio/transcriptions",
    models: ["whisper-1", "gemini-3.5-transcribe"],
    size: 600,
    grow: (size) => form({ prompt: "a".repeat(size) }),
  },
  {
    name: "bytes",
    path: "/audio/transcriptions",
    models: ["whisper-1", "famW-large-v3"],
    size: 50_000,
    grow: (size) => form({}, size),
  },
];
