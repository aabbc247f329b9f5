/**
 * Arguments of tool calls in the forms that servers write them: encoded twice, as a JSON text within a JSON text, or `null` or an
 * empty list for no arguments.
 */
import { isRecord, JsonBoundsError, parseJson, readJson } from "./json.ts";

/** Longer arguments are passed on as they came: to read them would take a turn that others wait for. */
const encodedCharactersMax = 262_144;
const tailCharacters = 64;

/**
 * The arguments that some servers (vLLM) encode twice, as in `"{\"city\":\"Oslo\"}"`, or that are `null` or empty, as they were
 * meant; others as they are.
 */
export function decodeArguments(text: string): string {
  if (isNoArguments(text)) return "{}";
  if (!beginsAsText(text) || text.length > encodedCharactersMax) return text;
  const inner = parseJson(text);
  return typeof inner === "string" && isRecord(parseJson(inner)) ? inner : text;
}

/** Longer white space within an empty list is no server's. */
const emptyCharactersMax = 64;

/** Whether a text is a JSON value that servers write for a call without arguments. */
function isNoArguments(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.length <= emptyCharactersMax && /^(?:null|""|\[\s*\])$/.test(trimmed);
}

/** Whether a text can be the beginning of such a value, except of a text in quotes. */
function beginsAsNoArguments(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed === "" || trimmed.length > emptyCharactersMax) return false;
  return "null".startsWith(trimmed) || /^\[\s*\]?$/.test(trimmed);
}

/**
 * The arguments of a call that is whole, as they were meant: an empty object where there are none.
 *
 * @example
 * ["", "null", "[]", '{"city":"Oslo"}'].map(completeArguments); // => ["{}", "{}", "{}", '{"city":"Oslo"}']
 */
export function completeArguments(text: string): string {
  return text.trim() === "" ? "{}" : decodeArguments(text);
}

/**
 * An object that carries arguments that are no JSON object, for protocols and providers that have arguments as an object. Anthropic
 * recommends this form.
 */
export function carryArguments(text: string): Record<string, unknown> {
  return { INVALID_JSON: text };
}

/**
 * The arguments of an earlier call as the text of an object. Servers that read them refuse a conversation with others (vLLM,
 * llama.cpp, Ollama), though it is the model that wrote them, or that was cut within them: each further turn would fail.
 *
 * @example
 * ["", '{"city":"Oslo"}', '{"city":"Os'].map(toObjectText); // => ["{}", '{"city":"Oslo"}', '{"INVALID_JSON":"{\\"city\\":\\"Os"}']
 */
export function toObjectText(text: string): string {
  const completed = completeArguments(text);
  try {
    if (isRecord(readJson(completed, "text"))) return completed;
  } catch (cause) {
    // It may be read by others.
    if (cause instanceof JsonBoundsError) return text;
  }
  return JSON.stringify(carryArguments(text));
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
 * The arguments of a streamed call. A text in quotes may be arguments that are encoded twice: it is held back until it ends. So is
 * `null` and an empty list, which become `{}`. Some servers begin a call with `{}` and send its arguments then: where it is wanted,
 * such a beginning is held back until it is known to be all of them.
 */
export class ArgumentStream {
  /** Whether {@link release} or {@link end} is called for it. */
  readonly #isReleased: boolean;
  #holdsEmpty: boolean;
  #hasBegun = false;
  #held: string | undefined;
  /** The end of what is held. */
  #tail = "";
  /** Whether what is held may be `null` or an empty list. */
  #mayBeNone = false;
  /** Whether what is held is no arguments, which arguments may follow. */
  isPlaceholder = false;

  /**
   * @param holdsEmpty Whether `{}` is held back that comes first; {@link release} or {@link end} has to be called at the end of the
   * call then.
   */
  constructor(holdsEmpty = false) {
    this.#isReleased = holdsEmpty;
    this.#holdsEmpty = holdsEmpty;
  }

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** Whether {@link end} has something to add: what is held, or an empty object where nothing came. */
  get isUnfinished(): boolean {
    return this.isHolding || !this.#hasBegun;
  }

  /** Returns what can be sent. */
  push(text: string): string {
    if (this.#held === undefined) {
      if (this.#hasBegun) return text;
      this.#hasBegun = text.trimStart() !== "";
      this.#mayBeNone = beginsAsNoArguments(text);
      this.isPlaceholder = this.#holdsEmpty && text.trim() === "{}";
      this.#holdsEmpty = false;
      if (this.isPlaceholder) {
        this.#held = text;
        return "";
      }
      if (!beginsAsText(text) && !this.#mayBeNone) return text;
      this.#held = "";
    }
    if (this.isPlaceholder && text.trim() !== "") {
      const placeholder = this.release();
      return beginsAsObject(text) ? text : placeholder + text;
    }
    this.#held += text;
    if (this.isPlaceholder) return "";
    if (this.#mayBeNone) return this.#decideNone(this.#held);
    this.#tail = (this.#tail + text).slice(-tailCharacters);
    if (this.#held.length <= encodedCharactersMax && !endsAsText(this.#tail)) return "";
    if (isNoArguments(this.#held)) return this.#decideNone(this.#held);
    return decodeArguments(this.release());
  }

  #decideNone(held: string): string {
    if (isNoArguments(held)) {
      // More text may follow, and then it was no empty list.
      this.isPlaceholder = this.#isReleased;
      if (this.isPlaceholder) return "";
      this.release();
      return "{}";
    }
    return beginsAsNoArguments(held) ? "" : this.release();
  }

  /** Returns what is held, as it came. */
  release(): string {
    const text = this.#held ?? "";
    this.#held = undefined;
    this.#mayBeNone = false;
    this.isPlaceholder = false;
    return text;
  }

  /** Returns what the arguments still lack at their end. @param isCut Whether the model may have been stopped before them. */
  end(isCut: boolean): string {
    const isNone = this.#hasBegun ? this.#held !== undefined && isNoArguments(this.#held) : !isCut;
    const text = this.release();
    this.#hasBegun = true;
    return isNone ? "{}" : text;
  }
}
