import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "../..");

/** The paths of the repository that a page names in code marks; a path with a placeholder, such as `<name>`, is not one. */
function findPaths(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  const paths = text.matchAll(/`((?:src|plugins|catalogue|test|deploy|docs|scripts)\/[\w./-]*)`/g);
  return [...paths].map(([, path]) => path as string);
}

test("every path that the architecture page names exists", () => {
  const paths = findPaths("docs/architecture.md");
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("every path that another page names exists, in the repository or in the operator's folder", () => {
  // Files that the operator or a command creates in $MODELGATE_HOME.
  const operatorFiles = new Set(["catalogue/update.json"]);
  const pages = [...new Glob("docs/**/*.md").scanSync({ cwd: root }), "README.md", "CONTRIBUTING.md", "SECURITY.md"];
  const missing = pages.flatMap((page) =>
    findPaths(page)
      .filter((path) => !operatorFiles.has(path) && !existsSync(join(root, path)))
      .map((path) => `${page}: ${path}`),
  );
  expect(pages.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});
