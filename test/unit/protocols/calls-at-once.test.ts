import { expect, test } from "bun:test";
import { ConverseStream } from "../../../plugins/bedrock/stream.ts";
import { MessagesOutboundStream } from "../../../src/protocols/messages/provider-stream.ts";
import { ResponsesOutboundStream } from "../../../src/protocols/responses/provider-stream.ts";
import type { ChatStream, ServerEvent } from "../../../src/provider/index.ts";

/** The calls as a client puts them together. */
function callsOf(stream: ChatStream<ServerEvent>, events: readonly ServerEvent[]): string[] {
  const calls: string[] = [];
  const chunks = [...events.flatMap((event) => stream.push(event)), ...stream.end()];
  for (const piece of chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []))) {
    const index = piece.index as number;
    calls[index] = (calls[index] ?? `${piece.id} ${piece.function?.name} `) + (piece.function?.arguments ?? "");
  }
  return calls;
}

const toEvents = (payloads: readonly object[]) =>
  payloads.map((payload): ServerEvent => ({ event: "message", data: JSON.stringify(payload) }));
const claude = (...payloads: object[]) =>
  callsOf(
    new MessagesOutboundStream([], {}),
    toEvents([...payloads, { type: "message_delta", delta: { stop_reason: "tool_use" } }, { type: "message_stop" }]),
  );
const toolUse = (index: unknown, id: string, name: string) => ({
  type: "content_block_start",
  index,
  content_block: { type: "tool_use", id, name, input: {} },
});
const json = (index: unknown, partial_json: string) => ({
  type: "content_block_delta",
  index,
  delta: { type: "input_json_delta", partial_json },
});

test("blocks of Messages that are open at once are told apart by their index, and end with the message", () => {
  const calls = claude(toolUse(0, "a", "f"), toolUse(1, "b", "g"), toolUse(2, "c", "h"), json(0, "{1"), json(1, "{2}"));
  expect(calls).toEqual(["a f {1", "b g {2}", "c h {}"]);
  const same = claude(toolUse(0, "a", "f"), json(0, "{1}"), toolUse(0, "b", "g"), json(0, "{2}"));
  expect(same).toEqual(["a f {1}", "b g {2}"]);
  const none = claude(toolUse(undefined, "a", "f"), json(undefined, "{1}"), toolUse(undefined, "b", "g"));
  expect(none).toEqual(["a f {1}", "b g {}"]);
  expect(() => claude(json(0, "{1}"))).toThrow("has not begun");
});

const responses = (...payloads: object[]) =>
  callsOf(
    new ResponsesOutboundStream([], () => undefined),
    toEvents([...payloads, { type: "response.completed", response: { status: "completed", output: [] } }]),
  );
const item = (call_id: string, name: string, id: string, text = "") => ({
  type: "function_call",
  id,
  call_id,
  name,
  arguments: text,
});
const added = (output_index: unknown, value: object) => ({
  type: "response.output_item.added",
  output_index,
  item: value,
});
const done = (output_index: unknown, value: object) => ({
  type: "response.output_item.done",
  output_index,
  item: value,
});
const piece = (output_index: unknown, item_id: unknown, delta: string) => ({
  type: "response.function_call_arguments.delta",
  output_index,
  item_id,
  delta,
});

test("items of Responses are told apart by their ids or by their place, whichever a server keeps", () => {
  const [f, g] = [item("a", "f", "i1"), item("b", "g", "i2")];
  const wanted = ["a f {1}", "b g {2}"];
  const byId = [added(0, f), added(0, g), piece(0, "i1", "{1}"), piece(0, "i2", "{2}")];
  expect(responses(...byId)).toEqual(wanted);
  const byPlace = [added(0, f), added(1, g), piece(0, "x", "{1}"), piece(1, "y", "{2}"), done(0, item("a", "f", "z"))];
  expect(responses(...byPlace)).toEqual(wanted);
  const byOrder = [
    added(undefined, f),
    piece(undefined, undefined, "{1}"),
    done(undefined, { ...f, arguments: "{1}" }),
  ];
  expect(responses(...byOrder, added(undefined, g), piece(undefined, undefined, "{2}"))).toEqual(wanted);
  const wholeItems = [done(0, { ...f, arguments: "{1}" }), done(0, { ...g, arguments: "{2}" })];
  expect(responses(...wholeItems)).toEqual(wanted);
  const atTheEnd = { type: "response.function_call_arguments.done", output_index: 0, item_id: "i1", arguments: "{1}" };
  expect(responses(added(0, f), atTheEnd, done(0, { ...f, arguments: "{1}" }))).toEqual(["a f {1}"]);
  expect(responses(added(0, f), added(0, f), piece(0, "i1", "{1}"))).toEqual(["a f {1}"]);
});

test("blocks of Converse that are open at once are told apart by their index", () => {
  const start = (contentBlockIndex: number, toolUseId: string, name: string): ServerEvent => ({
    event: "contentBlockStart",
    data: JSON.stringify({ contentBlockIndex, start: { toolUse: { toolUseId, name } } }),
  });
  const grow = (contentBlockIndex: number, input: string): ServerEvent => ({
    event: "contentBlockDelta",
    data: JSON.stringify({ contentBlockIndex, delta: { toolUse: { input } } }),
  });
  const stop = { event: "messageStop", data: JSON.stringify({ stopReason: "tool_use" }) };
  const events = [start(0, "a", "f"), start(1, "b", "g"), grow(0, "{1}"), grow(1, "{2}"), start(1, "c", "h"), stop];
  const calls = callsOf(new ConverseStream([], { firstOnly: false }), events);
  expect(calls).toEqual(["a f {1}", "b g {2}", "c h {}"]);
});
