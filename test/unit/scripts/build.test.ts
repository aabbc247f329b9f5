import { expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "../../..");

test.each([
  ["nothing is installed", [], "@sinclair/typebox"],
  ["it was installed for serving alone", ["@sinclair/typebox"], "typescript"],
])("a build of a clone in which %s says what to run, in one sentence", async (_, installed, missing) => {
  const clone = mkdtempSync(join(tmpdir(), "modelgate-build-"));
  try {
    mkdirSync(join(clone, "scripts"));
    cpSync(join(root, "scripts/build.bun.ts"), join(clone, "scripts/build.bun.ts"));
    for (const name of installed) {
      const folder = join(clone, "node_modules", name);
      cpSync(join(root, "node_modules", name, "package.json"), join(folder, "package.json"));
    }
    const child = Bun.spawn([process.execPath, "scripts/build.bun.ts"], { cwd: clone, stdout: "pipe", stderr: "pipe" });
    const output = [await new Response(child.stdout).text(), await new Response(child.stderr).text()];
    expect([await child.exited, ...output]).toEqual([
      1,
      "",
      `Cannot build: the development package ${missing} is not installed; run \`npx bun install\`, without --production, and build again\n`,
    ]);
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});

test("the pages that show how to build install what a build needs first", () => {
  const builds = ["README.md", "docs/deployment.md"].flatMap((page) =>
    readFileSync(join(root, page), "utf8")
      .split("\n")
      .filter((line) => /^npx bun .*run build$/.test(line)),
  );
  expect(builds).toEqual(["npx bun install && npx bun run build", "npx bun install && npx bun run build"]);
});
