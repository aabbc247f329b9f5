import { isRecord, parseJson } from "../../lib/json.ts";

const opening = /^\s*\{\s*"input"\s*:\s*"/;
/** An opening is far shorter; a text that has none by then is something else. */
const openingCharactersMax = 256;
const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/**
 * Turns the arguments of a function with one string `input` back to the free text of a custom tool, piece by piece.
 * Arguments of another form are held until their end, and given out whole.
 */
export class CustomInputDecoder {
  #state: "opening" | "text" | "ended" | "held" = "opening";
  /** What could not be decided on yet: the opening, an escape that is not complete, or all that is held. */
  #rest = "";

  /** The text that this piece adds. */
  push(piece: string): string {
    if (this.#state === "ended") return "";
    this.#rest += piece;
    if (this.#state === "held") return "";
    if (this.#state === "opening") {
      const match = opening.exec(this.#rest);
      if (match === null) {
        if (this.#rest.length > openingCharactersMax) this.#state = "held";
        return "";
      }
      this.#state = "text";
      this.#rest = this.#rest.slice(match[0].length);
    }
    return this.#decode();
  }

  /** The text that is left at the end. */
  end(): string {
    if (this.#state === "opening" || this.#state === "held") return readInput(this.#rest);
    return "";
  }

  #decode(): string {
    const source = this.#rest;
    let text = "";
    let from = 0;
    for (let at = 0; at < source.length; ) {
      const character = source[at];
      if (character === '"') {
        this.#state = "ended";
        this.#rest = "";
        return text + source.slice(from, at);
      }
      if (character !== "\\") {
        at++;
        continue;
      }
      const length = escapeLength(source, at);
      // The escape goes on in the next piece.
      if (length === undefined) {
        this.#rest = source.slice(at);
        return text + source.slice(from, at);
      }
      text += source.slice(from, at) + decodeEscape(source.slice(at + 1, at + length));
      at += length;
      from = at;
    }
    this.#rest = "";
    return text + source.slice(from);
  }
}

/** Characters of the escape there, both halves of a surrogate pair together; `undefined` when it is not complete. */
function escapeLength(source: string, at: number): number | undefined {
  const kind = source[at + 1];
  if (kind === undefined) return undefined;
  if (kind !== "u") return 2;
  if (source.length < at + 6) return undefined;
  const isHigh = /^d[89ab]/i.test(source.slice(at + 2, at + 4));
  if (!isHigh) return 6;
  const next = source.slice(at + 6, at + 12);
  if (next.length < 6 && "\\u".startsWith(next.slice(0, 2))) return undefined;
  return /^\\ud[c-f][0-9a-f]{2}$/i.test(next) ? 12 : 6;
}

/** @param sequence What stands behind the backslash. */
function decodeEscape(sequence: string): string {
  if (sequence[0] !== "u") return escapes[sequence] ?? sequence;
  const codes = sequence.split("\\").map((code) => Number.parseInt(code.slice(1), 16));
  return codes.some(Number.isNaN) ? `\\${sequence}` : String.fromCharCode(...codes);
}

/** Arguments that do not begin as expected: JSON of another form, or the free text itself. */
function readInput(text: string): string {
  const value = parseJson(text);
  if (isRecord(value) && typeof value.input === "string") return value.input;
  return typeof value === "string" ? value : text;
}
