import { expect, test } from "bun:test";
import { ResponsesRepair } from "../../../../src/protocols/responses/repair.ts";
import { randomBelow } from "../../../support/random.ts";

/**
 * Streams of servers that leave out what is empty, or give an item another id or place in each event. Codex drops such an item
 * with all its events; the AI SDK does not find it. Reports: QuantumNous/new-api#7087, lidge-jun/opencodex#893 and #2131,
 * caozhiyuan/copilot-api#72, makecindy/cindy#4509.
 */
// biome-ignore lint/suspicious/noExplicitAny: events with and without their members.
type Loose = Record<string, any>;

const summary = [{ type: "summary_text", text: "Hm" }];
const content = [{ type: "output_text", text: "Hello", annotations: [] }];
const items: Loose[] = [
  { type: "reasoning", id: "rs_a", status: "completed", summary },
  { type: "message", id: "msg_a", role: "assistant", status: "completed", content },
  { type: "function_call", id: "fc_a", call_id: "call_a", name: "look", arguments: '{"a":1}', status: "completed" },
  { type: "function_call", id: "fc_b", call_id: "call_b", name: "look", arguments: '{"b":2}', status: "completed" },
];

/** The events of an item as OpenAI sends them. */
function eventsOf(item: Loose, output_index: number): Loose[] {
  const at = { output_index, item_id: item.id };
  const status = "in_progress";
  const done = { type: "response.output_item.done", output_index, item };
  const added = (empty: object) => ({
    type: "response.output_item.added",
    output_index,
    item: { ...item, status, ...empty },
  });
  if (item.type === "function_call") {
    const { arguments: text } = item;
    const pieces = [text.slice(0, 3), text.slice(3)];
    const deltas = pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta }));
    return [
      added({ arguments: "" }),
      ...deltas,
      { type: "response.function_call_arguments.done", ...at, arguments: text },
      done,
    ];
  }
  const isThought = item.type === "reasoning";
  const [list, index] = isThought ? ["summary", "summary_index"] : ["content", "content_index"];
  const [part, text] = isThought
    ? ["reasoning_summary_part", "reasoning_summary_text"]
    : ["content_part", "output_text"];
  const [whole] = item[list as string];
  const inPart = { ...at, [index as string]: 0 };
  return [
    added({ [list as string]: [] }),
    { type: `response.${part}.added`, ...inPart, part: { ...whole, text: "" } },
    { type: `response.${text}.delta`, ...inPart, delta: whole.text.slice(0, 1) },
    { type: `response.${text}.delta`, ...inPart, delta: whole.text.slice(1) },
    { type: `response.${text}.done`, ...inPart, text: whole.text },
    { type: `response.${part}.done`, ...inPart, part: whole },
    done,
  ];
}

const head = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "m",
  status: "in_progress",
  output: [],
  usage: null,
};
const usage = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 34,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 46,
};

function wholeStream(): Loose[] {
  const events = [
    { type: "response.created", response: head },
    ...items.flatMap(eventsOf),
    { type: "response.completed", response: { ...head, status: "completed", output: items, usage } },
  ];
  // By its text, so that no two events share an object.
  return JSON.parse(JSON.stringify(events.map((event, sequence_number) => ({ ...event, sequence_number }))));
}

const heldIn = (event: Loose): Loose[] => [event.item, ...(event.response?.output ?? [])].filter(Boolean);
const partsIn = (event: Loose): Loose[] =>
  [event.part, ...heldIn(event).flatMap(({ content = [] }) => content)].filter(Boolean);
function without(holder: Loose, ...fields: string[]): void {
  for (const field of fields) delete holder[field];
}

/** What a server does otherwise. */
const deviations: Record<string, (events: Loose[]) => Loose[]> = {
  "leaves out lists that are empty": (events) => {
    for (const item of events.flatMap(heldIn)) {
      if (item.content?.length === 0) delete item.content;
      if (item.summary?.length === 0) delete item.summary;
    }
    return events;
  },
  "leaves out texts that are empty": (events) => {
    for (const holder of [...events.flatMap(heldIn), ...events.flatMap(partsIn)]) {
      if (holder.text === "") delete holder.text;
      if (holder.arguments === "") delete holder.arguments;
    }
    return events;
  },
  "leaves out the role and annotations": (events) => {
    for (const item of events.flatMap(heldIn)) delete item.role;
    for (const part of events.flatMap(partsIn)) delete part.annotations;
    return events;
  },
  "leaves out the arguments of a whole call": (events) => {
    for (const event of events) if (event.type === "response.output_item.done") delete event.item.arguments;
    return events;
  },
  "makes an id anew for each event": (events) => {
    let count = 0;
    for (const event of events) {
      if (event.item_id) event.item_id = `x${count++}`;
      if (event.item) event.item.id = `x${count++}`;
    }
    return events;
  },
  "has no ids of items": (events) => {
    for (const event of events) without(event, "item_id");
    for (const item of events.flatMap(heldIn)) delete item.id;
    return events;
  },
  "leaves the id out of whole items": (events) => {
    for (const event of events) if (!event.type.endsWith(".added")) for (const item of heldIn(event)) delete item.id;
    return events;
  },
  "has no places": (events) => {
    for (const event of events) without(event, "output_index", "content_index", "summary_index");
    return events;
  },
  "has all items at one place": (events) => {
    for (const event of events) if ("output_index" in event) event.output_index = 0;
    return events;
  },
  "does not end its items": (events) => events.filter(({ type }) => type !== "response.output_item.done"),
  "lists no items at the end": (events) => {
    (events.at(-1) as Loose).response.output = [];
    return events;
  },
  "has a bare response": (events) => {
    for (const { response } of events) if (response) without(response, ...(response.usage ? [] : ["output", "id"]));
    return events;
  },
  "reports bare usage": (events) => {
    const { usage } = (events.at(-1) as Loose).response;
    Object.assign(usage, { input_tokens_details: {}, output_tokens_details: {} });
    delete usage.total_tokens;
    return events;
  },
  "has no numbers of events": (events) => {
    for (const event of events) delete event.sequence_number;
    return events;
  },
};

/** Deviations that leave nothing by which items could be told apart. */
const impossible = [
  ["has all items at one place", "makes an id anew for each event"],
  ["has all items at one place", "has no ids of items", "does not end its items"],
  ["has no places", "makes an id anew for each event"],
  ["has no places", "has no ids of items", "does not end its items"],
];

function repaired(names: readonly string[]): Loose[] {
  let events = wholeStream();
  for (const name of names) events = (deviations[name] as (typeof deviations)[string])(events);
  const repair = new ResponsesRepair();
  return events.flatMap((event) => {
    repair.repair(event, 1);
    const missing = repair.missingBefore(event).map(({ data }) => JSON.parse(data) as Loose);
    return [...missing, event];
  });
}

/** The items as Codex takes them, which reads each strictly. */
function readAsCodex(events: Loose[]): Loose[] {
  const done: Loose[] = [];
  let isActive = false;
  for (const event of events) {
    if (event.type === "response.output_item.added" || event.type === "response.output_item.done") {
      expectItem(event.item);
      isActive = event.type.endsWith(".added");
      if (!isActive) done.push(event.item);
    } else if (event.type.endsWith("_text.delta")) expect(isActive).toBe(true);
    if (event.type !== "response.completed") continue;
    expect(event.response.id).toBeString();
    expect(event.response.usage).toEqual(usage);
  }
  return done;
}

function expectItem(item: Loose): void {
  if (item.type === "reasoning") expect(item.summary).toBeArray();
  if (item.type === "function_call")
    expect([item.name, item.arguments, item.call_id].every((text) => typeof text === "string")).toBe(true);
  if (item.type !== "message") return;
  expect(item.role).toBe("assistant");
  expect(item.content).toBeArray();
  for (const part of item.content) {
    expect(part.text).toBeString();
    expect(part.annotations).toBeArray();
  }
}

/** Looks for each event's item by its id and by its place, as SDKs do. */
function expectLocated(events: Loose[]): void {
  const ids = new Map<number, string>();
  let last = -1;
  for (const event of events) {
    if (typeof event.sequence_number === "number") {
      expect(event.sequence_number).toBeGreaterThan(last);
      last = event.sequence_number;
    }
    if (event.response) {
      expect(event.response.id).toBeString();
      expect(event.response.output).toBeArray();
    }
    if (event.type.startsWith("response.output_item")) {
      if (event.type.endsWith(".added")) {
        expect(ids.has(event.output_index) || [...ids.values()].includes(event.item.id)).toBe(false);
        ids.set(event.output_index, event.item.id);
      }
      expect(ids.get(event.output_index)).toBe(event.item.id);
    } else if (!event.response) expect(ids.get(event.output_index)).toBe(event.item_id);
  }
  expect([...ids.values()].every((id) => /^(?:msg|rs|fc|x)_?\w+$/.test(id))).toBe(true);
}

const bare = ({ id: _, status: __, ...item }: Loose) => item;

function expectWhole(names: readonly string[]): void {
  try {
    const events = repaired(names);
    expect(readAsCodex(events).map(bare)).toEqual(items.map(bare));
    expect((events.at(-1) as Loose).response.output.map(bare)).toEqual(items.map(bare));
    expectLocated(events);
  } catch (cause) {
    throw new Error(`A server that ${names.join(", ") || "is perfect"}: ${(cause as Error).message}`, { cause });
  }
}

const names = Object.keys(deviations);
const isPossible = (chosen: readonly string[]) => !impossible.some((set) => set.every((name) => chosen.includes(name)));

test("a stream that lacks nothing is left as it came", () => {
  const repair = new ResponsesRepair();
  for (const event of wholeStream()) {
    const before = JSON.stringify(event);
    expect(repair.repair(event, 1)).toBe(false);
    expect(repair.missingBefore(event)).toEqual([]);
    expect(JSON.stringify(event)).toBe(before);
  }
});

test("clients get each item whole, once and under one id and place, whatever one or two things a server does otherwise", () => {
  for (const one of names)
    for (const other of names) if (isPossible([one, other])) expectWhole([...new Set([one, other])]);
});

test("and whatever any number of things, by chance", () => {
  const below = randomBelow(Number(process.env.SEED ?? 7));
  for (let round = 0; round < 500; round++) {
    const chosen = names.filter(() => below(3) === 0);
    if (isPossible(chosen)) expectWhole(chosen);
  }
});
