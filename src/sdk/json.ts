/**
 * Whether a value is a JSON object: neither `null` nor an array.
 *
 * @example
 * [isRecord({}), isRecord([]), isRecord(null)]; // => [true, false, false]
 */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads JSON that may be none, as tool results and error bodies are. Returns `undefined` then.
 *
 * @example
 * parseJson('{"a":1}'); // => { a: 1 }
 * parseJson("<html>"); // => undefined
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
