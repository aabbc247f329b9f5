import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { builtIns } from "../../plugins/index.ts";
import { getNames, isEnded } from "../../src/provider/model.ts";

const folder = join(import.meta.dir, "..");
/** A gateway that is a process of its own has the catalogue as it is, and the clock of the machine. */
const asProcess = /from "[./a-z-]*\/(gateway|sandbox-gateway|agents-gateway|dashboard)\.ts"/;

test("a test with a gateway in a process of its own names no model that is refused once its provider has ended it", () => {
  const rows = builtIns.flatMap(({ models }) => models);
  const [ending, lasting] = [true, false].map((ends) => {
    const those = rows.filter((row) => isEnded(row, Number.POSITIVE_INFINITY) === ends);
    return new Set(those.flatMap((row) => getNames(row)));
  }) as [Set<string>, Set<string>];
  const isRefused = (name: string) => ending.has(name) && !lasting.has(name);
  // So that the test sees what it is for.
  expect([...ending].filter(isRefused).length).toBeGreaterThan(50);
  const named = [...new Glob("{browser,e2e,integration,soak}/**/*.ts").scanSync(folder)].flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    if (!asProcess.test(text)) return [];
    const names = [...text.matchAll(/"([^"\n]+)"/g)].map(([, name]) => name as string).filter(isRefused);
    return names.map((name) => `${file}: ${name}`);
  });
  expect(named).toEqual([]);
});
