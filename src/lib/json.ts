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

/**
 * A list with each member as `change` returns it: the same list where nothing changed, so that a large part of a request
 * goes out as it came in, without being written again.
 *
 * @example
 * mapChanged([1, 2], (value) => value * 2); // => [2, 4]
 */
export function mapChanged<Member>(members: readonly Member[], change: (member: Member) => Member): readonly Member[] {
  const changed = members.map(change);
  return changed.some((member, index) => member !== members[index]) ? changed : members;
}
