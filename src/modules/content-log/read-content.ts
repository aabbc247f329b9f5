import type { ClientRequest } from "../../kernel/index.ts";
import { BoundedText, writeText } from "./write-text.ts";

/** One message, or another text, of a kept request or answer. */
export interface ContentTurn {
  /** `user`, `assistant`, `tool call` and the like. */
  readonly role: string;
  readonly text: string;
}

/** Most characters kept of a request, and of an answer. */
export const charactersMax = 131_072;

/** The parts of a request that determine where its text is. */
type Exchange = Pick<ClientRequest, "capability" | "body" | "passthrough">;

/** The text that a client sent; for a long conversation, its end. */
export function readRequestContent({ capability, body: uniform, passthrough }: Exchange): ContentTurn[] {
  const body = (passthrough?.body ?? uniform) as unknown as Record<string, unknown>;
  if (capability === "chat") return readConversation(body);
  if (capability === "embeddings") return readLast([body.input].flat().map(toInput));
  if (capability === "images" || capability === "imageEdits") return readLast([["prompt", body.prompt]]);
  if (capability === "moderation") return readLast([body.input].flat().map((input) => ["text", input]));
  if (capability === "rerank") {
    return readLast([
      ["query", body.query],
      ...[body.documents].flat().map((document): Said => ["document", document]),
    ]);
  }
  if (capability === "speech") {
    return readLast([
      ["instructions", body.instructions],
      ["text", body.input],
    ]);
  }
  return readLast([
    ["prompt", body.prompt],
    ["file", body.file],
  ]);
}

/** The text of a whole answer. */
export function readAnswer(answer: unknown, { capability, passthrough }: Exchange): ContentTurn[] {
  const whole = (passthrough?.answer ?? answer ?? {}) as Record<string, unknown>;
  if (Array.isArray(whole.choices)) {
    const choices = whole.choices as readonly { message?: unknown }[];
    const roleOf = (place: number) => (choices.length === 1 ? "assistant" : `assistant ${place + 1}`);
    return readFirst(choices.map(({ message }, place) => [roleOf(place), message]));
  }
  if (Array.isArray(whole.output)) return readFirst(whole.output.map(toTurn));
  if (Array.isArray(whole.content)) return readFirst([["assistant", whole.content]]);
  if (Array.isArray(whole.images)) {
    const images = whole.images as readonly { data: string | Uint8Array; revisedPrompt?: string }[];
    return readFirst(
      images.map(({ data, revisedPrompt }) => ["image", { revised_prompt: revisedPrompt, image: data }]),
    );
  }
  return capability === "transcription" || capability === "translation" ? readFirst([["text", whole.text]]) : [];
}

type Said = readonly [role: string, value: unknown];

function readConversation({ system, instructions, messages, input, prompt }: Record<string, unknown>): ContentTurn[] {
  const pieces: Said[] = [];
  if (system || instructions) pieces.push(["system", system ?? instructions]);
  for (const item of [messages ?? input ?? prompt].flat()) pieces.push(toTurn(item));
  return readLast(pieces);
}

/** A message has a role, and an item of the Responses protocol a type. */
function toTurn(item: unknown): Said {
  if (typeof item !== "object" || item === null) return ["user", item];
  const { role, type } = item as { role?: unknown; type?: unknown };
  return [String(role ?? type ?? "user").replaceAll("_", " "), item];
}

/** Texts, or one or several lists of tokens. */
function toInput(value: unknown, place: number, all: readonly unknown[]): Said {
  if (typeof value !== "number") return ["text", Array.isArray(value) ? `[${value.length} tokens]` : value];
  return ["text", place === 0 ? `[${all.length} tokens]` : undefined];
}

function readFirst(pieces: readonly Said[]): ContentTurn[] {
  const turns: ContentTurn[] = [];
  let room = charactersMax;
  for (const [place, [role, value]] of pieces.entries()) {
    if (room <= 0) return [...turns, toLeftOut(pieces.length - place)];
    room -= addTurn(turns, role, value, room);
  }
  return turns;
}

/** Reads from the end, because each request of a conversation repeats its earlier turns. */
function readLast(pieces: readonly Said[]): ContentTurn[] {
  const turns: ContentTurn[] = [];
  let room = charactersMax;
  for (let place = pieces.length - 1; place >= 0; place--) {
    if (room <= 0) return [toLeftOut(place + 1), ...turns.reverse()];
    const [role, value] = pieces[place] as Said;
    room -= addTurn(turns, role, value, room);
  }
  return turns.reverse();
}

function addTurn(turns: ContentTurn[], role: string, value: unknown, room: number): number {
  const text = new BoundedText(room);
  writeText(text, value);
  const content = text.toString();
  if (content !== "") turns.push({ role, text: content });
  // A turn without text also uses up a little room: this bounds how many are read.
  return content.length + 16;
}

function toLeftOut(count: number): ContentTurn {
  return { role: "left out", text: `[${count} more]` };
}
