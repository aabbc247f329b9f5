import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../../..");
const page = readFileSync(join(root, "docs/threats.md"), "utf8");
const rows = page.split("\n").filter((line) => /^\| .* `test\//.test(line));

test("every threat has a test, and the first words of its name are those of one test", () => {
  expect(rows.length).toBeGreaterThan(30);
  const missing = rows.filter((row) => {
    const [, file = "", name = ""] = /`(test\/[\w./-]+)` "([^"]+)" +\|$/.exec(row) ?? [];
    if (name === "" || !existsSync(join(root, file))) return true;
    const text = readFileSync(join(root, file), "utf8").replaceAll(/\(\s+/g, "(");
    // A call of `test` or of a table of tests: a row has its whole name, or those first words that only one has.
    if (text.includes(`("${name}"`)) return false;
    const starts = [",", ":"].map((end) => text.split(`("${name}${end}`).length - 1);
    return starts.reduce((sum, count) => sum + count) !== 1;
  });
  expect(missing).toEqual([]);
});

test("every test of this folder is named in docs/threats.md", () => {
  const own = ["canary", "complexity", "constant-time", "dependencies", "paths", "prototypes", "regular-expressions"];
  expect(own.filter((name) => !page.includes(`test/integration/security/${name}.test.ts`))).toEqual([]);
});
