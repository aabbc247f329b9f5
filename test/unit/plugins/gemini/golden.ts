import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The fixtures of a kind, each with the sentence it stands for. A new case is a new file. */
export function goldenCases<Case extends { about: string }>(kind: string): [about: string, fixture: Case][] {
  const folder = join(import.meta.dir, "../../../fixtures/gemini", kind);
  return readdirSync(folder)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Case)
    .map((fixture) => [fixture.about, fixture]);
}

/** A value as it goes over the wire: without what is undefined. */
export function sent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
