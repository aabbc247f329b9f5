import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");

/** The paths of the project that a page names in backquotes. */
function getPaths(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/`((?:src|plugins|catalogue|test|deploy|scripts)\/[\w./-]*)`/g)].map(
    ([, path]) => path as string,
  );
}

test("every path that the architecture page names exists", () => {
  const paths = getPaths("docs/architecture.md");
  expect(paths.length).toBeGreaterThan(60);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("every path of the project that a page of the documentation names exists", () => {
  const inDocs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    ...inDocs.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`),
  ];
  const missing = pages.flatMap((page) =>
    getPaths(page)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `${page}: ${path}`),
  );
  expect(missing).toEqual([]);
});
