import { describe, expect, test } from "bun:test";
import { normalizeCompletion, StreamNormalizer } from "../../../../src/kernel/normalize/answer.ts";
import { UsageMeter } from "../../../../src/kernel/normalize/usage-meter.ts";
import { fitCallId } from "../../../../src/lib/call-ids.ts";
import type { ChatChunk, ChatCompletion, Message } from "../../../../src/provider/index.ts";

const head = { id: "chatcmpl-1", created: 1, model: "m" };
const nameDefault = "get_weather";

/** The ids of the calls of a whole answer. */
function wholeIds(ids: readonly unknown[], messages: Message[] = [], name = nameDefault): string[] {
  const calls = ids.map((id) => ({ id, type: "function", function: { name, arguments: "{}" } }));
  const message = { role: "assistant", content: null, tool_calls: calls };
  const raw = { choices: [{ index: 0, message, finish_reason: "tool_calls" }] } as unknown as ChatCompletion;
  return (normalizeCompletion(raw, head, { messages }).choices[0]?.message.tool_calls ?? []).map(({ id }) => id);
}

/** The ids of the calls of a streamed answer. Each call has its arguments in two pieces, which repeat its id. */
function streamedIds(ids: readonly unknown[], messages: Message[] = [], name = nameDefault): string[] {
  const normalizer = new StreamNormalizer(head, new UsageMeter(async () => ({})), { messages });
  const chunkOf = (piece: object) =>
    ({ choices: [{ index: 0, delta: { tool_calls: [piece] }, finish_reason: null }] }) as unknown as ChatChunk;
  const raw = ids.flatMap((id, index) => [
    chunkOf({ index, id, type: "function", function: { name, arguments: "" } }),
    chunkOf({ index, id, function: { arguments: '{"a":' } }),
    chunkOf({ index, id, function: { arguments: "1}" } }),
  ]);
  const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] } as ChatChunk;
  const chunks = [...raw, end].flatMap((chunk) => normalizer.push(chunk));
  const pieces = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
  const given: string[] = [];
  for (const { index = 0, id } of pieces) if (id !== undefined) given[index] ??= id;
  // A client puts a call together by its index; an id that comes again is that of its call.
  for (const { index = 0, id } of pieces) if (id !== undefined) expect(id).toBe(given[index] as string);
  return given;
}

const readers = { whole: wholeIds, streamed: streamedIds };

const made = /^call_[a-z0-9]{24}$/;

describe.each(Object.keys(readers) as (keyof typeof readers)[])("the id of a call in an answer that is %s", (form) => {
  const idsOf = readers[form];

  test.each([
    [undefined],
    [null],
    [""],
    [" "],
    [0],
    [17],
    [{}],
    [true],
    ["0"],
    ["12"],
    ["call_0"],
    ["call_1"],
    ["call-2"],
    ["call0"],
    ["Call_9999"],
    ["tool_call_3"],
    ["toolu_1"],
    ["toolu_01"],
    ["tooluse_1"],
    ["fc_2"],
    ["chatcmpl-tool-0"],
    ["function-call-4"],
    ["call_0_1"],
    [nameDefault],
    ["get_weather_0"],
    ["call_get_weather"],
    ["call_get_weather_1"],
    ["functions.get_weather"],
  ])("is a new one in place of %j, which may come again", (id) => {
    const [first, second] = [idsOf([id])[0], idsOf([id])[0]];
    expect(first).toMatch(made);
    expect(second).toMatch(made);
    expect(second).not.toBe(first as string);
  });

  test.each([
    "call_Qm4vT9xZ1b2c3d4e5f6g7h8i",
    "call_d5wg",
    "call_82830369",
    "call_-8289374650912",
    "call_00_k3XcQ9vT1mZ7pLr2WsYb",
    "call_0_2c6f1a3e-9d1b-4c83-b1de-7f0a5f0e3b11",
    "call_function_tpwkgxrt6d4u_1",
    "chatcmpl-tool-9c2e4f9fd6c94f8c9c1e4bdc2e0a8f51",
    "toolu_01A09q90qw90lq917835lq9",
    "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q",
    "fc_4f5c2d9e-2f43-4c2a-9c0f-0f3a3a0f8f8b",
    "function-call-13168214103853846373",
    "D681PevKs",
    "V9qEoTzYw8fLh3RkJm2NxPaBcD5sGu7i",
    "get_weather_8f1k2j3h4g5d",
    "functions.get_weather:0",
    "get_weather:3",
  ])("stays %s, as its provider wrote it", (id) => {
    expect(idsOf([id])).toEqual([id]);
  });

  test("is a new one where the conversation or the answer has it already, in whatever form its client was given it", () => {
    for (const id of ["call_Qm4vT9xZ", "functions.get_weather:0"]) {
      for (const known of [id, fitCallId(id, "messages"), fitCallId(id, "responses")]) {
        const call = { id: known, type: "function" as const, function: { name: nameDefault, arguments: "{}" } };
        const messages: Message[] = [
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: known, content: "mild" },
        ];
        expect(idsOf([id], messages)).toEqual([expect.stringMatching(made)]);
      }
      expect(new Set(idsOf([id, `${id}x`, id].map((one, place) => (place === 1 ? "D681PevKs" : one)))).size).toBe(3);
    }
  });

  test("is one of its own for each of many calls that have the same", () => {
    for (const id of ["call_0", "", "get_weather", undefined]) {
      const ids = Array.from({ length: form === "whole" ? 20 : 1 }, () => id);
      expect(new Set(idsOf(ids)).size).toBe(ids.length);
    }
    expect(new Set(idsOf(["call_0", "call_1", "call_2", "call_3"])).size).toBe(4);
  });
});

test("the name of a call is known before its id is chosen, also where it comes in pieces", () => {
  const tools = ["get", "get_weather"].map((name) => ({ type: "function" as const, function: { name } }));
  const normalizer = new StreamNormalizer(head, new UsageMeter(async () => ({})), { tools });
  const chunkOf = (piece: object) =>
    ({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...piece }] }, finish_reason: null }] }) as ChatChunk;
  const chunks = [
    chunkOf({ id: "get_weather", function: { name: "get", arguments: "" } }),
    chunkOf({ function: { name: "_weather", arguments: "" } }),
    chunkOf({ function: { arguments: "{}" } }),
  ].flatMap((chunk) => normalizer.push(chunk));
  const [first] = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
  expect(first).toMatchObject({ id: expect.stringMatching(made), function: { name: "get_weather" } });
});
