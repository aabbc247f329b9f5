import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../../..");
const page = readFileSync(join(root, "docs/threats.md"), "utf8");
const rows = page.split("\n").filter((line) => /^\| .* `test\//.test(line));

test("every threat has a test, and that test exists by its name", () => {
  expect(rows.length).toBeGreaterThan(30);
  const missing = rows.filter((row) => {
    const [, file = "", name = ""] = /`(test\/[\w./-]+)` "([^"]+)" +\|$/.exec(row) ?? [];
    if (name === "" || !existsSync(join(root, file))) return true;
    const text = readFileSync(join(root, file), "utf8");
    // A call of `test` or of a table of tests whose first word is the name.
    return !text.replaceAll(/\(\s+/g, "(").includes(`("${name}"`);
  });
  expect(missing).toEqual([]);
});

test("every test of this folder is named in docs/threats.md", () => {
  const own = ["canary", "complexity", "constant-time", "dependencies", "paths", "prototypes", "regular-expressions"];
  expect(own.filter((name) => !page.includes(`test/integration/security/${name}.test.ts`))).toEqual([]);
});
