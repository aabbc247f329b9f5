import { isExactNumber } from "../../lib/json.ts";

/** Text up to a number of characters. */
export class BoundedText {
  #text = "";
  #left: number;
  #isCut = false;

  constructor(charactersMax: number) {
    this.#left = charactersMax;
  }

  /** Whether there is room to read on. Each check uses up some room, so reading values without text ends too. */
  hasRoom(): boolean {
    this.#left -= 1;
    this.#isCut ||= this.#left <= 0;
    return this.#left > 0;
  }

  /** Adds a line. */
  add(text: string): void {
    if (text === "") return;
    const piece = text.slice(0, Math.max(0, this.#left));
    this.#isCut ||= piece.length < text.length;
    this.#text += this.#text === "" ? piece : `\n${piece}`;
    this.#left -= piece.length + 1;
  }

  toString(): string {
    return this.#isCut ? `${this.#text} […]` : this.#text;
  }
}

/** Fields that hold what was said, as it is: no media. */
const textFields = new Set([
  "text",
  "content",
  "reasoning_content",
  "thinking",
  "refusal",
  "output",
  "summary",
  "arguments",
  "input",
  "transcript",
  "partial_json",
]);
/** Fields that only hold other fields. */
const holders = new Set(["function", "custom", "source", "file", "image_url", "input_audio", "message", "audio"]);
/** Fields that say nothing to a reader. */
const silentFields = new Set([
  "type",
  "role",
  "id",
  "index",
  "status",
  "signature",
  "encrypted_content",
  "cache_control",
  "annotations",
  "logprobs",
  "detail",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "media_type",
  "format",
  "phase",
  "expires_at",
]);
const depthMax = 50;

/**
 * Writes the text of a message, a part of one or a tool call, as any of the protocols has them, without the bytes of
 * media: `[image 12 kB]` stands for those.
 */
export function writeText(text: BoundedText, value: unknown, depth = 0): void {
  if (value === undefined || value === null || !text.hasRoom() || depth > depthMax) return;
  if (typeof value !== "object") text.add(String(value));
  else if (isExactNumber(value)) text.add(value.rawJSON);
  else if (Array.isArray(value)) writeMembers(text, value, depth);
  else if (value instanceof File) text.add(`[audio ${value.name.slice(0, 100)} ${toKilobytes(value.size)}]`);
  else writeFields(text, value as Record<string, unknown>, depth);
}

function writeMembers(text: BoundedText, members: readonly unknown[], depth: number): void {
  for (const member of members) {
    if (!text.hasRoom()) return;
    writeText(text, member, depth + 1);
  }
}

function writeFields(text: BoundedText, fields: Record<string, unknown>, depth: number): void {
  for (const name of Object.keys(fields)) {
    if (!text.hasRoom()) return;
    const value = fields[name];
    if (silentFields.has(name) || value === undefined || value === null) continue;
    const isPlain = isText(name, fields);
    const media = isPlain ? undefined : describeMedia(name, value, fields);
    if (media !== undefined) text.add(media);
    else if (isPlain || holders.has(name)) writeText(text, value, depth + 1);
    else if (typeof value === "object") {
      text.add(`${name}:`);
      writeText(text, value, depth + 1);
    } else text.add(`${name}: ${String(value)}`);
  }
}

/** A document may be text, in the field that otherwise has its bytes. */
function isText(name: string, { type }: Record<string, unknown>): boolean {
  return textFields.has(name) || (name === "data" && type === "text");
}

/** Longer than ids and names are. */
const dataCharactersMin = 256;

/** Placeholder of media; undefined for other values. */
function describeMedia(name: string, value: unknown, { media_type: type, format }: Record<string, unknown>) {
  if (value instanceof Uint8Array) return `[${name} ${toKilobytes(value.byteLength)}]`;
  if (typeof value !== "string") return undefined;
  if (value.startsWith("data:")) {
    const comma = value.slice(0, 200).indexOf(",");
    const kind = toKind(value.slice("data:".length, comma).split(";")[0] ?? "");
    return `[${kind} ${toKilobytes(((value.length - comma - 1) * 3) / 4)}]`;
  }
  // The address of an image may hold a signature that opens it.
  if (/^https?:\/\//i.test(value)) return `[${name === "url" ? "file" : name} at ${URL.parse(value)?.host ?? "?"}]`;
  const isData = name === "data" || (value.length >= dataCharactersMin && isBase64(value));
  if (!isData) return undefined;
  const label = typeof type === "string" ? toKind(type) : typeof format === "string" ? "audio" : name;
  return `[${label} ${toKilobytes((value.length * 3) / 4)}]`;
}

function isBase64(value: string): boolean {
  return /^[A-Za-z0-9+/_=-]+$/.test(value.slice(0, dataCharactersMin));
}

/** `image/png` → `image`, `application/pdf` → `pdf`. */
function toKind(mediaType: string): string {
  const [kind = "", subtype = ""] = mediaType.toLowerCase().split("/");
  const word = /^(image|audio|video|text)$/.test(kind) ? kind : subtype;
  return /^[\w.+-]{1,30}$/.test(word) ? word : "data";
}

function toKilobytes(bytes: number): string {
  return `${Math.max(1, Math.round(bytes / 1024))} kB`;
}
