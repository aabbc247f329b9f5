/** Reads JSON that may be none, as tool results and error bodies are. Returns `undefined` then. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
