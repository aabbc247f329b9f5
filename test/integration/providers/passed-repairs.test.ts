import { afterAll, beforeAll, expect, test } from "bun:test";
import OpenAI from "openai";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { type ReplayUpstream, startReplayUpstream } from "../../support/replay-upstream.ts";
import { eventsReply } from "../../support/reply.ts";

let gateway: InProcessGateway;
let upstream: ReplayUpstream;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startReplayUpstream();
  const env = { SANDBOX: "off", OPENAI_API_KEY: "k", OPENAI_BASE_URL: upstream.baseUrlOf("openai", "/v1") };
  gateway = await startInProcess({ env });
  client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
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
}

function answerWith({ isUnended = false, output = [], sentInput = input }: Deviation) {
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
  upstream.answer("openai", eventsReply(...events.map((event, sequence_number) => ({ ...event, sequence_number }))));
}

const whole = (said: string) => [message("completed", [part(text)]), call("completed", said)];

test.each<[string, Deviation]>([
  ["lists no items in its last event", {}],
  ["has null for the items of its last event", { output: null }],
  ["neither ends its items nor lists them in its last event", { isUnended: true }],
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
