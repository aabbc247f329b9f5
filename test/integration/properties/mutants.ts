import { isLong } from "../../support/long.ts";

/** What stands where something else should. */
const junk: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 60,
  "",
  "constructor",
  "\0",
  [],
  [null],
  [[]],
  {},
  { toString: 1, valueOf: 1, length: -1 },
];

/** Every value in which one node of this one is junk. */
export function* mutantsOf(value: unknown): Generator<unknown> {
  yield* junk;
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    for (const mutant of mutantsOf(member)) {
      if (Array.isArray(value)) yield value.with(Number(name), mutant);
      else yield { ...value, [name]: mutant };
    }
  }
}

/**
 * Those that are tried: in the short form every twelfth, beginning at another one each turn, so that plugins of one dialect
 * have different ones.
 */
export function triedOf<Mutant>(mutants: Iterable<Mutant>, turn: number): Mutant[] {
  return [...mutants].filter((_, index) => isLong || index % 12 === turn % 12);
}
