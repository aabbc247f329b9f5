import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import OpenAI from "openai";
import { GatewayError, UpstreamError } from "../../../../src/contract/index.ts";
import { formatEvents } from "../../../../src/protocols/inbound.ts";
import { type ResponseEvent, ResponseStream, toResponse } from "../../../../src/protocols/responses/client-stream.ts";
import type { OutputItem, ResponseObject } from "../../../../src/protocols/responses/schema.ts";
import type { ChatChunk, ChatCompletion, ChunkChoice } from "../../../../src/provider/index.ts";
import { runs } from "../../../support/hostile.ts";
import { faultsOf, schemaMissing } from "../../../support/openai-schema.ts";
import { eventsOf, goldenCases, head, planFor, sent } from "./support.ts";

if (schemaMissing !== undefined) console.warn(schemaMissing);

interface Golden {
  about: string;
  request: object;
  chunks: ChatChunk[];
  events: ResponseEvent[];
}

const answers = goldenCases<Golden>("answers");

describe("an answer in chunks", () => {
  test.each(answers)("%s", (_, { request, chunks, events }) => {
    expect(sent(eventsOf(planFor(request), chunks))).toEqual(events);
  });

  test.each(answers)("%s: as OpenAI describes its events", (_, { request, chunks }) => {
    if (schemaMissing !== undefined) return;
    for (const event of sent(eventsOf(planFor(request), chunks))) {
      expect([event.type, ...faultsOf("ResponseStreamEvent", event)]).toEqual([event.type]);
    }
  });

  test.each(answers)("%s: as OpenAI's own library reads it", async (_, { request, chunks, events }) => {
    const body = formatEvents(eventsOf(planFor(request), chunks));
    const fetch = async () => new Response(body, { headers: { "content-type": "text/event-stream" } });
    const client = new OpenAI({ apiKey: "sk-test", baseURL: "http://127.0.0.1/v1", fetch });
    const deltas: string[] = [];
    const stream = client.responses.stream({ model: "model-1", input: "Hi" });
    stream.on("response.output_text.delta", ({ delta }) => deltas.push(delta));
    const response = await stream.finalResponse();
    const expected = events.at(-1)?.response as ResponseObject;
    expect([response.id, response.status as string]).toEqual([expected.id, expected.status]);
    expect(response.output.map(({ id }) => id)).toEqual(expected.output.map(({ id }) => id));
    expect(deltas.join("")).toBe(response.output_text);
  });
});

const tools = [
  { type: "function", name: "look", parameters: {} },
  { type: "custom", name: "patch" },
  { type: "tool_search", execution: "client" },
  { type: "namespace", name: "mail", description: "Mail", tools: [{ type: "function", name: "send" }] },
];

const text = fc.string({ unit: "grapheme", maxLength: 30 });
const toolCall = fc.oneof(
  fc.record({ name: fc.constantFrom("look", "mail__send", "unknown"), arguments: fc.string() }),
  fc.record({ name: fc.constant("patch"), arguments: text.map((input) => JSON.stringify({ input })) }),
  fc.record({ name: fc.constant("patch"), arguments: text }),
  fc.record({ name: fc.constant("tool_search"), arguments: fc.json() }),
);
const logprob = fc.record({
  token: text,
  logprob: fc.constant(-1),
  bytes: fc.constant(null),
  top_logprobs: fc.constant([]),
});
const completion = fc.record({
  reasoning: fc.option(text),
  details: fc.array(fc.record({ type: fc.constant("reasoning.text"), text, signature: text }), { maxLength: 2 }),
  content: fc.option(text),
  refusal: fc.option(text),
  calls: fc.array(toolCall, { maxLength: 4 }),
  logprobs: fc.array(logprob, { maxLength: 3 }),
  finish: fc.constantFrom("stop", "length", "content_filter", "tool_calls"),
  usage: fc.record({ prompt_tokens: fc.nat(), completion_tokens: fc.nat(), total_tokens: fc.nat() }),
  tier: fc.constantFrom(undefined, "default", "on_demand"),
});
type Said = typeof completion extends fc.Arbitrary<infer Value> ? Value : never;

const callId = (index: number) => `call_${index}`;

function toCompletion(said: Said): ChatCompletion {
  const calls = said.calls.map((call, index) => ({ id: callId(index), type: "function", function: call }));
  const message = {
    role: "assistant",
    content: said.content,
    refusal: said.refusal,
    ...(said.reasoning !== null && { reasoning_content: said.reasoning }),
    ...(said.details.length > 0 && { reasoning_details: said.details }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  // Log probabilities come with text, never alone.
  const logprobs = said.content ? { content: said.logprobs, refusal: null } : null;
  const choices = [{ index: 0, message, logprobs, finish_reason: said.finish }];
  const completed = { id: "x", object: "chat.completion", created: 1, model: "m", choices, usage: said.usage };
  return { ...completed, service_tier: said.tier } as unknown as ChatCompletion;
}

/** The same answer in pieces of random sizes. */
function* toPieces(said: Said, sizes: number[]): Generator<ChatChunk> {
  let turn = 0;
  const cut = function* (whole: string) {
    for (let at = 0; at < whole.length; ) {
      const size = sizes[turn++ % sizes.length] as number;
      yield whole.slice(at, at + size);
      at += size;
    }
  };
  const chunk = (delta: ChunkChoice["delta"], rest: object = {}): ChatChunk => ({
    choices: [{ index: 0, delta, finish_reason: null, ...rest }],
    ...(said.tier !== undefined && { service_tier: said.tier }),
  });
  yield chunk({ role: "assistant", content: "", refusal: null });
  for (const piece of cut(said.reasoning ?? "")) yield chunk({ reasoning_content: piece });
  for (const detail of said.details) yield chunk({ reasoning_details: [detail] });
  let logprobs: unknown = { content: said.logprobs };
  for (const piece of cut(said.content ?? "")) {
    yield chunk({ content: piece }, { logprobs });
    logprobs = null;
  }
  for (const piece of cut(said.refusal ?? "")) yield chunk({ refusal: piece });
  for (const [index, call] of said.calls.entries()) {
    const first = { name: call.name, arguments: "" };
    yield chunk({ tool_calls: [{ index, id: callId(index), type: "function", function: first }] });
    for (const piece of cut(call.arguments)) yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  yield chunk({}, { finish_reason: said.finish });
  yield { choices: [], usage: said.usage };
}

/** The output of the last event's response. */
function outputOf(events: readonly ResponseEvent[]): OutputItem[] {
  const response = events.at(-1)?.response as ResponseObject | undefined;
  return (response?.output ?? []) as OutputItem[];
}

const textOf = ({ content }: OutputItem) => (content as { text?: string }[]).map((part) => part.text).join("|");

/** Puts the events of items together, and holds them to their order. */
function assemble(events: readonly ResponseEvent[]): OutputItem[] {
  const items: OutputItem[] = [];
  let open: (OutputItem & { parts: number }) | undefined;
  const grown = new Map<string, string>();
  for (const [index, event] of events.entries()) {
    expect(event.sequence_number).toBe(index);
    const { type, item_id: id, delta } = event;
    if (type === "response.output_item.added") {
      expect([open, event.output_index]).toEqual([undefined, items.length]);
      open = { ...(event.item as OutputItem), parts: 0 };
    } else if (type === "response.output_item.done") {
      const item = event.item as OutputItem;
      expect([item.id, event.output_index]).toEqual([open?.id as string, items.length]);
      items.push(item);
      open = undefined;
      grown.clear();
    } else if (id !== undefined) {
      expect([id, event.output_index]).toEqual([open?.id, items.length]);
      const kind = `${type.replace(/\.(delta|done|added)$/, "")} ${event.content_index ?? event.summary_index ?? ""}`;
      if (delta !== undefined) grown.set(kind, (grown.get(kind) ?? "") + delta);
      const whole = event.text ?? event.refusal ?? event.arguments ?? event.input;
      if (whole !== undefined) expect(whole).toBe(grown.get(kind) ?? "");
    }
  }
  expect(open).toBeUndefined();
  return items;
}

describe("any answer", () => {
  const include = ["reasoning.encrypted_content"];
  const plan = planFor({ tools, include, top_logprobs: 1 });

  test("streamed ends in the same response as the whole one", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
    fc.assert(
      fc.property(completion, sizes, (said, pieces) => {
        const events = eventsOf(plan, [...toPieces(said, pieces)]);
        const last = events.at(-1);
        const whole = toResponse(toCompletion(said), plan, head);
        expect(last?.response as ResponseObject).toEqual(whole);
        expect(last?.type).toBe(`response.${whole.status}`);
        expect(assemble(events)).toEqual(whole.output);
      }),
      runs(300),
    );
  });

  test("whole is what OpenAI describes", () => {
    if (schemaMissing !== undefined) return;
    fc.assert(
      fc.property(completion, (said) => {
        expect(faultsOf("Response", sent(toResponse(toCompletion(said), plan, head)))).toEqual([]);
      }),
      runs(30),
    );
  });
});

const chunkOf = (delta: ChunkChoice["delta"]): ChatChunk => ({ choices: [{ index: 0, delta, finish_reason: null }] });
const callChunk = (index: number, id: string | undefined, piece: string): ChatChunk =>
  chunkOf({ tool_calls: [{ index, ...(id !== undefined && { id }), function: { name: "look", arguments: piece } }] });

describe("a stream", () => {
  test("that breaks off ends in response.failed, with the items that were complete", () => {
    const stream = new ResponseStream(planFor(), head);
    const sentence = "The provider's stream ended before the answer was complete";
    stream.push(chunkOf({ reasoning_content: "Hm" }));
    stream.push(chunkOf({ content: "Hel" }));
    stream.push({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } });
    const [event, ...others] = stream.fail(new GatewayError("upstream_error", sentence));
    expect(others).toEqual([]);
    const response = event?.response as ResponseObject;
    expect([event?.type, response.status, response.error]).toEqual([
      "response.failed",
      "failed",
      { code: "server_error", message: sentence },
    ]);
    expect(response.output.map(({ type }) => type)).toEqual(["reasoning"]);
    expect(response.usage?.output_tokens).toBe(2);
    if (schemaMissing === undefined) expect(faultsOf("ResponseStreamEvent", sent(event))).toEqual([]);
  });

  test("that fails before its first chunk begins all the same", () => {
    const events = new ResponseStream(planFor(), head).fail(new GatewayError("unavailable", "Shutting down"));
    expect(events.map(({ type }) => type)).toEqual(["response.created", "response.in_progress", "response.failed"]);
  });

  test("refuses a piece of a call that was complete when another one followed", () => {
    const stream = new ResponseStream(planFor({ tools }), head);
    stream.push(callChunk(0, "call_0", "{}"));
    stream.push(callChunk(1, "call_1", "{"));
    expect(() => stream.push(callChunk(0, undefined, "}"))).toThrow(UpstreamError);
  });

  const callsOf = (events: ResponseEvent[]) =>
    outputOf(events).map(({ call_id, arguments: text, status }) => [call_id, text, status]);

  test.each([
    ["announced before their arguments, which come one after the other", [0, 0, 1, 1]],
    ["announced before their arguments, which come in turns", [0, 1, 0, 1]],
    ["announced before their arguments, which come the other way round", [1, 1, 0, 0]],
  ])("has the calls whole that were %s, and no item in another", (_, turns) => {
    const pieces = [
      ['{"q":"}', '\\"{"}'],
      ['{"a":[1', ",2]}"],
    ].map((texts) => [...texts]);
    const chunks = turns.map((index) => callChunk(index, undefined, pieces[index]?.shift() as string));
    const events = eventsOf(planFor({ tools }), [callChunk(0, "call_0", ""), callChunk(1, "call_1", ""), ...chunks]);
    expect(callsOf(events)).toEqual([
      ["call_0", '{"q":"}\\"{"}', "completed"],
      ["call_1", '{"a":[1,2]}', "completed"],
    ]);
    const places = events.flatMap(({ output_index: at }) => (typeof at === "number" ? [at] : []));
    expect(places).toEqual(places.toSorted());
  });

  test("gives a call out as soon as it is complete, not at the end of the answer", () => {
    const stream = new ResponseStream(planFor({ tools }), head);
    stream.push(callChunk(0, "call_0", ""));
    stream.push(callChunk(1, "call_1", ""));
    const events = stream.push(callChunk(0, undefined, "{}"));
    expect(events.map(({ type }) => type)).toContain("response.output_item.done");
  });

  test("keeps words that come before a call has its arguments for after it", () => {
    const chunks = [callChunk(0, "call_0", ""), chunkOf({ content: "Wait" }), callChunk(0, undefined, "{}")];
    expect(outputOf(eventsOf(planFor({ tools }), chunks)).map(({ type }) => type)).toEqual([
      "function_call",
      "message",
    ]);
  });

  test("has calls without arguments, and marks those that a limit cut", () => {
    const chunks = [callChunk(0, "call_0", '{"a'), callChunk(1, "call_1", "")];
    expect(callsOf(eventsOf(planFor({ tools }), chunks)).map(([id, , status]) => [id, status])).toEqual([
      ["call_0", "completed"],
      ["call_1", "completed"],
    ]);
    const cut = { choices: [{ index: 0, delta: {}, finish_reason: "length" as const }] };
    expect(callsOf(eventsOf(planFor({ tools }), [...chunks, cut])).map(([, , status]) => status)).toEqual([
      "incomplete",
      "incomplete",
    ]);
  });

  test("keeps thoughts that come late in an item of their own", () => {
    const details = [{ type: "reasoning.text", text: "Hm", signature: "s" }];
    const plan = planFor({ include: ["reasoning.encrypted_content"] });
    const events = eventsOf(plan, [chunkOf({ content: "Hi" }), chunkOf({ reasoning_details: details })]);
    expect(outputOf(events)[1]).toEqual({
      id: "rs_0abc_1",
      type: "reasoning",
      status: "completed",
      summary: [],
      encrypted_content: `sealed:${JSON.stringify({ details })}`,
    });
  });

  test("makes no message of blank text before a thought or a call, and loses none of an answer", () => {
    const blank = chunkOf({ content: "\n" });
    const textsOf = (...chunks: ChatChunk[]) =>
      outputOf(eventsOf(planFor({ tools }), chunks)).map((item) =>
        item.type === "message" ? textOf(item) : item.type,
      );
    const thought = chunkOf({ reasoning_content: "Hm" });
    expect(textsOf(blank, blank, thought, blank, chunkOf({ content: "4" }))).toEqual(["reasoning", "\n\n\n4"]);
    expect(textsOf(blank, callChunk(0, "call_0", "{}"))).toEqual(["function_call"]);
    expect(textsOf(blank, blank)).toEqual(["\n\n"]);
    expect(textsOf(chunkOf({ content: "4" }), blank)).toEqual(["4\n"]);
  });

  test("seals thoughts for those who ask and for what is stored, and for nobody else", () => {
    const thought = [chunkOf({ reasoning_content: "Hm" })];
    const isSealed = (plan: ReturnType<typeof planFor>) =>
      outputOf(eventsOf(plan, thought)).some((item) => "encrypted_content" in item);
    expect(isSealed(planFor())).toBe(false);
    expect(isSealed({ ...planFor(), stored: true, sealsThoughts: true })).toBe(true);
    expect(isSealed(planFor({ include: ["reasoning.encrypted_content"] }))).toBe(true);
  });

  test("says each type twice, and no more", () => {
    const text = formatEvents(new ResponseStream(planFor(), head).push(chunkOf({ content: "a\nb" })));
    const events = text.split("\n\n").slice(0, -1);
    expect(events.length).toBe(5);
    for (const event of events) {
      const [name, data, ...rest] = event.split("\n");
      expect([name, rest]).toEqual([`event: ${JSON.parse(data?.slice(6) ?? "").type}`, []]);
    }
  });
});
