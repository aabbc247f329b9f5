/**
 * The text of an answer that goes to its client, in whatever member or event it arrives. The hold must cover it before
 * it is sent, and estimates count it. A provider may send text in pieces, whole, or in pieces and then again whole; it
 * counts once.
 */

import { isRecord } from "../../lib/json.ts";
import { type OutputReader, toAnswerText } from "../../provider/index.ts";

/** Members that are no text of the model: what names and orders the parts of an answer, and its figures. */
const envelopeNames: ReadonlySet<string> = new Set([
  "call_id",
  "caller",
  "container",
  "created_by",
  "finish_reason",
  "format",
  "id",
  "item_id",
  "object",
  "phase",
  "role",
  "status",
  "stop_reason",
  "stop_sequence",
  "tool_call_id",
  "tool_use_id",
  "type",
  "usage",
]);

/**
 * Members that repeat other text of the answer or of the prompt, are padding, are encrypted for the provider, hold
 * media as base64, or explain a refusal by a filter. Their cost is counted elsewhere or reported.
 */
const otherNames: ReadonlySet<string> = new Set([
  "audio",
  "b64_json",
  "cited_text",
  "data",
  "encrypted_content",
  "encrypted_index",
  "image_url",
  "images",
  "logprobs",
  "obfuscation",
  "partial_image_b64",
  "result",
  "signature",
  "stop_details",
]);

/** Members without text of the model. */
const silentNames: ReadonlySet<string> = new Set([...envelopeNames, ...otherNames]);

/** The members that clients get as text, whatever the provider sent in its place. */
export const textMembers: ReadonlySet<string> = new Set([
  "arguments",
  "input",
  "content",
  "reasoning_content",
  "refusal",
]);

/** Takes each text of a value, and of all that is in it. How deep and wide it is, its reader has bounded. */
function visitTexts(value: unknown, take: (text: string) => void): void {
  if (typeof value === "string") {
    if (value !== "") take(value);
  } else if (Array.isArray(value)) {
    // The runtime is slow to enumerate the members of a list as an object's.
    for (const member of value) visitTexts(member, take);
  } else if (typeof value === "object" && value !== null) {
    for (const name in value) {
      if (silentNames.has(name)) continue;
      visitMember(name, value[name as keyof typeof value], take);
    }
  }
}

function visitMember(name: string, value: unknown, take: (text: string) => void): void {
  const isWritten = typeof value === "object" && value !== null && !Array.isArray(value) && textMembers.has(name);
  if (!isWritten && !(typeof value === "number" && textMembers.has(name))) visitTexts(value, take);
  // A call begins with empty arguments, whose text follows.
  else if (!isEmptyObject(value)) take(toAnswerText(value));
}

function isEmptyObject(value: unknown): boolean {
  for (const _ in value as object) return false;
  return typeof value === "object";
}

/** Members of a choice of chat that are counted where they are read. */
const choiceNames: ReadonlySet<string> = new Set(["index", "delta", "message", ...silentNames]);

/** Visits the text of a chat choice outside of its delta or message: all of it goes to the client. */
export function visitBeside(choice: object, take: (text: string) => void): void {
  for (const name in choice) {
    if (!choiceNames.has(name)) visitMember(name, choice[name as keyof typeof choice], take);
  }
}

/** Members of a message that are counted where they are read: calls are put together, audio has a length. */
const readNames: ReadonlySet<string> = new Set(["role", "tool_calls", "audio"]);
/** Members that carry reasoning in parts; the parts may repeat `reasoning_content`. */
const thoughtNames: ReadonlySet<string> = new Set(["reasoning", "reasoning_details", "thinking", "thinking_blocks"]);

/** Takes the text of a choice of chat, from its deltas or its message, but for tool calls and audio. */
export class ChoiceText {
  /** The length of what was reasoned, as a text and in parts. The longer of both counts. */
  #thoughts = 0;
  #details = 0;

  /** @param isFiltered The choice ends here by a filter, whose explanation the model did not write: providers do not charge it. */
  visit(message: object, take: (text: string) => void, isFiltered = false): void {
    for (const name in message) {
      const value: unknown = message[name as keyof typeof message];
      if (value === "" || value === null || value === undefined || readNames.has(name)) continue;
      if (isFiltered && name === "refusal") continue;
      if (name === "reasoning_content") visitTexts(value, (text) => this.#think(text, text.length, 0, take));
      else if (thoughtNames.has(name)) visitTexts(value, (text) => this.#think(text, 0, text.length, take));
      else if (!silentNames.has(name)) visitMember(name, value, take);
    }
  }

  #think(text: string, shown: number, detailed: number, take: (text: string) => void): void {
    const before = Math.max(this.#thoughts, this.#details);
    this.#thoughts += shown;
    this.#details += detailed;
    const added = Math.max(this.#thoughts, this.#details) - before;
    if (added > 0) take(text.slice(-added));
  }
}

/** More items than an answer has, and more parts than an item has: those beyond count as one. */
const [itemsMax, partsMax] = [4096, 256];

function toPlace(index: unknown, placesMax: number): number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < placesMax ? (index as number) : -1;
}

/** Text that has come at one place of an answer, in characters. */
interface Counted {
  length: number;
}

/** An item of an answer, such as a message or a call: the text of all of it, and of each of its parts. */
interface CountedItem extends Counted {
  readonly parts: Map<number, Counted>;
}

/**
 * Collects the text that each event of a stream adds. A part that is sent whole adds only the text that its pieces
 * lacked.
 */
export class OutputText implements OutputReader {
  /** The whole answer. */
  readonly #answer: Counted = { length: 0 };
  readonly #items = new Map<number, CountedItem>();
  #added = "";

  /** The text that was added since this was last called. */
  take(): string {
    const added = this.#added;
    this.#added = "";
    return added;
  }

  piece(value: unknown, item?: unknown, part?: unknown): void {
    if (typeof value === "string") this.#add(value, item, part);
    else if (!isRecord(value)) visitTexts(value, (text) => this.#add(text, item, part));
    else {
      // Nearly all pieces are texts; handling them here avoids a closure.
      for (const name in value) {
        const member = value[name];
        if (silentNames.has(name)) continue;
        if (typeof member === "string") this.#add(member, item, part);
        else visitMember(name, member, (text) => this.#add(text, item, part));
      }
    }
  }

  whole(value: unknown, item?: unknown, part?: unknown): void {
    let text = "";
    // Added up, not joined: nothing is copied unless a part of it is new.
    visitTexts(value, (more) => {
      text += more;
    });
    const counted =
      item === undefined ? this.#answer : part === undefined ? this.#itemOf(item) : this.#partOf(item, part);
    if (text.length > counted.length) this.#add(text.slice(counted.length), item, part);
  }

  end(item: unknown): void {
    this.#items.delete(toPlace(item, itemsMax));
  }

  #add(text: string, item: unknown, part: unknown): void {
    if (text === "") return;
    this.#added = this.#added === "" ? text : this.#added + text;
    this.#answer.length += text.length;
    if (item === undefined) return;
    this.#itemOf(item).length += text.length;
    if (part !== undefined) this.#partOf(item, part).length += text.length;
  }

  #itemOf(item: unknown): CountedItem {
    const place = toPlace(item, itemsMax);
    let counted = this.#items.get(place);
    if (counted === undefined) {
      counted = { length: 0, parts: new Map() };
      this.#items.set(place, counted);
    }
    return counted;
  }

  #partOf(item: unknown, part: unknown): Counted {
    const { parts } = this.#itemOf(item);
    const place = toPlace(part, partsMax);
    let counted = parts.get(place);
    if (counted === undefined) {
      counted = { length: 0 };
      parts.set(place, counted);
    }
    return counted;
  }
}
