/**
 * Puts right what servers of the Responses protocol send otherwise than its clients expect:
 *
 * - The arguments of a call that are encoded twice, or are an object, become the text that was meant.
 * - A last event without items gets those that were streamed before it. Clients take the whole answer from that event, and would
 *   find an empty one.
 * - Lists, texts and figures that clients read without a look whether they are there, and that some servers leave out where they are
 *   empty, are filled in. Codex drops an item without its list, and all events of it.
 * - Each item keeps one id and one place of its own in all its events: clients look for items by them.
 *
 * A call without a name is a failure.
 */
import { isRecord } from "../../lib/json.ts";
import { ArgumentStream, decodeArguments } from "../../lib/tool-arguments.ts";
import {
  type AnswerRepair,
  expectCallName,
  type ServerEvent,
  toAnswerText,
  type WirePart,
} from "../../provider/index.ts";

/** More items than an answer has, and more parts than an item has: those beyond are not kept. */
const [itemsMax, partsMax] = [4096, 256];

/** Where the text of an event stands in its item: in a part of a list, by the event without `.delta` or `.done`. */
const parts: Readonly<Record<string, { list: string; index: string; type: string; field: string; itemType: string }>> =
  {
    "response.output_text": {
      list: "content",
      index: "content_index",
      type: "output_text",
      field: "text",
      itemType: "message",
    },
    "response.refusal": {
      list: "content",
      index: "content_index",
      type: "refusal",
      field: "refusal",
      itemType: "message",
    },
    "response.reasoning_text": {
      list: "content",
      index: "content_index",
      type: "reasoning_text",
      field: "text",
      itemType: "reasoning",
    },
    "response.reasoning_summary_text": {
      list: "summary",
      index: "summary_index",
      type: "summary_text",
      field: "text",
      itemType: "reasoning",
    },
  };
/** The list and the index of events that bring a part, by the event without `.added` or `.done`. */
const wholeParts: Readonly<Record<string, readonly [list: string, index: string]>> = {
  "response.content_part": ["content", "content_index"],
  "response.reasoning_summary_part": ["summary", "summary_index"],
};
/** The member of the item that has the text of an event. */
const members: Readonly<Record<string, string>> = {
  "response.function_call_arguments": "arguments",
  "response.custom_tool_call_input": "input",
};

interface StreamedItem {
  /** Its place among the items, which no other has. */
  readonly place: number;
  item: WirePart;
  /** The whole item has come. */
  isDone: boolean;
  readonly arguments: ArgumentStream;
}

/** The repair of one answer, whole or streamed. */
export class ResponsesRepair implements AnswerRepair {
  readonly #items: StreamedItem[] = [];
  readonly #byPlace = new Map<number, StreamedItem>();
  readonly #byId = new Map<unknown, StreamedItem>();
  /** Places that the provider uses for several items. Those items are identified by their ids. */
  readonly #shared = new Set<number>();
  #responseId: string | undefined;
  keptCharacters = 0;

  repair(part: WirePart, characters: number): boolean {
    const { type, response } = part;
    if (typeof type !== "string" || isRecord(response) || Array.isArray(part.output)) return this.#repairHead(part);
    const event = type.slice(0, type.lastIndexOf("."));
    const isDelta = type.endsWith(".delta");
    if (event === "response.output_item") return this.#takeItem(part, type.endsWith(".done"), characters);
    if (members[event] !== undefined) {
      const isRead = this.#takeText(part, members[event], isDelta);
      return this.#locate(part) || isRead;
    }
    const place = parts[event];
    if (place !== undefined) this.#takePartText(part, place, isDelta);
    const list = wholeParts[event];
    if (list !== undefined) this.#takePart(part, list, characters);
    const [, index] = list ?? [undefined, place?.index];
    let isChanged = index !== undefined && fill(part, index, 0);
    if (list !== undefined && fillPart(part.part)) isChanged = true;
    return (index !== undefined && this.#locate(part)) || isChanged;
  }

  /** Puts the one place and id of its item into an event. */
  #locate(part: WirePart): boolean {
    const streamed = this.#find(part.output_index, part.item_id, true);
    if (streamed === undefined) return false;
    let isChanged = false;
    if (part.output_index !== streamed.place) {
      part.output_index = streamed.place;
      isChanged = true;
    }
    if (isId(streamed.item.id) && part.item_id !== streamed.item.id) {
      part.item_id = streamed.item.id;
      isChanged = true;
    }
    return isChanged;
  }

  /** A whole answer, or an event that has one. */
  #repairHead(part: WirePart): boolean {
    const head = isRecord(part.response) ? part.response : part;
    const isLast = part.type === "response.completed" || part.type === "response.incomplete";
    const isWhole = isLast || part.type === undefined;
    let isChanged = this.#fillHead(head, part.type !== undefined);
    if (isLast && (!Array.isArray(head.output) || head.output.length === 0)) {
      head.output = this.#listItems(part.type === "response.completed" ? "completed" : "incomplete");
      checkNames(head.output);
      return true;
    }
    if (isWhole) checkNames(head.output);
    if (!Array.isArray(head.output)) return isChanged;
    for (const [place, item] of head.output.entries()) {
      if (repairCall(item)) isChanged = true;
      if (!isRecord(item)) continue;
      const streamedItem = this.#byPlace.get(place)?.item;
      if (streamedItem?.type === item.type && !isId(item.id) && isId(streamedItem?.id)) {
        item.id = streamedItem.id;
        isChanged = true;
      }
      if (fillItem(item)) isChanged = true;
    }
    return isChanged;
  }

  /** The ends of items that the provider did not send: Codex takes an item when it ends. */
  missingBefore(part: WirePart): readonly ServerEvent[] {
    const { type, response, sequence_number: sequence } = part;
    if ((type !== "response.completed" && type !== "response.incomplete") || !isRecord(response)) return [];
    const output = Array.isArray(response.output) ? response.output : [];
    const open = this.#items.filter(({ isDone }) => !isDone).toSorted((a, b) => a.place - b.place);
    const numbers = typeof sequence === "number" ? open.map((_, at) => ({ sequence_number: sequence + at })) : [];
    if (numbers.length > 0) part.sequence_number = (sequence as number) + numbers.length;
    return open.map((streamed, at) => {
      streamed.isDone = true;
      const listed: unknown = output[streamed.place];
      const isListed = isRecord(listed) && listed.type === streamed.item.type;
      const status = type === "response.completed" ? "completed" : "incomplete";
      const item: WirePart = { ...(isListed ? listed : streamed.item), id: streamed.item.id };
      if (item.status === "in_progress") item.status = status;
      const event = { type: "response.output_item.done", ...numbers[at], output_index: streamed.place, item };
      return { event: event.type, data: JSON.stringify(event) };
    });
  }

  /** Fills in what clients demand of a response: its id, which stays, a list of items, and the figures of its usage. */
  #fillHead(head: WirePart, isStreamed: boolean): boolean {
    const isWanted = isStreamed || head.object === "response";
    if (!isWanted) return false;
    if (isId(head.id)) this.#responseId ??= head.id;
    let isChanged = fill(head, "output", []);
    if (isStreamed && !isId(head.id)) {
      this.#responseId ??= newId("resp");
      head.id = this.#responseId;
      isChanged = true;
    }
    return fillUsage(head.usage) || isChanged;
  }

  #listItems(status: string): WirePart[] {
    return this.#items
      .toSorted((a, b) => a.place - b.place)
      .map(({ item }) => {
        for (const list of ["content", "summary"] as const) {
          const listed = item[list];
          if (Array.isArray(listed)) item[list] = listed.filter(isRecord);
        }
        return item.status === "in_progress" ? { ...item, status } : item;
      });
  }

  #takeItem(part: WirePart, isDone: boolean, characters: number): boolean {
    const { item } = part;
    if (!isRecord(item)) return false;
    this.keptCharacters += characters;
    let isChanged = repairCall(item);
    const earlier = this.#find(part.output_index, item.id, isDone);
    const isOther = earlier !== undefined && isAnother(item, earlier, isDone);
    if (isOther && earlier.place === part.output_index) this.#shared.add(earlier.place);
    const streamed = isOther || earlier === undefined ? this.#add(part.output_index, item, isDone) : earlier;
    if (streamed === undefined) return isChanged;
    const { id = item.id, arguments: text, input } = streamed.item;
    const isMissing = !isId(item.id);
    if (isMissing || item.id !== id) {
      const prefix = typeof item.type === "string" ? idPrefixes[item.type] : undefined;
      const oneId = isId(id) ? id : prefix && newId(prefix);
      if (oneId !== undefined && item.id !== oneId) {
        if (!isMissing) this.#byId.set(item.id, streamed);
        item.id = oneId;
        isChanged = true;
      }
    }
    if (isDone && fill(item, "arguments", item.type === "function_call" ? text : undefined)) isChanged = true;
    if (isDone && fill(item, "input", item.type === "custom_tool_call" ? input : undefined)) isChanged = true;
    if (fillItem(item)) isChanged = true;
    if (part.output_index !== streamed.place) {
      part.output_index = streamed.place;
      isChanged = true;
    }
    if (isDone) {
      streamed.item = item;
      streamed.isDone = true;
    }
    this.#know(streamed);
    return isChanged;
  }

  /** The text of a call. */
  #takeText(part: WirePart, member: string, isDelta: boolean): boolean {
    const streamed = this.#find(part.output_index, part.item_id, true);
    const isArguments = member === "arguments";
    const field = isDelta ? "delta" : member;
    let text = toAnswerText(part[field]);
    if (isArguments) text = isDelta ? (streamed?.arguments.push(text) ?? text) : decodeArguments(text);
    if (streamed !== undefined && !streamed.isDone) {
      this.keptCharacters += text.length;
      streamed.item[member] = isDelta ? toAnswerText(streamed.item[member]) + text : text;
    }
    if (!isArguments || text === part[field]) return false;
    part[field] = text;
    return true;
  }

  #takePartText(
    part: WirePart,
    { list, index, type, field, itemType }: (typeof parts)[string],
    isDelta: boolean,
  ): void {
    const streamed =
      this.#find(part.output_index, part.item_id, true) ?? this.#add(part.output_index, begin(itemType, part.item_id));
    if (streamed === undefined || streamed.isDone) return;
    const at = toIndex(part[index]);
    const listed = listOf(streamed.item, list);
    if (at === undefined) return;
    listed[at] ??= { type, [field]: "", ...(type === "output_text" && { annotations: [] }) };
    const target = listed[at];
    if (!isRecord(target)) return;
    const text = toAnswerText(isDelta ? part.delta : part[field]);
    this.keptCharacters += text.length;
    target[field] = isDelta ? toAnswerText(target[field]) + text : text;
  }

  #takePart(part: WirePart, [list, index]: readonly [string, string], characters: number): void {
    const streamed = this.#find(part.output_index, part.item_id, true);
    const at = toIndex(part[index]);
    if (streamed === undefined || streamed.isDone || at === undefined) return;
    this.keptCharacters += characters;
    listOf(streamed.item, list)[at] = part.part;
  }

  #add(place: unknown, item: WirePart, isDone = false): StreamedItem | undefined {
    if (this.#items.length >= itemsMax) return undefined;
    const isFree = Number.isInteger(place) && !this.#byPlace.has(place as number);
    let free = isFree ? (place as number) : this.#items.length;
    while (this.#byPlace.has(free)) free++;
    const added = { place: free, item, isDone, arguments: new ArgumentStream() };
    this.#items.push(added);
    this.#know(added);
    return added;
  }

  #know(streamed: StreamedItem): void {
    const { place, item } = streamed;
    this.#byPlace.set(place, streamed);
    if (isId(item.id)) this.#byId.set(item.id, streamed);
  }

  /** The item of an event: at its place, because some servers make ids anew for each event; else by its id, or the last one. */
  #find(place: unknown, id: unknown, mayBeLast: boolean): StreamedItem | undefined {
    const ofId = isId(id) ? this.#byId.get(id) : undefined;
    const last = this.#items.at(-1);
    if (typeof place === "number") {
      if (this.#shared.has(place)) return ofId ?? (last?.isDone === false ? last : undefined);
      const ofPlace = this.#byPlace.get(place);
      if (ofPlace !== undefined) return ofPlace;
    }
    if (ofId !== undefined || !mayBeLast || typeof place === "number" || isId(id)) return ofId;
    return last?.isDone === false ? last : undefined;
  }
}

/** Whether an event is of another item than the one at its place: some servers give all items the same place. */
function isAnother(item: WirePart, { item: known, isDone: isKnownDone }: StreamedItem, isDone: boolean): boolean {
  if (item.type !== known.type) return true;
  return !isDone && (isKnownDone || (isId(item.id) && isId(known.id) && item.id !== known.id));
}

const isId = (id: unknown): id is string => typeof id === "string" && id !== "";
const newId = (prefix: string) => `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;

/** Items that clients know by their ids, with the beginning of these. */
const idPrefixes: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  custom_tool_call: "ctc",
};

/** Puts a value in the place of one that is left out or `null`. Returns whether it was. */
function fill(holder: WirePart, field: string, value: unknown): boolean {
  if (value === undefined || (holder[field] ?? null) !== null) return false;
  holder[field] = value;
  return true;
}

/** Fills in what an item has in each of its events, though it be empty. */
function fillItem(item: WirePart): boolean {
  if (item.type === "reasoning") return fill(item, "summary", []);
  if (item.type === "function_call") return fill(item, "arguments", "");
  if (item.type === "custom_tool_call") return fill(item, "input", "");
  if (item.type !== "message") return false;
  const isFilled = [fill(item, "role", "assistant"), fill(item, "content", [])].includes(true);
  const content = Array.isArray(item.content) ? item.content : [];
  return content.map(fillPart).includes(true) || isFilled;
}

function fillPart(part: unknown): boolean {
  if (!isRecord(part)) return false;
  if (part.type === "refusal") return fill(part, "refusal", "");
  if (part.type === "summary_text") return fill(part, "text", "");
  if (part.type !== "output_text") return false;
  return [fill(part, "text", ""), fill(part, "annotations", [])].includes(true);
}

/** The figures without which Codex cannot read the end of an answer. */
function fillUsage(usage: unknown): boolean {
  if (!isRecord(usage)) return false;
  const {
    input_tokens: input,
    output_tokens: output,
    input_tokens_details: read,
    output_tokens_details: written,
  } = usage;
  const total = typeof input === "number" && typeof output === "number" ? input + output : undefined;
  return [
    fill(usage, "total_tokens", total),
    isRecord(read) && fill(read, "cached_tokens", 0),
    isRecord(written) && fill(written, "reasoning_tokens", 0),
  ].includes(true);
}

function begin(type: string, id: unknown): WirePart {
  const item = { ...(typeof id === "string" && { id }), type };
  return type === "reasoning"
    ? { ...item, summary: [] }
    : { ...item, status: "in_progress", role: "assistant", content: [] };
}

function listOf(item: WirePart, name: string): unknown[] {
  const listed = item[name];
  if (Array.isArray(listed)) return listed;
  const begun: unknown[] = [];
  item[name] = begun;
  return begun;
}

/** The place of a part; `undefined` beyond the bound. */
function toIndex(index: unknown = 0): number | undefined {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < partsMax
    ? (index as number)
    : undefined;
}

/** @throws {UpstreamError} For a call without a name: no client can make it. */
function checkNames(items: unknown): void {
  for (const item of Array.isArray(items) ? items : [])
    if (isRecord(item) && item.type === "function_call") expectCallName(item.name);
}

/** Makes the arguments of a call of a function the text that was meant. Returns whether they were another one. */
function repairCall(item: unknown): boolean {
  if (!isRecord(item) || item.type !== "function_call" || item.arguments === undefined) return false;
  const text = decodeArguments(toAnswerText(item.arguments));
  if (text === item.arguments) return false;
  item.arguments = text;
  return true;
}
