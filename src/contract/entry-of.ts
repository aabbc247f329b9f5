/**
 * What a table says of a word from outside. Beside its own entries an object has those that every object has: looked up
 * bare, `constructor` is in each table.
 *
 * @example
 * entryOf({ busy: "overloaded" }, "busy"); // => "overloaded"
 * entryOf({ busy: "overloaded" }, "constructor"); // => undefined
 */
export function getOwn<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
