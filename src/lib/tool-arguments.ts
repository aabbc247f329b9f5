/** Arguments of tool calls that a server encodes twice: a JSON text within a JSON text. */
import { isRecord, parseJson } from "./json.ts";

/** Longer arguments are passed on as they came: to read them would take a turn that others wait for. */
const encodedCharactersMax = 262_144;
const tailCharacters = 64;

/** The arguments that some servers (vLLM) encode twice, as in `"{\"city\":\"Oslo\"}"`, as they were meant; others as they are. */
export function decodeArguments(text: string): string {
  if (!beginsAsText(text) || text.length > encodedCharactersMax) return text;
  const inner = parseJson(text);
  return typeof inner === "string" && isRecord(parseJson(inner)) ? inner : text;
}

function beginsAsText(text: string): boolean {
  return text.trimStart().startsWith('"');
}

/** Whether a text can be the beginning of an object. */
export function beginsAsObject(text: string): boolean {
  return text.trimStart().startsWith("{");
}

/** Whether a text in quotes may end here: with a quote that nothing escapes. */
function endsAsText(tail: string): boolean {
  const text = tail.trim();
  // The first quote begins it.
  if (text.length < 2 || !text.endsWith('"')) return false;
  let at = text.length - 2;
  while (text[at] === "\\") at--;
  return (text.length - at) % 2 === 0;
}

/**
 * The arguments of a streamed call. A text in quotes may be arguments that are encoded twice: it is held back until it ends. Some
 * servers begin a call with `{}` and send its arguments then: where it is wanted, such a beginning is held back until it is known to
 * be all of them.
 */
export class ArgumentStream {
  #holdsEmpty: boolean;
  #hasBegun = false;
  #held: string | undefined;
  /** The end of what is held. */
  #tail = "";
  /** Whether what is held is `{}`, which arguments may follow. */
  isPlaceholder = false;

  /** @param holdsEmpty Whether `{}` is held back that comes first; {@link release} has to be called at the end of the call then. */
  constructor(holdsEmpty = false) {
    this.#holdsEmpty = holdsEmpty;
  }

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** Returns what can be sent. */
  push(text: string): string {
    if (this.#held === undefined) {
      if (this.#hasBegun) return text;
      this.#hasBegun = text.trimStart() !== "";
      this.isPlaceholder = this.#holdsEmpty && text.trim() === "{}";
      this.#holdsEmpty = false;
      if (this.isPlaceholder) {
        this.#held = text;
        return "";
      }
      if (!beginsAsText(text)) return text;
      this.#held = "";
    }
    if (this.isPlaceholder && text.trim() !== "") {
      const placeholder = this.release();
      return beginsAsObject(text) ? text : placeholder + text;
    }
    this.#held += text;
    if (this.isPlaceholder) return "";
    this.#tail = (this.#tail + text).slice(-tailCharacters);
    if (this.#held.length <= encodedCharactersMax && !endsAsText(this.#tail)) return "";
    return decodeArguments(this.release());
  }

  /** Returns what is held, as it came. */
  release(): string {
    const text = this.#held ?? "";
    this.#held = undefined;
    this.isPlaceholder = false;
    return text;
  }
}
