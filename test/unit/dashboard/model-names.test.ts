import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const source = join(import.meta.dir, "../../../src");

/** A cell of a table that shows the field `model` of its row as it is. */
const rawCell = /cell: \(\{[^}]*\bmodel\b[^}]*\}\) =>(?:\s*model\s*[,}]|[^,]*?>\s*\{model\}\s*<)/;

test("no table of the dashboard shows the internal id of a model in place of its name", () => {
  const bad = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".tsx"))
    .filter((file) => rawCell.test(readFileSync(join(source, file), "utf8")));
  expect(bad).toEqual([]);
  expect(rawCell.test("cell: ({ model }) => model }")).toBe(true);
  expect(rawCell.test('cell: ({ model }) => <strong className="cut">{model}</strong>,')).toBe(true);
  expect(rawCell.test("cell: ({ model }) => nameOf(model) }")).toBe(false);
});
