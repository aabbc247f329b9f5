import { afterAll, beforeAll, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply } from "../../support/reply.ts";

let gateway: InProcessGateway;
let upstream: ReplayUpstream;
let client: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  const env = {
    SANDBOX: "off",
    OPENAI_API_KEY: "k",
    OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1"),
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: upstream.baseUrlOf("anthropic", "/v1"),
  };
  gateway = await startInProcess({ env });
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: gateway.baseUrl.replace(/\/v1$/, ""), apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

const text = "Hello, world.";
const input = '{"city":"Oslo \\"N\\""}';
const part = (said: string) => ({ type: "output_text", text: said, annotations: [] });
const message = (status: string, content: object[]) => ({
  type: "message",
  id: "msg",
  role: "assistant",
  status,
  content,
});
const call = (status: string, said: string) => ({
  type: "function_call",
  id: "fc",
  call_id: "call_a",
  name: "f",
  arguments: said,
  status,
});
const response = (status: string, more: object = {}) => ({
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status,
  output: [],
  usage: null,
  ...more,
});

interface Deviation {
  /** No event ends an item. */
  isUnended?: boolean;
  /** The items of the last event. */
  output?: object[] | null;
  /** The arguments as they are sent. */
  sentInput?: string;
  /** Members that are left out wherever they are empty. */
  isSparse?: boolean;
}

function answerWith({ isUnended = false, output = [], sentInput = input, isSparse = false }: Deviation) {
  const usage = { input_tokens: 12, output_tokens: 34, total_tokens: 46 };
  const ofMessage = { output_index: 0, item_id: "msg", content_index: 0 };
  const ofCall = { output_index: 1, item_id: "fc" };
  const [begin, rest] = [sentInput.slice(0, 9), sentInput.slice(9)];
  const events = [
    { type: "response.created", response: response("in_progress") },
    { type: "response.output_item.added", output_index: 0, item: message("in_progress", []) },
    { type: "response.content_part.added", ...ofMessage, part: part("") },
    { type: "response.output_text.delta", ...ofMessage, delta: text.slice(0, 5) },
    { type: "response.output_text.delta", ...ofMessage, delta: text.slice(5) },
    { type: "response.output_text.done", ...ofMessage, text },
    { type: "response.content_part.done", ...ofMessage, part: part(text) },
    { type: "response.output_item.done", output_index: 0, item: message("completed", [part(text)]) },
    { type: "response.output_item.added", output_index: 1, item: call("in_progress", "") },
    { type: "response.function_call_arguments.delta", ...ofCall, delta: begin },
    { type: "response.function_call_arguments.delta", ...ofCall, delta: rest },
    { type: "response.function_call_arguments.done", ...ofCall, name: "f", arguments: sentInput },
    { type: "response.output_item.done", output_index: 1, item: call("completed", sentInput) },
    { type: "response.completed", response: response("completed", { usage, output }) },
  ].filter(({ type }) => !(isUnended && type === "response.output_item.done"));
  const sent = events.map((event, sequence_number) => ({ ...event, sequence_number }));
  upstream.answer("openai", eventsReply(...(isSparse ? JSON.parse(JSON.stringify(sent, leaveOutEmpty)) : sent)));
}

const leaveOutEmpty = (_: string, value: unknown) => (value === "" || String(value) === "" ? undefined : value);

const whole = (said: string) => [message("completed", [part(text)]), call("completed", said)];

test.each<[string, Deviation]>([
  ["lists no items in its last event", {}],
  ["has null for the items of its last event", { output: null }],
  ["neither ends its items nor lists them in its last event", { isUnended: true }],
  ["leaves out what is empty", { isSparse: true }],
  ["leaves out what is empty, and does not end its items", { isSparse: true, isUnended: true }],
  ["encodes arguments twice", { sentInput: JSON.stringify(input), output: whole(JSON.stringify(input)) }],
  ["encodes arguments twice and lists no items in its last event", { sentInput: JSON.stringify(input) }],
])("OpenAI's SDK gets the whole response of a provider of the same protocol that %s", async (_, deviation) => {
  answerWith(deviation);
  const stream = client.responses.stream({ model: "gpt-5.3-codex", input: "Hi" });
  const deltas = { text: "", input: "" };
  stream.on("response.output_text.delta", ({ delta }) => {
    deltas.text += delta;
  });
  stream.on("response.function_call_arguments.delta", ({ delta }) => {
    deltas.input += delta;
  });
  const final = await stream.finalResponse();
  expect(deltas).toEqual({ text, input });
  expect(final.output_text).toBe(text);
  expect<unknown[]>(final.output).toMatchObject(whole(input));
  expect(final.usage).toMatchObject({ input_tokens: 12, output_tokens: 34 });
});

/** An answer of Messages with a call, of which the beginning of its block has this input, and pieces with these texts follow. */
type CallAnswer = [begun: object, pieces: readonly string[], isStopped?: boolean];
function answerWithCall(...[begun, pieces, isStopped = true]: CallAnswer) {
  const message = { id: "msg", type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
  const events = [
    { type: "message_start", message: { ...message, usage: { input_tokens: 12, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    {
      type: "content_block_start",
      index: 1,
      content_block: { type: "tool_use", id: "toolu_1", name: "f", input: begun },
    },
    ...pieces.map((partial_json) => ({
      type: "content_block_delta",
      index: 1,
      delta: { type: "input_json_delta", partial_json },
    })),
    ...(isStopped ? [{ type: "content_block_stop", index: 1 }] : []),
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 34 } },
    { type: "message_stop" },
  ];
  upstream.answer("anthropic", eventsReply(...events));
}

const cityInput = JSON.parse(input);
test.each<[string, ...CallAnswer]>([
  ["begins the block of a call with its input, and sends no piece of it", cityInput, []],
  ["begins the block of a call with its input, and sends a piece without text", cityInput, [""]],
  [
    "begins the block of a call with its input, and sends it in pieces too",
    cityInput,
    [input.slice(0, 5), input.slice(5)],
  ],
  ["begins the block of a call with its input, and never stops it", cityInput, [], false],
  ["sends the input of a call in pieces", {}, [input.slice(0, 5), input.slice(5)]],
])(
  "clients of all protocols get the input of a call once where a provider of Messages %s",
  async (_, ...answer: CallAnswer) => {
    const model = "claude-haiku-4-5";
    const messages = [{ role: "user" as const, content: "Hi" }];
    answerWithCall(...answer);
    let pieces = "";
    for await (const event of anthropic.messages.stream({ model, messages, max_tokens: 99 }))
      if (event.type === "content_block_delta" && event.delta.type === "input_json_delta")
        pieces += event.delta.partial_json;
    expect(JSON.parse(pieces)).toEqual(cityInput);
    answerWithCall(...answer);
    const chat = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
    const [called] = chat.choices[0]?.message.tool_calls ?? [];
    expect(called?.type === "function" && JSON.parse(called.function.arguments)).toEqual(cityInput);
    answerWithCall(...answer);
    const { output } = await client.responses.stream({ model, input: "Hi" }).finalResponse();
    const calls = output.flatMap((item) => (item.type === "function_call" ? [JSON.parse(item.arguments)] : []));
    expect(calls).toEqual([cityInput]);
  },
);
