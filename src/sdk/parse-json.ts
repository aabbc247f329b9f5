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
