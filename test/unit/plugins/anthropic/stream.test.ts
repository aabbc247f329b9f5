import { expect, test } from "bun:test";
import { type ServerEvent, UpstreamError } from "modelgate/plugin";
import { fromMessage, MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";

import { drain, eventsFrom, plain } from "./support.ts";

const start = {
  type: "message_start",
  message: { usage: { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 2 } },
};
const open = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const hello = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } };
const ended = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } };
const stop = { type: "message_stop" };
const tool = {
  type: "content_block_start",
  index: 5,
  content_block: { type: "tool_use", id: "a", name: "f", input: {} },
};
const piece = (text: string) => ({
  type: "content_block_delta",
  index: 5,
  delta: { type: "input_json_delta", partial_json: text },
});

const choice = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
});
const usage = {
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, prompt_tokens_details: { cached_tokens: 2 } },
};

const chunksOf = (...events: unknown[]) => drain(new MessagesOutboundStream(eventsFrom(events), plain));

test("sends the role, the text, the call and its pieces, the finish and the usage", async () => {
  const last = { ...ended, delta: { stop_reason: "tool_use" } };
  const { chunks, error } = await chunksOf(
    start,
    open,
    hello,
    { type: "content_block_stop" },
    tool,
    piece(""),
    piece('{"a"'),
    piece(":1}"),
    { type: "content_block_stop" },
    last,
    stop,
  );
  expect(error).toBeUndefined();
  expect(chunks).toEqual([
    choice({ role: "assistant", content: "", refusal: null }),
    choice({ content: "Hello" }),
    choice({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }] }),
    choice({ tool_calls: [{ index: 0, function: { arguments: '{"a"' } }] }),
    choice({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
    choice({}, "tool_calls"),
    usage,
  ] as never);
});

test("a stream that begins with a call has no content, as OpenAI's", async () => {
  const { chunks } = await chunksOf(start, tool, { type: "content_block_stop" }, ended, stop);
  expect(chunks[0]?.choices[0]?.delta).toEqual({ role: "assistant", content: null, refusal: null });
  expect(chunks[2]?.choices[0]?.delta.tool_calls).toEqual([{ index: 0, function: { arguments: "{}" } }]);
});

test("a call that comes with its arguments at once keeps them", async () => {
  const whole = { ...tool, content_block: { ...tool.content_block, input: { a: 1 } } };
  const { chunks } = await chunksOf(start, whole, { type: "content_block_stop" }, ended, stop);
  expect(chunks[2]?.choices[0]?.delta.tool_calls?.[0]?.function?.arguments).toBe('{"a":1}');
});

test("the last report of the usage stands, and what it leaves out stays", async () => {
  const more = {
    type: "message_delta",
    delta: {},
    usage: { input_tokens: 8, output_tokens: 6, cache_read_input_tokens: null },
  };
  const { chunks } = await chunksOf(start, open, hello, ended, more, stop);
  expect(chunks.filter((chunk) => chunk.choices[0]?.finish_reason)).toHaveLength(1);
  expect(chunks.at(-1)?.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 6 });
});

test("a report without an output is none", async () => {
  const { chunks, error } = await chunksOf(
    start,
    open,
    hello,
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    stop,
  );
  expect(error).toBeUndefined();
  expect(chunks.some((chunk) => chunk.usage)).toBe(false);
});

test("what comes after the end is dropped, also a failure", async () => {
  async function* events(): AsyncGenerator<ServerEvent> {
    yield* eventsFrom([start, open, hello, ended, stop, hello]);
    throw new UpstreamError("bad_response", "The connection to the provider failed");
  }
  const { chunks, error } = await drain(new MessagesOutboundStream(events(), plain));
  expect(error).toBeUndefined();
  expect(chunks).toHaveLength(4);
});

test.each([
  ["is not JSON", "{", "bad_response"],
  ["is not an object", "[1]", "bad_response"],
  ["is an error", '{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}', "rate_limited"],
  ["is an error of the server", '{"type":"error","error":{"type":"api_error","message":"Oops"}}', "server_error"],
])("an event that %s ends it, after what the prompt has cost", async (_, data, kind) => {
  const { chunks, error } = await chunksOf(start, open, hello, data);
  expect(error).toMatchObject({ name: "UpstreamError", kind });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 1 } });
});

test("a stream that never began costs nothing", async () => {
  const { chunks, error } = await chunksOf({ type: "ping" });
  expect(chunks).toEqual([]);
  expect(error).toMatchObject({ kind: "bad_response" });
});

test.each([[null], ["text"], [{}], [{ content: "text" }]])("the answer %p is not a message", (answer) => {
  expect(() => fromMessage(answer as never, plain, 0)).toThrow(UpstreamError);
});
