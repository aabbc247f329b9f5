import { describe, expect, test } from "bun:test";
import type { ChatCompletion, ChatRequest, ChatStream, Model } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { errorOf } from "../../../support/error-of.ts";
import { drain, eventsOf, fakeCall, plainModel } from "../../sdk/fake-call.ts";

const model: Model = { ...plainModel, endpoint: "responses", reasoning: true };
const handlers = openai({ chat: { functions: "pass", systemRole: "developer" }, responses: {} });
const user = { role: "user" as const, content: "Hi" };
const request: ChatRequest = { model: "acme-1", messages: [user] };

const usage = {
  input_tokens: 300,
  input_tokens_details: { cached_tokens: 256 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 340,
};
const thought = {
  type: "reasoning",
  id: "rs_1",
  summary: [
    { type: "summary_text", text: "Hm" },
    { type: "summary_text", text: "So" },
  ],
  encrypted_content: "gAAA",
};
const message = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text: "Hello", annotations: [] }],
};
const called = { type: "function_call", id: "fc_1", call_id: "call_1", name: "weather", arguments: '{"city":"Paris"}' };
const custom = { type: "custom_tool_call", id: "ctc_1", call_id: "call_2", name: "patch", input: "*** x" };
const response = {
  id: "resp_1",
  object: "response",
  created_at: 7,
  status: "completed",
  error: null,
  incomplete_details: null,
  service_tier: "default",
  output: [thought, message, called, custom],
  usage,
};

async function sent(asked: Partial<ChatRequest> & Record<string, unknown>, row = model) {
  const { call, asked: requests, notes } = fakeCall({ ...request, ...asked } as ChatRequest, { json: response }, row);
  const answer = (await handlers.chat?.(call)) as ChatCompletion;
  expect(requests[0]).toMatchObject({ method: "json", path: "/responses" });
  return { body: requests[0]?.body ?? {}, notes, answer };
}

async function streamed(events: readonly Record<string, unknown>[], more: Partial<ChatRequest> = {}) {
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const { call, asked } = fakeCall({ ...request, ...more, stream: true }, { events: eventsOf(text) }, model);
  const answer = await drain((await handlers.chat?.(call)) as ChatStream);
  expect(asked[0]).toMatchObject({ method: "events", path: "/responses", body: { stream: true } });
  return answer;
}

describe("a chat request of a model that only /responses serves", () => {
  test("asks for nothing to be stored, and for the thoughts of a model that reasons", async () => {
    const { body } = await sent({ max_completion_tokens: 500, reasoning_effort: "high", verbosity: "low", user: "u" });
    expect(body).toEqual({
      model: "acme-one",
      input: [user],
      store: false,
      include: ["reasoning.encrypted_content"],
      max_output_tokens: 500,
      reasoning: { effort: "high" },
      text: { verbosity: "low" },
      user: "u",
    });
  });

  test("translates a conversation with pictures, files, calls and their results", async () => {
    const calls = [
      { id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } },
      { id: "call_2", type: "custom", custom: { name: "patch", input: "x" } },
    ];
    const details = [
      { type: "reasoning.encrypted", id: "rs_1", data: "gAAA", format: "openai-responses-v1", index: 0 },
      { type: "reasoning.text", text: "of another", format: "anthropic-claude-v1" },
    ];
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA", detail: "low" } };
    const file = { type: "file", file: { file_data: "data:application/pdf;base64,AA", filename: "a.pdf" } };
    const { body } = await sent({
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: [{ type: "text", text: "Look" }, image, file] },
        { role: "assistant", content: "I will", tool_calls: calls, reasoning_details: details },
        { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "mild" }, image] },
        { role: "tool", tool_call_id: "call_2", content: "no such file", is_error: true },
        { role: "assistant", content: "", reasoning_details: details },
      ] as never,
    });
    const picture = { type: "input_image", image_url: "data:image/png;base64,AA", detail: "low" };
    expect(body.input).toEqual([
      { role: "developer", content: "Be brief" },
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look" },
          picture,
          { type: "input_file", file_data: "data:application/pdf;base64,AA", filename: "a.pdf" },
        ],
      },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
      { role: "assistant", content: [{ type: "output_text", text: "I will", annotations: [] }] },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
      { type: "custom_tool_call", call_id: "call_2", name: "patch", input: "x" },
      { type: "function_call_output", call_id: "call_1", output: [{ type: "input_text", text: "mild" }, picture] },
      { type: "custom_tool_call_output", call_id: "call_2", output: "Error: no such file" },
    ]);
  });

  test("translates tools, their choice and the format of the answer", async () => {
    const schema = { type: "object", properties: {} };
    const grammar = { syntax: "lark", definition: "start: A" };
    const { body } = await sent({
      tools: [
        { type: "function", function: { name: "weather", description: "Tells it", parameters: schema } },
        { type: "function", function: { name: "exact", strict: true } },
        { type: "function", function: { name: "bare", parameters: { type: "object" } } },
        { type: "custom", custom: { name: "patch", format: { type: "grammar", grammar } } } as never,
      ],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "weather" } }] },
      },
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
    });
    expect(body).toMatchObject({
      tools: [
        { type: "function", name: "weather", description: "Tells it", parameters: schema, strict: false },
        { type: "function", name: "exact", parameters: schema, strict: true },
        { type: "function", name: "bare", parameters: schema, strict: false },
        { type: "custom", name: "patch", format: { type: "grammar", ...grammar } },
      ],
      tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "weather" }] },
      parallel_tool_calls: false,
      text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
    });
    const chosen = await sent({ functions: [{ name: "weather" }], function_call: { name: "weather" } });
    expect(chosen.body).toMatchObject({
      tools: [{ type: "function", name: "weather" }],
      tool_choice: { type: "function", name: "weather" },
    });
    expect(chosen.answer.choices[0]).toMatchObject({
      message: { function_call: { name: "weather" } },
      finish_reason: "function_call",
    });
  });

  test("leaves the efforts beside tools to chat, and says what it leaves out", async () => {
    const row = { ...model, options: { toolEfforts: ["none"], toolEffortDefault: "none" } };
    const tools = [{ type: "function" as const, function: { name: "weather" } }];
    const { body, notes } = await sent({ tools, reasoning_effort: "high", seed: 7, logit_bias: {} }, row);
    expect(body.reasoning).toEqual({ effort: "high" });
    expect(notes).toEqual([
      "Left out seed: /responses does not take it",
      "Left out logit_bias: /responses does not take it",
    ]);
    expect(Object.keys(body)).not.toContain("seed");
  });

  test.each([
    [
      { messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }] }] },
      "messages[0].content[0]",
    ],
  ])("refuses %j", async (asked, param) => {
    const { call, asked: requests } = fakeCall({ ...request, ...asked } as ChatRequest, {}, model);
    expect(await errorOf(handlers.chat?.(call) as Promise<unknown>)).toMatchObject({ code: "invalid_request", param });
    expect(requests).toEqual([]);
  });

  test("asks for no less output than the protocol takes", async () => {
    expect((await sent({ max_tokens: 5 })).body.max_output_tokens).toBe(16);
  });

  test("asks for the whole where the model does not stream", async () => {
    const row = { ...model, options: { streams: false } };
    expect((await sent({ stream: true }, row)).body.stream).toBeUndefined();
  });
});

describe("a chat request of a model that reasons beside tools only at /responses", () => {
  const row: Model = {
    ...plainModel,
    reasoning: true,
    options: {
      reasoningEfforts: ["none", "low", "high"],
      toolEfforts: ["none"],
      toolEffortDefault: "none",
    },
  };
  const tools = [{ type: "function" as const, function: { name: "weather" } }];
  const sound = [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AA", format: "wav" } }] }];

  test.each<[string, { reasoning_effort: string; [field: string]: unknown }]>([
    ["tools and an effort", { tools, reasoning_effort: "high" }],
    ["functions and an effort", { functions: [{ name: "weather" }], reasoning_effort: "low" }],
  ])("with %s is asked for there", async (_, asked) => {
    const { body, notes } = await sent(asked, row);
    expect(body.reasoning).toEqual({ effort: asked.reasoning_effort });
    expect(body.tools).toMatchObject([{ type: "function", name: "weather" }]);
    expect(body.include).toEqual(["reasoning.encrypted_content"]);
    expect(notes).toEqual([]);
  });

  test.each<[string, object, ReturnType<typeof openai>?]>([
    ["no tools", { reasoning_effort: "high" }],
    ["no effort", { tools }],
    ["an effort that chat takes beside tools", { tools, reasoning_effort: "none" }],
    ["two choices", { tools, reasoning_effort: "high", n: 2 }],
    ["a limit below the least of /responses", { tools, reasoning_effort: "high", max_tokens: 5 }],
    ["sound", { tools, reasoning_effort: "high", messages: sound }],
    ["a provider without /responses", { tools, reasoning_effort: "high" }, openai({ chat: {} })],
  ])("with %s stays in chat", async (_, asked, { chat } = handlers) => {
    const whole = { choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }] };
    const { call, asked: requests } = fakeCall({ ...request, ...asked } as ChatRequest, { json: whole }, row);
    await chat?.(call);
    expect(requests[0]?.path).toBe("/chat/completions");
  });
});

describe("the answer of a model that only /responses serves", () => {
  test("is a completion with thoughts, text, calls, usage and the tier", async () => {
    const { answer } = await sent({});
    expect(answer).toEqual({
      id: "",
      object: "chat.completion",
      created: 7,
      model: "",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "Hello",
            reasoning_content: "Hm\n\nSo",
            reasoning_details: [
              { type: "reasoning.encrypted", id: "rs_1", data: "gAAA", format: "openai-responses-v1", index: 0 },
            ],
            tool_calls: [
              { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
              { id: "call_2", type: "custom", custom: { name: "patch", input: "*** x" } },
            ],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: {
        prompt_tokens: 300,
        completion_tokens: 40,
        total_tokens: 340,
        prompt_tokens_details: { cached_tokens: 256 },
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      service_tier: "default",
    } as never);
  });

  test("ends at a stop sequence, which the protocol does not have", async () => {
    const { answer, body } = await sent({ stop: "ll" });
    expect(answer.choices[0]).toMatchObject({ message: { content: "He" }, finish_reason: "stop" });
    expect(body.stop).toBeUndefined();
  });

  test.each([
    ["max_output_tokens", "length"],
    ["content_filter", "content_filter"],
  ])("says that %s ended it", async (reason, finish_reason) => {
    const json = { ...response, status: "incomplete", incomplete_details: { reason }, output: [message] };
    const { call } = fakeCall(request, { json }, model);
    expect(await handlers.chat?.(call)).toMatchObject({ choices: [{ finish_reason }] });
  });

  test.each([
    [{ ...response, status: "failed", error: { code: "server_error", message: "No" } }, "server_error"],
    [{ choices: [] }, "bad_response"],
    [null, "bad_response"],
  ])("is a fault where the provider tells of one: %#", async (json, kind) => {
    const { call } = fakeCall(request, { json }, model);
    expect(await errorOf(handlers.chat?.(call) as Promise<unknown>)).toMatchObject({ kind });
  });
});

describe("the stream of a model that only /responses serves", () => {
  const begun = { type: "response.created", response: { ...response, status: "in_progress", output: [] } };
  const events = [
    begun,
    { type: "response.output_item.added", output_index: 0, item: { ...thought, encrypted_content: "" } },
    { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0 },
    { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Hm" },
    { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 1 },
    { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "So" },
    { type: "response.output_item.done", output_index: 0, item: thought },
    { type: "response.output_text.delta", output_index: 1, delta: "Hel" },
    { type: "response.output_text.delta", output_index: 1, delta: "lo" },
    { type: "response.output_item.done", output_index: 1, item: message },
    { type: "response.output_item.added", output_index: 2, item: { ...called, arguments: "" } },
    { type: "response.function_call_arguments.delta", output_index: 2, delta: '{"city":' },
    { type: "response.function_call_arguments.delta", output_index: 2, delta: '"Paris"}' },
    { type: "response.output_item.done", output_index: 2, item: called },
    { type: "response.output_item.added", output_index: 3, item: { ...custom, input: "" } },
    { type: "response.output_item.done", output_index: 3, item: custom },
    { type: "response.completed", response },
  ];

  test("has the same content piece by piece", async () => {
    const { items, error } = await streamed(events);
    expect(error).toBeUndefined();
    const deltas = items.flatMap(({ choices }) => choices.map(({ delta }) => delta));
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe("Hello");
    expect(deltas.map(({ reasoning_content: text }) => text ?? "").join("")).toBe("Hm\n\nSo");
    expect(deltas.flatMap(({ reasoning_details: details }) => details ?? [])).toMatchObject([{ data: "gAAA" }]);
    expect(deltas.flatMap(({ tool_calls: calls }) => calls ?? [])).toEqual([
      { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "" } },
      { index: 0, function: { arguments: '{"city":' } },
      { index: 0, function: { arguments: '"Paris"}' } },
      { index: 1, id: "call_2", type: "custom", custom: { name: "patch", input: "" } },
      { index: 1, custom: { input: "*** x" } },
    ]);
    expect(items.at(-1)).toMatchObject({
      choices: [{ finish_reason: "tool_calls" }],
      usage: { prompt_tokens: 300, completion_tokens: 40 },
      service_tier: "default",
    });
  });

  test.each([
    ["breaks off", [begun, events[7]], "bad_response"],
    [
      "fails",
      [begun, { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "Slow" } } }],
      "rate_limited",
    ],
    ["has an error", [{ type: "error", code: "server_error", message: "No" }], "server_error"],
    ["goes on with a call that was not begun", [begun, events[11]], "bad_response"],
  ])("is a fault where it %s", async (_, cut, kind) => {
    expect((await streamed(cut as Record<string, unknown>[])).error).toMatchObject({ kind });
  });
});

describe("an answer in several messages", () => {
  const said = (text: string, phase: string, id: string) => ({
    type: "message",
    id,
    role: "assistant",
    phase,
    content: [{ type: "output_text", text, annotations: [] }],
  });
  const refusal = (text: string) => ({
    type: "message",
    role: "assistant",
    content: [{ type: "refusal", refusal: text }],
  });
  const reasoning = (text: string) => ({ type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] });
  const output = [
    reasoning("Hm"),
    said("I will look.", "commentary", "msg_1"),
    said("", "commentary", "msg_2"),
    reasoning("So"),
    said('{"a":1}', "final_answer", "msg_3"),
    refusal("No."),
    refusal("Never."),
  ];
  /** The same answer as events, with places or without them. */
  const toEvents = (hasPlaces: boolean) => [
    ...output.flatMap((item, index) => {
      const at = hasPlaces && { output_index: index };
      const { text, refusal: refused } = item.content[0] as { text?: string; refusal?: string };
      const type = item.type === "reasoning" ? "reasoning_text" : refused === undefined ? "output_text" : "refusal";
      const whole = text ?? refused ?? "";
      return [
        { type: "response.output_item.added", ...at, item: { ...item, content: [] } },
        ...[whole.slice(0, 2), whole.slice(2)].map((delta) => ({ type: `response.${type}.delta`, ...at, delta })),
      ];
    }),
    { type: "response.completed", response: { ...response, output } },
  ];
  const schema = { type: "object", properties: { a: { type: "number" } } };
  const formats: [about: string, asked: Partial<ChatRequest>, content: string, thought: string][] = [
    ["are paragraphs", {}, 'I will look.\n\n{"a":1}', "Hm\n\nSo"],
    [
      "has no commentary in its content where a schema was asked for",
      { response_format: { type: "json_schema", json_schema: { name: "n", schema } } },
      '{"a":1}',
      "Hm\n\nI will look.\n\nSo",
    ],
    [
      "has no commentary in its content where JSON was asked for",
      { response_format: { type: "json_object" } },
      '{"a":1}',
      "Hm\n\nI will look.\n\nSo",
    ],
  ];

  test.each(formats)("%s", async (_, asked, content, reasoning_content) => {
    const expected = { content, reasoning_content, refusal: "No.\n\nNever." };
    const { call } = fakeCall({ ...request, ...asked }, { json: { ...response, output } }, model);
    expect(await handlers.chat?.(call)).toMatchObject({ choices: [{ message: expected }] });
    for (const hasPlaces of [true, false]) {
      const { items } = await streamed(toEvents(hasPlaces), asked);
      const deltas = items.flatMap(({ choices }) => choices.map(({ delta }) => delta as Record<string, unknown>));
      const joined = Object.keys(expected).map((name) => [name, deltas.map((delta) => delta[name] ?? "").join("")]);
      expect(Object.fromEntries(joined)).toEqual(expected);
    }
  });
});

describe("citations of an answer", () => {
  const cite = (start_index: number, end_index: number) => {
    return { type: "url_citation", url: "https://a.test", title: "A", start_index, end_index };
  };
  const said = (...parts: object[]) => ({ type: "message", role: "assistant", content: parts });
  const text = (words: string, ...annotations: object[]) => ({ type: "output_text", text: words, annotations });
  const output = [
    said(text("So.", cite(0, 3))),
    said(text("Yes", { type: "file_citation", file_id: "file-1" }), text(" no", cite(1, 3))),
  ];
  const cited = [cite(0, 3), cite(9, 11)].map(({ type, ...rest }) => ({ type, url_citation: rest }));

  test("are chat's, with their places in the whole content", async () => {
    const { call } = fakeCall(request, { json: { ...response, output } }, model);
    const message = { content: "So.\n\nYes no", annotations: cited };
    expect(await handlers.chat?.(call)).toMatchObject({ choices: [{ message }] });
  });

  test.each([true, false])("are so in a stream, which tells them by events of their own: %p", async (hasEvents) => {
    const pieces = output.flatMap(({ content }, output_index) =>
      (content as ReturnType<typeof text>[]).flatMap((part, content_index) => {
        const at = { output_index, content_index };
        return [
          { type: "response.output_text.delta", ...at, delta: part.text },
          ...(hasEvents ? part.annotations : []).map((annotation) => {
            return { type: "response.output_text.annotation.added", ...at, annotation };
          }),
        ];
      }),
    );
    const { items } = await streamed([...pieces, { type: "response.completed", response: { ...response, output } }]);
    expect(items.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.annotations ?? []))).toEqual(cited);
  });
});
