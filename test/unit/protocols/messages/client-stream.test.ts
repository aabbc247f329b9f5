import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import fc from "fast-check";
import { toChunks } from "../../../../src/kernel/normalize/answer.ts";
import { toNamedEvent } from "../../../../src/protocols/inbound.ts";
import { MessagesStream } from "../../../../src/protocols/messages/client-stream.ts";
import { type MessagesPlan, toMessagesAnswer } from "../../../../src/protocols/messages/inbound.ts";
import { MessagesAnswer, type MessagesEvent } from "../../../../src/protocols/messages/schema.ts";
import { isOwnEnvelope } from "../../../../src/protocols/reasoning.ts";
import type { ChatChunk, ChatCompletion } from "../../../../src/provider/index.ts";
import { randomBelow } from "../../../support/random.ts";
import { accumulate, chunkOf, envelope, planOf } from "./support.ts";

const shown = planOf({ thinking: { type: "adaptive" } });
const omitted = planOf({ thinking: { type: "adaptive", display: "omitted" } });
const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } };

function eventsOf(plan: MessagesPlan, ...chunks: ChatChunk[]): MessagesEvent[] {
  const stream = new MessagesStream(plan);
  return [...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.end()];
}

const blocksOf = (plan: MessagesPlan, ...chunks: ChatChunk[]) => accumulate(eventsOf(plan, ...chunks)).content;
const callChunk = (index: number, piece: string, id?: string) =>
  chunkOf({ tool_calls: [{ index, ...(id && { id }), function: { ...(id && { name: "look" }), arguments: piece } }] });

describe("the events of a stream", () => {
  test("come in the protocol's order with their names", async () => {
    const detail = { type: "reasoning.text", text: "Hm", signature: "c2ln", format: "anthropic-claude-v1", index: 0 };
    const chunks = [
      chunkOf({ role: "assistant", content: "" }),
      chunkOf({ reasoning_content: "Hm" }),
      chunkOf({ reasoning_details: [detail] }),
      chunkOf({ content: "A" }),
      callChunk(0, "", "call_1"),
      callChunk(0, '{"at":1}'),
      chunkOf({}, "tool_calls"),
      usage,
    ];
    const events = eventsOf(shown, ...chunks);
    const text = events.map(toNamedEvent).join("");
    const golden = new URL("../../../fixtures/messages/stream.sse", import.meta.url);
    expect(text).toBe(await Bun.file(golden).text());
  });

  test("begin with the first chunk, and end after the report of usage", () => {
    const stream = new MessagesStream(shown, () => 42);
    const [start, ...more] = stream.push(chunkOf({ role: "assistant", content: "" }));
    expect(start).toMatchObject({ type: "message_start", message: { id: "msg_1", usage: { input_tokens: 42 } } });
    expect(more).toEqual([]);
    expect(stream.push(chunkOf({}, "stop"))).toEqual([]);
    expect(stream.push(usage)).toEqual([]);
    expect(stream.end()).toMatchObject([
      { type: "message_delta", usage: { input_tokens: 10 } },
      { type: "message_stop" },
    ]);
  });

  test("follow each chunk at once", () => {
    const stream = new MessagesStream(shown);
    stream.push(chunkOf({ content: "A" }));
    expect(stream.push(chunkOf({ content: "B" }))).toEqual([
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "B" } },
    ]);
  });

  test("tell of no other choice than the first", () => {
    const other = chunkOf({ content: "B" });
    for (const choice of other.choices) choice.index = 1;
    expect(blocksOf(shown, chunkOf({ content: "A" }), other, chunkOf({}, "stop"))).toEqual([
      { type: "text", text: "A" },
    ]);
  });
});

describe("the blocks of a stream", () => {
  test("hold each call by itself, where chunks mix their pieces", () => {
    const mixed = [callChunk(0, "", "a"), callChunk(1, '{"x"', "b"), callChunk(0, '{"y":1}'), callChunk(1, ":2}")];
    const late = [chunkOf({ content: "late" }), chunkOf({ reasoning_content: "late" }), chunkOf({}, "tool_calls")];
    expect(blocksOf(shown, ...mixed, ...late)).toEqual([
      { type: "tool_use", id: "a", name: "look", input: { y: 1 } },
      { type: "tool_use", id: "b", name: "look", input: { x: 2 } },
      { type: "text", text: "late" },
    ]);
  });

  test("never hold a thought in a text", () => {
    const chunks = [{ reasoning_content: "A" }, { content: "B" }, { reasoning_content: "C" }, { content: "D" }];
    const signature = expect.stringMatching(/^mg1\./);
    expect(blocksOf(shown, ...chunks.map((delta) => chunkOf(delta)), chunkOf({}, "stop"))).toEqual([
      { type: "thinking", thinking: "A", signature },
      { type: "text", text: "B" },
      { type: "thinking", thinking: "C", signature },
      { type: "text", text: "D" },
    ]);
  });

  test("hold no text of a thought that the client does not want to see", () => {
    const events = eventsOf(
      omitted,
      chunkOf({ reasoning_content: "Hm" }),
      chunkOf({ content: "A" }),
      chunkOf({}, "stop"),
    );
    expect(JSON.stringify(events)).not.toContain("thinking_delta");
    expect(accumulate(events).content[0]).toMatchObject({ type: "thinking", thinking: "" });
  });

  test("carry arguments that are not an object in one, unless the call was cut", () => {
    const endOf = (isCut: boolean) => {
      const end = chunkOf({}, "tool_calls");
      if (isCut) for (const choice of end.choices) choice.finish_reason = "length";
      return end;
    };
    const inputOf = (isCut: boolean, ...pieces: string[]) => {
      const calls = [0, 1].flatMap((index) => [
        callChunk(index, "", `call_${index}`),
        ...pieces.map((piece) => callChunk(index, piece)),
      ]);
      return eventsOf(shown, ...calls, endOf(isCut)).flatMap((event) =>
        event.type === "content_block_delta" ? [(event.delta as { partial_json?: string }).partial_json ?? ""] : [],
      );
    };
    const carried = JSON.stringify({ INVALID_JSON: "[1]" });
    expect(inputOf(false, "[", "1]")).toEqual([carried, carried]);
    expect(inputOf(true, "[", "1")).toEqual(["[1", "[1"]);
    expect(inputOf(false, " ", "{", "}")).toEqual([" ", "{", "}", " {}"]);
  });

  test("take linear time", () => {
    const stream = new MessagesStream(shown);
    let count = 0;
    for (let index = 0; index < 200_000; index++)
      count += stream.push(callChunk(index % 2, index < 2 ? "{" : "x", undefined)).length;
    expect(count).toBeGreaterThan(100_000);
  });
});

const text = fc.string({ unit: "grapheme", maxLength: 30 });
const call = fc.record({
  id: fc.uuid(),
  type: fc.constant("function" as const),
  function: fc.record({
    name: fc.constantFrom("look", "go"),
    arguments: fc.object().map((value) => JSON.stringify(value)),
  }),
});
const detail = fc.oneof(
  fc.record({ type: fc.constant("reasoning.text"), text, signature: fc.base64String({ minLength: 4 }) }),
  fc.record({ type: fc.constant("reasoning.encrypted"), data: fc.base64String() }),
);
const details = fc.array(
  detail.map((value) => ({ ...value, format: "anthropic-claude-v1" })),
  { maxLength: 3 },
);
const completion = fc
  .record({
    content: fc.option(text),
    refusal: fc.option(text, { freq: 5 }),
    calls: fc.array(call, { maxLength: 3 }),
    details,
    thought: text,
  })
  .map(({ content, refusal, calls, details, thought }): ChatCompletion => {
    const reasoning = details.map((value) => ("text" in value ? value.text : "")).join("");
    const message = {
      role: "assistant" as const,
      content,
      refusal,
      reasoning_content: details.length > 0 ? reasoning : thought,
      ...(details.length > 0 && { reasoning_details: details }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const finish_reason = calls.length > 0 ? ("tool_calls" as const) : ("stop" as const);
    const head = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m" } as const;
    return {
      ...head,
      choices: [{ index: 0, message, finish_reason }],
      usage: { prompt_tokens: 9, completion_tokens: 3 },
    };
  });

/** A completion as a provider streams it: thoughts one by one, each with its details at its end, then text, then calls. */
function cut(completion: ChatCompletion, seed: number): ChatChunk[] {
  const below = randomBelow(seed);
  const pieces = (whole: string | null | undefined): string[] => {
    const all: string[] = [];
    for (let rest = whole ?? ""; rest !== ""; rest = rest.slice((all.at(-1) as string).length)) {
      all.push(rest.slice(0, 1 + below(5)));
    }
    return all;
  };
  const { content, refusal, reasoning_content, tool_calls = [], ...rest } = completion.choices[0]?.message ?? {};
  const { reasoning_details: details = [] } = rest as { reasoning_details?: { text?: string }[] };
  const thoughts = details.flatMap((one) => [
    ...pieces(one.text).map((piece) => chunkOf({ reasoning_content: piece })),
    chunkOf({ reasoning_details: [one] }),
  ]);
  const calls = tool_calls.flatMap(({ id, function: { name, arguments: json } }, index) => [
    chunkOf({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
    ...pieces(json).map((piece) => chunkOf({ tool_calls: [{ index, function: { arguments: piece } }] })),
  ]);
  return [
    chunkOf({ role: "assistant", content: "" }),
    ...(details.length > 0
      ? thoughts
      : pieces(reasoning_content).map((piece) => chunkOf({ reasoning_content: piece }))),
    ...pieces(content).map((piece) => chunkOf({ content: piece })),
    ...pieces(refusal).map((piece) => chunkOf({ refusal: piece })),
    ...calls,
    chunkOf({}, tool_calls.length > 0 ? "tool_calls" : "stop"),
    { choices: [], usage: completion.usage ?? null },
  ];
}

/** A completion as the kernel streams it when the provider gave it whole. */
function atOnce(completion: ChatCompletion): ChatChunk[] {
  const chunks = toChunks(structuredClone(completion)).map((chunk) => ({ ...chunkOf({}), ...chunk }));
  for (const { choices } of chunks) {
    for (const { delta } of choices) {
      if (delta.tool_calls) delta.tool_calls = delta.tool_calls.map((piece, index) => ({ ...piece, index }));
    }
  }
  return chunks;
}

/** A message with what its envelopes hold in place of them: each is sealed with another nonce. */
function opened({ content, ...message }: MessagesAnswer): object {
  const blocks = content.map(({ signature, ...block }) => {
    const isOwn = isOwnEnvelope(signature);
    return { ...block, signature: isOwn ? envelope.open(signature as string, block.thinking as string) : signature };
  });
  return { ...message, content: blocks };
}

test("a stream comes to the same message as the whole answer", () => {
  const plans = fc.constantFrom(shown, omitted, planOf());
  const property = fc.property(completion, plans, fc.nat(), (asked, plan, seed) => {
    const whole = toMessagesAnswer(structuredClone(asked), plan);
    expect([...Value.Errors(MessagesAnswer, whole)]).toEqual([]);
    expect(opened(accumulate(eventsOf(plan, ...cut(asked, seed))))).toEqual(opened(whole));
    expect(opened(accumulate(eventsOf(plan, ...atOnce(asked))))).toEqual(opened(whole));
  });
  fc.assert(property, { numRuns: 1000, seed: 21 });
});
