/** No server writes a longer piece of a text but the whole of it. */
const pieceCharsMax = 65_536;

/** Whether a text is an object or a list too long to be looked through character by character in one turn. */
function isLongJson(text: string): boolean {
  return text.length > pieceCharsMax && /^\s{0,99}[{[]/.test(text);
}

/** Whether a text ends as an object or a list does. */
function endsAsJson(text: string): boolean {
  return /[}\]]\s{0,99}$/.test(text.slice(-100));
}

const codes = { space: 32, quote: 34, backslash: 92, brace: 123, closingBrace: 125, bracket: 91, closingBracket: 93 };

/**
 * Follows a JSON text piece by piece without keeping it: reports whether its object or list has ended, and whether it
 * equals another text.
 *
 * @example
 * const progress = new JsonProgress();
 * progress.add('{"a":[1');
 * progress.isOpen; // => true
 * progress.add("]}");
 * progress.isComplete; // => true
 */
export class JsonProgress {
  /** Characters so far. */
  length = 0;
  #hash = 0;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #hasOpened = false;
  #hasEnded = false;
  #hasRest = false;
  /** It began with a piece that is too long to be looked through: the ends of pieces tell. */
  #isLong = false;

  /** Takes the next piece. Compares codes: characters are strings of their own, and a piece may have megabytes. */
  add(text: string): void {
    this.#isLong ||= !this.#hasOpened && isLongJson(text);
    this.length += text.length;
    if (this.#isLong) {
      if (text.trim() === "") return;
      this.#hasOpened = true;
      this.#depth = endsAsJson(text) ? 0 : 1;
      return;
    }
    let [hash, depth, isInText, isEscaped] = [this.#hash, this.#depth, this.#isInText, this.#isEscaped];
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#hasEnded && code > codes.space) this.#hasRest = true;
      hash = (Math.imul(hash, 31) + code) | 0;
      if (isInText) {
        if (isEscaped) isEscaped = false;
        else if (code === codes.backslash) isEscaped = true;
        else if (code === codes.quote) isInText = false;
      } else if (code === codes.quote) isInText = true;
      else if (code === codes.brace || code === codes.bracket) depth++;
      else if (code === codes.closingBrace || code === codes.closingBracket) {
        depth--;
        this.#hasEnded ||= depth <= 0;
      }
    }
    this.#hasOpened ||= /[{[]/.test(text);
    [this.#hash, this.#depth, this.#isInText, this.#isEscaped] = [hash, depth, isInText, isEscaped];
  }

  /** An object or a list began, and did not come to its end. */
  get isOpen(): boolean {
    return this.#hasOpened && (this.#depth > 0 || this.#isInText);
  }

  /** Whether the text is not whole JSON and cannot become it: it breaks off, or something follows its end. */
  get isBroken(): boolean {
    return this.isOpen || this.#hasRest;
  }

  /** An object or a list came to its end. */
  get isComplete(): boolean {
    return this.#hasOpened && this.#depth <= 0 && !this.#isInText;
  }

  /** Whether a text equals all pieces so far. For long texts, only the length is compared. */
  isSame(whole: WholeJson): boolean {
    if (whole.length !== this.length) return false;
    const { progress } = whole;
    return this.#isLong || progress.#isLong || progress.#hash === this.#hash;
  }
}

/** A text that many are compared with, and that is read once for all of them. */
export class WholeJson {
  readonly #text: string;
  #progress: JsonProgress | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  get length(): number {
    return this.#text.length;
  }

  get progress(): JsonProgress {
    if (this.#progress === undefined) {
      this.#progress = new JsonProgress();
      this.#progress.add(this.#text);
    }
    return this.#progress;
  }
}
