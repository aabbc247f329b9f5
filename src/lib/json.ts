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

/** The text that a large value of a request was parsed from. */
const texts = new WeakMap<object, string>();

/** Shorter values are written again as quickly. */
export const keptCharsMin = 4096;
/** A larger text would stay in memory beside the values for the duration of the call. */
const keptCharsMax = 1024 * 1024;
/** Freezing takes half a microsecond for a member of a list: lists with more together, or a longer object, are not a conversation. */
const membersMax = 10_000;

/** A large value in a JSON text: where its field's name starts and ends, and where it does itself. */
export interface ValueSpan {
  readonly name: readonly [start: number, end: number];
  readonly value: readonly [start: number, end: number];
}

/**
 * Remembers the text of large values of a request, so that {@link toJsonText} writes them to a provider as the client sent
 * them. The values are frozen: a change in place would not be sent. The request itself is not.
 *
 * @param fields How many fields the text has. Where one is given twice, which a provider may read otherwise than we do, no
 *   text is kept.
 */
export function keepJsonText(body: unknown, text: string, spans: readonly ValueSpan[], fields: number): void {
  if (spans.length === 0 || !isRecord(body) || text.length > keptCharsMax) return;
  const members = Object.values(body);
  const lists = { membersLeft: membersMax };
  if (members.reduce((sum: number, member) => sum + freeze(member, lists), members.length) !== fields) return;
  for (const { name, value } of spans) {
    const member = body[JSON.parse(text.slice(...name))];
    if (typeof member === "object" && member !== null) texts.set(member, text.slice(...value));
  }
}

/** The number of fields; NaN where the lists together or an object are too long. */
function freeze(value: unknown, lists: { membersLeft: number }): number {
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value)) lists.membersLeft -= value.length;
  if (lists.membersLeft < 0) return Number.NaN;
  // The platform takes long for the values of a list where they are asked for as an object's.
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  if (members.length > membersMax) return Number.NaN;
  const own = Array.isArray(value) ? 0 : members.length;
  const fields = members.reduce((sum: number, member) => sum + freeze(member, lists), own);
  Object.freeze(value);
  return fields;
}

/** A body as JSON, with the texts that were kept of its fields' values. */
export function toJsonText(body: unknown): string {
  if (typeof body !== "object" || body === null || !Object.values(body).some(getText)) return JSON.stringify(body);
  // Added up, not joined: a large text is copied once less.
  let text = "{";
  for (const [name, value] of Object.entries(body)) {
    const member = getText(value) ?? JSON.stringify(value);
    if (member !== undefined) text += `${text.length === 1 ? "" : ","}${JSON.stringify(name)}:${member}`;
  }
  return `${text}}`;
}

function getText(value: unknown): string | undefined {
  return typeof value === "object" && value !== null ? texts.get(value) : undefined;
}
