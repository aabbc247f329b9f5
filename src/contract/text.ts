/** The media type of a `content-type` header, in lower case and without its parameters; absent without the header. */
export function mediaTypeOf(contentType: string | null | undefined): string | undefined {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase();
}

/** Decodes percent-encoded text. Malformed text is returned as it is. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Writes a value for an error message: as JSON, shortened to so many characters. */
export function quoteValue(value: unknown, charactersMax = 60): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > charactersMax ? `${value.slice(0, charactersMax)}…` : value);
  }
  // JSON has no NaN, and writes null for it.
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/**
 * Looks up a name that comes from outside in a table. Only the table's own entries count: a plain lookup would also find
 * `constructor`, which every object inherits.
 *
 * @returns `undefined` when the table has no such entry.
 *
 * @example
 * getOwn({ busy: "overloaded" }, "busy"); // => "overloaded"
 * getOwn({ busy: "overloaded" }, "constructor"); // => undefined
 */
export function getOwn<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/**
 * Removes the slashes at the end of a text, in one pass: a pattern would be quadratic for many slashes elsewhere in it.
 */
export function trimSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === "/") end--;
  return text.slice(0, end);
}

/**
 * Returns why a text cannot be a secret, or `undefined`. Env files that no shell has read keep quotation marks and references, and
 * documentation has placeholders. The message does not contain the text.
 */
export function findSecretError(text: string): string | undefined {
  if (/^(["'`]).*\1$/s.test(text))
    return "it begins and ends with a quotation mark, expected the secret without quotes";
  if (/^(\$\w+|\$\{[^}]*\}|\$\([^)]*\)|%\w+%|\{\{.*\}\}|<[^>]*>)$/s.test(text))
    return "it is a reference or a placeholder that nothing has replaced, expected the secret itself";
  return undefined;
}

/**
 * Decodes the bytes of a file that a person wrote. Editors and shells of Windows put a byte order mark before UTF-8, and
 * PowerShell's `>` writes UTF-16. The mark is not in the text. Other bytes are read as UTF-8.
 *
 * @example
 * decodeText(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])); // => "{}"
 */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  return new TextDecoder(encoding).decode(bytes);
}
