import { describe, expect, test } from "bun:test";
import { toChatBody } from "../../../../src/protocols/openai/chat.ts";
import { type ChatOptions, nearestEffort, resolveOptions } from "../../../../src/protocols/openai/request.ts";
import type { ChatRequest, Model } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import golden from "../../../fixtures/sdk/chat-bodies.json" with { type: "json" };
import { fakeCall, plainModel } from "../../sdk/fake-call.ts";

const messages: ChatRequest["messages"] = [{ role: "user", content: "Hi" }];

/** A request, what the dialect and the model row say of it, and what is sent beside the model and the messages. */
interface Case {
  name: string;
  request: Partial<ChatRequest>;
  options?: ChatOptions;
  row?: Partial<Model>;
  body: object;
}

function bodyOf(request: Partial<ChatRequest>, options: ChatOptions = {}, row: Partial<Model> = {}) {
  const model = { ...plainModel, ...row };
  const { call, notes } = fakeCall({ model: "acme-1", messages, ...request }, {}, model);
  return { body: toChatBody(call, resolveOptions(options, model)), notes };
}

const plain = { model: "acme-one", messages };
const mark = { type: "ephemeral", ttl: "1h" };
const markedPart = { type: "text" as const, text: "a", cache_control: mark };

const plainCall = { id: "1", type: "function" as const, function: { name: "look", arguments: "{}" } };
const strangeCall = {
  ...plainCall,
  function: { ...plainCall.function, thought_signature: "z" },
  index: 0,
  extra_content: { google: { thought_signature: "z" } },
};

describe("a chat body", () => {
  test.each((golden as Case[]).map((row) => [row.name, row] as const))("%s", (_, { request, options, row, body }) => {
    expect(bodyOf(request, options, row).body).toEqual({ ...plain, ...body });
  });

  test.each<[string | undefined, boolean, string | undefined]>([
    [undefined, true, "none"],
    ["high", true, "none"],
    [undefined, false, undefined],
    ["high", false, "high"],
  ])("to a model that cannot reason beside tools: effort %p, tools %p, sent %p", (effort, hasTools, sent) => {
    const tools = [{ type: "function" as const, function: { name: "f" } }];
    const request = { ...(effort && { reasoning_effort: effort }), ...(hasTools && { tools }) } as Partial<ChatRequest>;
    const efforts = { reasoningEfforts: ["none", "high"], toolEfforts: ["none"], toolEffortDefault: "none" };
    const { body, notes } = bodyOf(request, {}, { options: efforts });
    expect(body.reasoning_effort).toBe(sent);
    expect(notes.length).toBe(effort === "high" && hasTools ? 1 : 0);
  });

  test("data sources, which are read with the operator's identity, are sent only where a row passes them", () => {
    const request = { data_sources: [{ type: "azure_search" }], dataSources: [{}] };
    const { body, notes } = bodyOf(request as Partial<ChatRequest>);
    expect(body).toEqual(plain);
    expect(notes).toHaveLength(2);
    expect(bodyOf(request as Partial<ChatRequest>, {}, { options: { pass: ["data_sources"] } }).body).toEqual({
      ...plain,
      data_sources: request.data_sources,
    });
  });

  test("notes what it had to leave out, and why", () => {
    const { notes } = bodyOf(
      { seed: 1, ...{ service_tier: "priority" }, reasoning_effort: "max", temperature: 1 },
      { omit: ["seed"], reasoningOmit: ["temperature"] },
      { options: { reasoningEfforts: ["low"] } },
    );
    expect(notes).toEqual([
      "Left out seed: the provider does not take it",
      "Left out service_tier: the price of this model does not cover it",
      "Sent reasoning_effort low for max: the model takes low",
      "Left out temperature: the model does not take it while it reasons",
    ]);
  });

  test.each<[string, ChatOptions, ChatRequest["messages"][number] & Record<string, unknown>, object]>([
    ["passes roles", {}, { role: "developer", content: "a" }, { role: "developer", content: "a" }],
    [
      "makes system developer",
      { systemRole: "developer" },
      { role: "system", content: "a" },
      { role: "developer", content: "a" },
    ],
    [
      "makes developer system",
      { systemRole: "system" },
      { role: "developer", content: "a" },
      { role: "system", content: "a" },
    ],
    [
      "takes out reasoning",
      {},
      { role: "assistant", content: "a", reasoning_content: "b" },
      { role: "assistant", content: "a" },
    ],
    [
      "takes out null, but not as content",
      {},
      { role: "assistant", content: null, name: null },
      { role: "assistant", content: null },
    ],
    [
      "takes out what the provider rejects",
      { messageOmit: ["name"] },
      { role: "user", content: "a", name: "b" },
      { role: "user", content: "a" },
    ],
    [
      "takes out what OpenAI does not document",
      {},
      {
        role: "assistant",
        content: "a",
        refusal: "b",
        thinking_blocks: [{ type: "thinking", thinking: "t" }],
        annotations: [],
        tool_calls: [],
      },
      { role: "assistant", content: "a", refusal: "b" },
    ],
    [
      "takes out what OpenAI does not document of a call",
      {},
      { role: "assistant", content: null, tool_calls: [strangeCall] },
      { role: "assistant", content: null, tool_calls: [plainCall] },
    ],
    [
      "passes what the provider lists",
      { messageFields: ["prefix", "index", "extra_content", "thought_signature"] },
      { role: "assistant", content: "a", prefix: true, tool_calls: [strangeCall] },
      { role: "assistant", content: "a", prefix: true, tool_calls: [strangeCall] },
    ],
    [
      "takes out cache marks",
      {},
      { role: "user", content: [markedPart], cache_control: mark },
      { role: "user", content: [{ type: "text", text: "a" }] },
    ],
    [
      "passes cache marks to a provider that takes them at a price",
      { cacheControl: true, pass: ["cache_control"] },
      { role: "user", content: [markedPart] },
      { role: "user", content: [markedPart] },
    ],
    [
      "says that a call failed",
      {},
      { role: "tool", tool_call_id: "1", content: "no such file", is_error: true },
      { role: "tool", tool_call_id: "1", content: "Error: no such file" },
    ],
  ])("%s of a message", (_, options, message, expected) => {
    expect(bodyOf({ messages: [message] }, options).body.messages).toEqual([expected]);
  });

  test("has no empty list of calls, and all that is in a message for a plugin of servers that people run themselves", () => {
    const message = { role: "assistant" as const, content: "a", prefix: true, tool_calls: [] };
    const { call } = fakeCall({ model: "acme-1", messages: [message] }, {}, plainModel);
    const body = toChatBody({ ...call, isForOwnServers: true }, {});
    expect(body.messages).toEqual([{ role: "assistant", content: "a", prefix: true }]);
  });

  test("takes cache marks out of tools and calls", () => {
    const called = { id: "1", type: "function" as const, function: { name: "look", arguments: "{}" } };
    const tool = { type: "function" as const, function: { name: "look" } };
    const message = { role: "assistant" as const, content: null, tool_calls: [{ ...called, cache_control: mark }] };
    const { body } = bodyOf({ messages: [message], tools: [{ ...tool, cache_control: mark }] } as never);
    expect(body).toMatchObject({ tools: [tool], messages: [{ ...message, tool_calls: [called] }] });
    expect(JSON.stringify(body)).not.toContain("cache_control");
  });

  test("makes schemas of tools and functions whole, and leaves whole ones as they are", () => {
    const whole = { type: "object", properties: {} };
    const partial = [{ type: "object" }, { properties: null, required: null }, { type: ["object", "null"] }, whole];
    const functions = partial.map((parameters, index) => ({ name: `f${index}`, parameters }));
    const tools = functions.map((definition) => ({ type: "function", function: definition }));
    const bare = { type: "function", function: { name: "bare" } };
    const options: ChatOptions = { functions: "pass" };
    const { body } = bodyOf({ tools: [...tools, bare], functions } as never, options);
    const made = functions.map(({ name }) => ({ name, parameters: whole }));
    expect(body.tools).toEqual([...made.map((definition) => ({ type: "function", function: definition })), bare]);
    expect(body.functions).toEqual(made);
    const sameTools = [tools.at(-1), bare];
    expect(bodyOf({ tools: sameTools } as never).body.tools).toBe(sameTools as never);
  });

  test("puts pictures of results behind all results", () => {
    const picture = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
    const results: ChatRequest["messages"] = [
      { role: "tool", tool_call_id: "1", content: [picture] },
      { role: "tool", tool_call_id: "2", content: [{ type: "text", text: "mild" }, picture] },
    ];
    const next = { role: "user" as const, content: "And now?" };
    expect(bodyOf({ messages: [...results, next] }).body.messages).toEqual([
      { role: "tool", tool_call_id: "1", content: "The result is in the next message." },
      { role: "tool", tool_call_id: "2", content: [{ type: "text", text: "mild" }] },
      { role: "user", content: [picture, picture] },
      next,
    ]);
  });

  test("leaves the request as it was", () => {
    const request = Object.freeze({ messages: Object.freeze([Object.freeze({ role: "system", content: "a" })]) });
    expect(() => bodyOf(request as never, { systemRole: "developer" })).not.toThrow();
  });
});

test.each<[string, string[], string | undefined]>([
  ["none", ["none", "low"], "none"],
  ["none", ["low", "high"], "low"],
  ["xhigh", ["low", "high"], "high"],
  ["medium", ["low", "high"], "low"],
  ["max", [], undefined],
])("the effort nearest to %s of %p is %p", (asked, efforts, didYouMean) => {
  expect(nearestEffort(asked, efforts)).toBe(didYouMean as string);
});

test("a provider that names the fields it takes gets those alone, and the caller is told of the others", async () => {
  const asked = { model: "m", messages: [], max_completion_tokens: 9, seed: 1, metadata: { a: "b" }, strange: true };
  const { call, notes } = fakeCall<ChatRequest>(asked as unknown as ChatRequest);
  const options = { fields: ["max_completion_tokens", "seed"], rename: { max_completion_tokens: "max_tokens" } };
  expect(toChatBody(call, options)).toEqual({ model: "acme-one", messages: [], max_tokens: 9, seed: 1 });
  expect(notes.map((note) => note.split(":")[0])).toEqual(["Left out metadata", "Left out strange"]);
  const omits = openai({ chat: { fields: ["seed"] } }).chat?.omits;
  expect(omits?.(call.model)).toEqual(["max_tokens", "max_completion_tokens"]);
});
