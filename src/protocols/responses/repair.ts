/**
 * Puts right what servers of the Responses protocol send otherwise than its clients expect:
 *
 * - The arguments of a call that are encoded twice, or are an object, become the text that was meant.
 * - A last event without items gets those that were streamed before it. Clients take the whole answer from that event, and would
 *   find an empty one.
 *
 * A call without a name is a failure.
 */
import { isRecord } from "../../lib/json.ts";
import { ArgumentStream, decodeArguments } from "../../lib/tool-arguments.ts";
import { type AnswerRepair, expectCallName, toAnswerText, type WirePart } from "../../provider/index.ts";

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
  /** Its place among the items; absent where its provider leaves that out. */
  readonly place: number | undefined;
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
  keptCharacters = 0;

  repair(part: WirePart, characters: number): boolean {
    const { type, response } = part;
    if (typeof type !== "string" || isRecord(response) || Array.isArray(part.output)) return this.#repairHead(part);
    const event = type.slice(0, type.lastIndexOf("."));
    const isDelta = type.endsWith(".delta");
    if (event === "response.output_item") return this.#takeItem(part, type.endsWith(".done"), characters);
    if (members[event] !== undefined) return this.#takeText(part, members[event], isDelta);
    const place = parts[event];
    if (place !== undefined) this.#takePartText(part, place, isDelta);
    const list = wholeParts[event];
    if (list !== undefined) this.#takePart(part, list, characters);
    return false;
  }

  /** A whole answer, or an event that has one. */
  #repairHead(part: WirePart): boolean {
    const head = isRecord(part.response) ? part.response : part;
    const isLast = part.type === "response.completed" || part.type === "response.incomplete";
    const isWhole = isLast || part.type === undefined;
    if (isLast && (!Array.isArray(head.output) || head.output.length === 0)) {
      head.output = this.#listItems(part.type === "response.completed" ? "completed" : "incomplete");
      checkNames(head.output);
      return true;
    }
    if (isWhole) checkNames(head.output);
    let isChanged = false;
    if (Array.isArray(head.output)) for (const item of head.output) if (repairCall(item)) isChanged = true;
    return isChanged;
  }

  #listItems(status: string): WirePart[] {
    const last = this.#items.length;
    return this.#items
      .toSorted((a, b) => (a.place ?? last) - (b.place ?? last))
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
    const isChanged = repairCall(item);
    const streamed = this.#find(part.output_index, item.id, isDone);
    if (streamed === undefined) this.#add(part.output_index, item, isDone);
    else if (isDone) {
      streamed.item = item;
      streamed.isDone = true;
      this.#know(streamed);
    }
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
    const added = {
      place: typeof place === "number" ? place : undefined,
      item,
      isDone,
      arguments: new ArgumentStream(),
    };
    this.#items.push(added);
    this.#know(added);
    return added;
  }

  #know(streamed: StreamedItem): void {
    const { place, item } = streamed;
    if (place !== undefined) this.#byPlace.set(place, streamed);
    if (item.id) this.#byId.set(item.id, streamed);
  }

  /** The item of an event: at its place, because some servers make ids anew for each event; else by its id, or the last one. */
  #find(place: unknown, id: unknown, mayBeLast: boolean): StreamedItem | undefined {
    if (typeof place === "number") {
      const ofPlace = this.#byPlace.get(place);
      if (ofPlace !== undefined) return ofPlace;
    }
    const ofId = id ? this.#byId.get(id) : undefined;
    if (ofId !== undefined || !mayBeLast || typeof place === "number" || id) return ofId;
    const last = this.#items.at(-1);
    return last?.isDone === false ? last : undefined;
  }
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
