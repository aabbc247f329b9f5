import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
test("every path that the architecture page names exists", () => {
  const named = [...page.matchAll(/`((?:src|plugins|catalogue|test|deploy)\/[\w./-]*)`/g)].map(
    ([, name]) => name as string,
  );
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !existsSync(join(root, name)))).toEqual([]);
});
