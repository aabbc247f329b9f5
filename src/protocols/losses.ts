import { isRecord } from "../lib/json.ts";
import type { Loss, Warn } from "../provider/index.ts";

/** A request can hold thousands of things to leave out. */
const [messagesMax, fieldsMax, charactersMax] = [20, 8, 500];

/** Keeps the losses of a translation: each message once, with the fields that it is about, within bounds. */
export class Losses {
  readonly #fields = new Map<string, Set<string>>();

  readonly warn: Warn = (sentence, ignored) => {
    // It may quote a name of the client's, of any length.
    const message = sentence.slice(0, charactersMax);
    let fields = this.#fields.get(message);
    if (fields === undefined) {
      if (this.#fields.size >= messagesMax) return;
      fields = new Set();
      this.#fields.set(message, fields);
    }
    for (const field of [ignored].flat()) if (fields.size < fieldsMax) fields.add(field);
  };

  get list(): readonly Loss[] {
    return [...this.#fields].map(([message, fields]) => ({ message, fields: [...fields] }));
  }
}

/** The names in a text, as a table of members has them. */
export const namesOf = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/**
 * The members of a part of a request that a translation does not read and that say something.
 *
 * @example
 * listOthers({ text: "a", citations: null, caller: { type: "code" } }, new Set(["text"])); // => ["caller"]
 */
export function listOthers(part: object, read: ReadonlySet<string>): string[] {
  const others: string[] = [];
  for (const name in part) if (!read.has(name) && !saysNothing(part[name as never])) others.push(name);
  return others;
}

/** Whether a value is what its absence says: nothing, no, that the model calls a tool itself, or nothing but such members. */
function saysNothing(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === "") return true;
  if (Array.isArray(value) ? value.length === 1 && value[0] === "direct" : isRecord(value) && value.type === "direct")
    return true;
  return typeof value === "object" && Object.values(value).every(saysNothing);
}
