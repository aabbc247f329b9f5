import fc from "fast-check";
import { rounds } from "./long.ts";

/** How often a property is tried: `LONG=1` tries it twenty times as often, or as often as is said. */
export function runs(count: number, long = count * 20): { numRuns: number } {
  return { numRuns: rounds(count, long) };
}

/** Names by which JSON reaches into JavaScript's own objects. */
const dangerous = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then", "length"];

/** Any JSON at all, of a reader's own words where these are given, so that it gets beyond the first look. */
export function anyJson(...words: string[]): fc.Arbitrary<unknown> {
  const name = fc.oneof(
    { weight: words.length === 0 ? 0 : 6, arbitrary: fc.constantFrom(...words, "") },
    { weight: 1, arbitrary: fc.constantFrom(...dangerous) },
    { weight: 1, arbitrary: fc.string({ maxLength: 4 }) },
  );
  const text = fc.oneof(fc.constantFrom(...words, "", "0", "1e999", "\0", "\ud800", "x".repeat(300)), fc.string());
  const number = fc.constantFrom(0, -0, -1, 1, 1.5, 2 ** 53, -(2 ** 53), 1e308, -1e308, 0.1);
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6 },
      text,
      number,
      fc.constantFrom(true, false, null),
      tie("list"),
      tie("map"),
      tie("map"),
    ),
    list: fc.array(tie("tree"), { maxLength: 3 }),
    map: fc
      .array(fc.tuple(name, tie("tree")), { maxLength: 6 })
      // As `JSON.parse` makes it: `__proto__` is a name like any other, and the object's own.
      .map((pairs) =>
        JSON.parse(`{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)}}`),
      ),
  }));
  return tree;
}

/** Runs what may throw and returns what it threw. */
export async function thrownBy(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error ?? new Error("Nothing was thrown as an error");
  }
}

/** @throws When something has got into the prototype of all objects. */
export function expectPrototypesClean(): void {
  const found = Object.keys(Object.prototype);
  for (const name in {}) found.push(name);
  if (found.length > 0) throw new Error(`Object.prototype has ${found.join(", ")}`);
}
