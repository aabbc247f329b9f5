/** Where a text stops being JSON, in lines and columns from 1, and what stands there. */
export interface JsonError {
  line: number;
  column: number;
  reason: string;
}

/**
 * Finds the first place where a text that `JSON.parse` refused is wrong: the platform's own message has no place.
 *
 * @returns `undefined` when the text is JSON.
 */
export function findJsonError(text: string): JsonError | undefined {
  const reader = new JsonReader(text);
  const at = reader.firstFault();
  if (at === undefined) return undefined;
  const before = text.slice(0, at).split("\n");
  const found = at >= text.length ? "the end of the file" : JSON.stringify(text.charAt(at));
  return { line: before.length, column: (before.at(-1) as string).length + 1, reason: `${found} was not expected` };
}

const space = /[ \t\r\n]*/y;
const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const plain = /[^"\\\n\r\t]*/y;
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Walks a text without recursion, so that no depth of brackets ends the process. */
class JsonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  firstFault(): number | undefined {
    const open: ("{" | "[")[] = [];
    while (true) {
      this.#take(space);
      const char = this.#text.charAt(this.#at);
      if (char === "{" || char === "[") {
        this.#at++;
        this.#take(space);
        if (this.#text.charAt(this.#at) !== (char === "{" ? "}" : "]")) {
          open.push(char);
          if (char === "{" && !this.#takeKey()) return this.#at;
          continue;
        }
        this.#at++;
      } else if (!(char === '"' ? this.#takeString() : this.#take(word))) return this.#at;
      if (!this.#closeAll(open)) return this.#at;
      if (open.length === 0) return this.#at === this.#text.length ? undefined : this.#at;
    }
  }

  /** After a value: the brackets that end here, then a comma where one is still open. */
  #closeAll(open: ("{" | "[")[]): boolean {
    while (true) {
      this.#take(space);
      const inner = open.at(-1);
      if (inner === undefined) return true;
      const char = this.#text.charAt(this.#at);
      if (char === (inner === "{" ? "}" : "]")) {
        open.pop();
        this.#at++;
        continue;
      }
      if (char !== ",") return false;
      this.#at++;
      this.#take(space);
      return inner === "[" || this.#takeKey();
    }
  }

  #takeKey(): boolean {
    if (!this.#takeString()) return false;
    this.#take(space);
    if (this.#text.charAt(this.#at) !== ":") return false;
    this.#at++;
    return true;
  }

  /** By pieces: one pattern for the whole gives up on a long text. */
  #takeString(): boolean {
    const start = this.#at;
    if (this.#text.charAt(this.#at) !== '"') return false;
    this.#at++;
    while (this.#take(plain)) {
      if (this.#text.charAt(this.#at) === '"') {
        this.#at++;
        return true;
      }
      if (!this.#take(escaped)) break;
    }
    this.#at = start;
    return false;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return false;
    this.#at += match[0].length;
    return true;
  }
}
