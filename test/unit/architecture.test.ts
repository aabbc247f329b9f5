import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
const section = page.slice(page.indexOf("## The path of a chat call"));
const [table = "", beside = ""] = section.split("What these files import beside them");
const filesIn = (text: string) => [...text.matchAll(/`(src\/[\w./-]+)`/g)].map(([, file]) => file as string);
const path = filesIn(table);

function linesOf(file: string): number {
  return readFileSync(join(root, file), "utf8").split("\n").length - 1;
}

/** The files of `src` whose values a file imports; those of types alone do not run. */
function valueImportsOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  const imports = text.matchAll(/^import\s+(?!type\s)(?:([\w$*{},\s]+?)\sfrom\s+)?"(\.[^"]+)"/gm);
  return [...imports]
    .filter(([, names = ""]) =>
      names
        .replaceAll(/[{}]/g, "")
        .split(",")
        .some((name) => /^\s*(?!type\s)\w/.test(name)),
    )
    .map(([, , specifier]) => posix.join(posix.dirname(file), specifier as string))
    .filter((target) => target.startsWith("src/"));
}

test("the path of a chat call is as long as the page says, and does not grow", () => {
  const lines = path.reduce((sum, file) => sum + linesOf(file), 0);
  const [, files, total] = /in order: (\d+) files, ([\d ]+) lines/.exec(table.replaceAll("\n", " ")) ?? [];
  expect([path.length, lines]).toEqual([Number(files), Number(total?.replaceAll(" ", ""))]);
  expect(path.length).toBeLessThanOrEqual(30);
  expect(lines).toBeLessThanOrEqual(5000);
});

test("the path of a chat call names every file that its files import", () => {
  const known = new Set([...path, ...filesIn(beside)]);
  const missing = path.flatMap((file) =>
    valueImportsOf(file)
      .filter((target) => !known.has(target) && !target.endsWith("/index.ts"))
      .map((target) => `${file} imports ${target}`),
  );
  expect(missing).toEqual([]);
  const imported = new Set(path.flatMap(valueImportsOf));
  expect(filesIn(beside).filter((file) => !imported.has(file))).toEqual([]);
});

test("every path that the architecture page names exists", () => {
  const named = [...page.matchAll(/`((?:src|plugins|catalogue|test|deploy)\/[\w./-]*)`/g)].map(
    ([, name]) => name as string,
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !existsSync(join(root, name)))).toEqual([]);
});
