import { expect, test } from "bun:test";
import { ResponsesRepair } from "../../../../src/protocols/responses/repair.ts";

// biome-ignore lint/suspicious/noExplicitAny: events of all kinds.
type Loose = any;

/** The events as a client gets them. */
function repairAll(events: Loose[]): Loose[] {
  const repair = new ResponsesRepair();
  return events.map((event) => {
    const before = JSON.stringify(event);
    const isChanged = repair.repair(event, before.length);
    // An event that is not said to be changed is sent as it came.
    return JSON.parse(isChanged ? JSON.stringify(event) : before);
  });
}

const completed = (output: unknown, type = "response.completed") => ({ type, response: { id: "r", output } });
const outputOf = (events: Loose[]) => repairAll(events).at(-1).response.output;

const thought = { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "Hm, so" }] };
const message = {
  type: "message",
  id: "msg",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hello", annotations: [{ type: "url_citation" }] }],
};
const call = {
  type: "function_call",
  id: "fc",
  call_id: "c",
  name: "f",
  arguments: '{"city":"Oslo"}',
  status: "completed",
};
const custom = { type: "custom_tool_call", id: "ctc", call_id: "d", name: "g", input: "a b", status: "completed" };
const items = [thought, message, call, custom];

/** The events of a stream of the items, before its last one. */
function stream(): Loose[] {
  const place = (output_index: number) => ({ output_index, item_id: items[output_index]?.id });
  return [
    { type: "response.created", response: { id: "r", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...thought, summary: [] } },
    {
      type: "response.reasoning_summary_part.added",
      ...place(0),
      summary_index: 0,
      part: { type: "summary_text", text: "" },
    },
    { type: "response.reasoning_summary_text.delta", ...place(0), summary_index: 0, delta: "Hm, " },
    { type: "response.reasoning_summary_text.delta", ...place(0), summary_index: 0, delta: "so" },
    { type: "response.output_item.added", output_index: 1, item: { ...message, status: "in_progress", content: [] } },
    {
      type: "response.content_part.added",
      ...place(1),
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    },
    { type: "response.output_text.delta", ...place(1), content_index: 0, delta: "Hel" },
    { type: "response.output_text.delta", ...place(1), content_index: 0, delta: "lo" },
    { type: "response.content_part.done", ...place(1), content_index: 0, part: message.content[0] },
    { type: "response.output_item.added", output_index: 2, item: { ...call, status: "in_progress", arguments: "" } },
    { type: "response.output_item.added", output_index: 3, item: { ...custom, status: "in_progress", input: "" } },
    { type: "response.function_call_arguments.delta", ...place(2), delta: '{"city":' },
    { type: "response.custom_tool_call_input.delta", ...place(3), delta: "a " },
    { type: "response.function_call_arguments.delta", ...place(2), delta: '"Oslo"}' },
    { type: "response.custom_tool_call_input.delta", ...place(3), delta: "b" },
  ].map((event) => structuredClone(event));
}
const ends = () => items.map((item, output_index) => ({ type: "response.output_item.done", output_index, item }));

test("a last event without items has those that were streamed, by the events that end them or by their pieces", () => {
  for (const empty of [[], undefined, null]) {
    expect(outputOf([...stream(), ...ends(), completed(empty)])).toEqual(items);
    expect(outputOf([...stream(), completed(empty)])).toEqual(items);
  }
});

test("items are found by their ids where their places are missing, and by their places where ids change", () => {
  const unplaced = [...stream(), ...ends()].map(({ output_index: _, ...event }) => event);
  expect(outputOf([...unplaced, completed([])])).toEqual(items);
  let count = 0;
  const renamed = [...stream(), ...ends()].map((event: Loose) => {
    const item = event.item && { ...event.item, id: `x${count++}` };
    return { ...event, ...(item ? { item } : event.item_id && { item_id: `x${count++}` }) };
  });
  expect(outputOf([...renamed, completed([])]).map(({ type }: Loose) => type)).toEqual(items.map(({ type }) => type));
});

test("text whose item never began becomes one", () => {
  const delta = (delta: string) => ({ type: "response.output_text.delta", delta });
  expect(outputOf([delta("Hel"), delta("lo"), completed([])])).toMatchObject([
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Hello" }] },
  ]);
});

test("a last event of an answer that was cut leaves its open items incomplete", () => {
  const output = outputOf([...stream(), completed([], "response.incomplete")]);
  expect(output.map(({ status }: Loose) => status)).toEqual([undefined, "incomplete", "incomplete", "incomplete"]);
});

test("items in the last event stay as they are, also where others were streamed", () => {
  const other = [{ ...message, id: "other" }];
  expect(outputOf([...stream(), completed(other)])).toEqual(other);
  expect(outputOf([{ type: "response.created", response: { output: [] } }, completed([])])).toEqual([]);
});

test("places and numbers of parts beyond all bounds cost nothing", () => {
  const delta = { type: "response.output_text.delta", delta: "a" };
  const far = [4e9, -1, 0.5, "x", null].map((index) => ({ ...delta, output_index: index, content_index: index }));
  expect(JSON.stringify(outputOf([...far, completed([])])).length).toBeLessThan(1000);
  const many = Array.from({ length: 5000 }, (_, output_index) => ({ ...delta, output_index }));
  expect(outputOf([...many, completed([])]).length).toBeLessThanOrEqual(4096);
});

const plain = '{"city":"Oslo \\"N\\""}';
const encoded = JSON.stringify(plain);

test("arguments that are encoded twice become what was meant, in each event and in a whole answer", () => {
  for (const size of [1, 5, 1000]) {
    const pieces = encoded.match(new RegExp(`.{1,${size}}`, "gs")) ?? [];
    const events = repairAll([
      { type: "response.output_item.added", output_index: 0, item: { ...call, arguments: "" } },
      ...pieces.map((delta) => ({ type: "response.function_call_arguments.delta", output_index: 0, delta })),
      { type: "response.function_call_arguments.done", output_index: 0, arguments: encoded },
      { type: "response.output_item.done", output_index: 0, item: { ...call, arguments: encoded } },
      completed([{ ...call, arguments: encoded }]),
    ]);
    expect(events.map(({ delta }) => delta ?? "").join("")).toBe(plain);
    const [done, item, last] = events.slice(-3);
    expect([done.arguments, item.item.arguments, last.response.output[0].arguments]).toEqual([plain, plain, plain]);
  }
  const whole: Loose = { id: "r", status: "completed", output: [message, { ...call, arguments: encoded }] };
  expect(new ResponsesRepair().repair(whole, 0)).toBe(true);
  expect(whole.output[1].arguments).toBe(plain);
});

test("arguments that are an object become its text, and ordinary ones and texts in quotes stay", () => {
  const whole: Loose = { output: [{ ...call, arguments: { city: "Oslo" } }] };
  expect(new ResponsesRepair().repair(whole, 0)).toBe(true);
  expect(whole.output[0].arguments).toBe('{"city":"Oslo"}');
  for (const text of [call.arguments, "", '"hello"', '"{']) {
    const event = { type: "response.output_item.done", output_index: 0, item: { ...call, arguments: text } };
    expect([text, new ResponsesRepair().repair(structuredClone(event), 0)]).toEqual([text, false]);
    expect(repairAll([event])).toEqual([event]);
  }
  for (const text of ["null", "[]", '""']) {
    const part: Loose = { output: [{ ...call, arguments: text }] };
    expect(new ResponsesRepair().repair(part, 0)).toBe(true);
    expect(part.output[0].arguments).toBe("{}");
  }
  const input = { type: "response.output_item.done", output_index: 0, item: { ...custom, input: encoded } };
  expect(repairAll([input])).toEqual([input]);
});
