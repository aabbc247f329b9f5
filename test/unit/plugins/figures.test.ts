import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../../../plugins");
const folders = readdirSync(root).filter((name) => statSync(join(root, name)).isDirectory());
/** Plugins that are data for the kit's dialect and nothing else. */
const byDialect = ["groq", "openai", "together"];
const [dialectLinesMax, sameLinesMax] = [15, 5];

/** The code of a plugin: its catalogue is data, and its prices are read by a script. */
const filesOf = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".ts") && name !== "catalogue-rules.ts")
    .map((name) => ({
      name: `${folder}/${name}`,
      lines: readFileSync(join(root, folder, name), "utf8")
        .trimEnd()
        .split("\n"),
    }));

test.each(byDialect)("%s, which has a dialect, is at most 15 lines and data", (folder) => {
  const [index, ...others] = filesOf(folder).sort((one) => (one.name.endsWith("index.ts") ? -1 : 1));
  expect(index?.lines.length).toBeLessThanOrEqual(dialectLinesMax);
  for (const { name, lines } of others) {
    const code = lines.filter((line) => /=>|\bfunction\b|\bif\b|\bclass\b/.test(line) && !/^\s*(\/\*\*|\*)/.test(line));
    expect({ name, code }).toEqual({ name, code: [] });
  }
});

test("no plugin has six lines of another", () => {
  const seen = new Map<string, string>();
  const copies: string[] = [];
  for (const folder of folders) {
    for (const { name, lines } of filesOf(folder)) {
      for (const [place, passage] of passagesOf(lines)) {
        const other = seen.get(passage);
        if (other === undefined) seen.set(passage, name);
        else if (!other.startsWith(`${folder}/`)) copies.push(`${name}:${place} stands in ${other} too:\n${passage}`);
      }
    }
  }
  expect(copies).toEqual([]);
});

/** Every run of six lines that say something: imports, blank lines and lone brackets are no copy. */
function passagesOf(lines: string[]): [number, string][] {
  const telling = lines
    .map((line, index): [number, string] => [index + 1, line.trim()])
    .filter(([, line]) => /\w/.test(line) && !/^(import|type |\} from)|^\w+,$/.test(line));
  return telling.slice(0, -sameLinesMax).map(([place], start) => {
    const run = telling.slice(start, start + sameLinesMax + 1);
    return [place, run.map(([, line]) => line).join("\n")];
  });
}
