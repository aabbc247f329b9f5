import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..");

const imports = "lint/style/noRestrictedImports";
const globals = "lint/style/noRestrictedGlobals";
const cycles = "lint/suspicious/noImportCycles";

/** Breaches of the walls, each alone in its file: where it stands, what it says, and which rule must catch it. */
const breaches: readonly (readonly [string, string, string])[] = [
  ["src/contract/upward.ts", 'import "../kit/sse.ts";', imports],
  ["src/kit/upward.ts", 'import "../kernel/serve.ts";', imports],
  ["src/kit/dialects/openai/upward.ts", 'import "../../../kernel/serve.ts";', imports],
  ["src/kernel/upward.ts", 'import "../http/errors.ts";', imports],
  ["src/kernel/takes-plugins.ts", 'import "../loader/stock.ts";', imports],
  ["src/loader/upward.ts", 'import "../config.ts";', imports],
  ["src/loader/sideways.ts", 'import "../ledger/hold.ts";', imports],
  ["src/store/upward.ts", 'import "../ledger/hold.ts";', imports],
  ["src/ledger/sideways.ts", 'import "../accounts/key.ts";', imports],
  ["src/accounts/sideways.ts", 'import "../kernel/serve.ts";', imports],
  ["src/watch/sideways.ts", 'import "../ledger/hold.ts";', imports],
  ["src/http/below.ts", 'import "../store/open.ts";', imports],
  ["src/http/own-door.ts", 'import "modelgate/plugin";', imports],
  ["src/dashboard/inward.ts", 'import "../http/errors.ts";', imports],
  ["src/dashboard/pages/elysia.tsx", 'import "elysia";', imports],
  ["src/kernel/reads-config.ts", 'import "../config.ts";', imports],
  ["src/kernel/names-plugin.ts", 'import "../../plugins/acme/index.ts";', imports],
  ["src/app.ts", 'import "../plugins/acme/index.ts";', imports],
  ["src/cli/serve.ts", 'import "elysia";', imports],
  ["src/main.ts", 'import "@elysiajs/swagger";', imports],
  ["src/kernel/elysia.ts", 'import "elysia";', imports],
  ["src/store/bun.ts", 'import "bun:sqlite";', imports],
  ["src/kernel/network.ts", 'import "node:https";', imports],
  ["src/kernel/upstream/download.ts", 'import "node:http2";', imports],
  ["plugins/acme/src.ts", 'import "../../src/kit/index.ts";', imports],
  ["plugins/acme/deep/src.ts", 'import "../../../src/contract/index.ts";', imports],
  ["plugins/acme/other.ts", 'import "../other/index.ts";', imports],
  ["plugins/acme/deep/other.ts", 'import "../../other/index.ts";', imports],
  ["plugins/acme/list.ts", 'import "../index.ts";', imports],
  ["plugins/acme/disk.ts", 'import "node:fs/promises";', imports],
  ["plugins/acme/environment.ts", 'import "node:process";', imports],
  ["plugins/acme/private-door.ts", 'import "modelgate/kernel";', imports],
  ...["src/contract", "src/kit", "src/kernel", "src/loader", "plugins/acme"].flatMap((room) => [
    [`${room}/fetches.ts`, 'await fetch("https://example.org");', globals] as const,
    [`${room}/runs-bun.ts`, 'Bun.file("a");', globals] as const,
    [`${room}/reads-process.ts`, "export const home = process.env.HOME;", globals] as const,
  ]),
  ["src/kernel/upstream/network.ts", "export const home = process.env.HOME;", globals],
  ["src/kit/circle-a.ts", 'import { b } from "./circle-b.ts";\n\nexport const a = () => b;', cycles],
  ["src/kit/circle-b.ts", 'import { a } from "./circle-a.ts";\n\nexport const b = () => a;', cycles],
  ["src/store/types-a.ts", 'import type { B } from "./types-b.ts";\n\nexport type A = { b: B };', cycles],
  ["src/store/types-b.ts", 'import type { A } from "./types-a.ts";\n\nexport type B = { a: A };', cycles],
  ["src/kernel/any.ts", "export const a: any = 1;", "lint/suspicious/noExplicitAny"],
  ["src/kernel/prints.ts", 'console.log("a");', "lint/suspicious/noConsole"],
  ["src/kernel/long.ts", "export const a = 1;\n".repeat(301), "lint/style/noExcessiveLinesPerFile"],
  [
    "src/kernel/tall.ts",
    `export function a() {${"\n  a();".repeat(75)}\n}`,
    "lint/complexity/noExcessiveLinesPerFunction",
  ],
  ["src/kernel/wide.ts", "export const a = (b, c, d, e, f) => [b, c, d, e, f];", "lint/complexity/useMaxParams"],
];

/** What stands within the walls, and must not be caught. */
const innocents: readonly (readonly [string, string])[] = [
  ["src/http/route.ts", 'import "elysia";\nimport "../accounts/key.ts";\nimport "../kernel/serve.ts";'],
  ["src/kernel/upstream/download.ts", 'import "node:https";'],
  ["src/cli/command.ts", 'import "../config.ts";\nimport "../store/open.ts";'],
  ["src/ledger/hold.ts", 'import "../contract/index.ts";\nimport "../store/open.ts";'],
  ["src/watch/counts.ts", 'import "../contract/index.ts";\nimport "../kernel/serve.ts";'],
  ["src/loader/load.bun.ts", 'Bun.file("a");'],
  ["src/loader/stock.ts", 'import "../contract/index.ts";\nimport "../kernel/registry.ts";\nimport "../kit/sse.ts";'],
  ["src/main.ts", 'import "../plugins/index.ts";'],
  ["src/dashboard/api.ts", 'import "@elysiajs/eden";\nimport type { PageApi } from "../http/page/index.ts";'],
  ["plugins/index.ts", 'import "./acme/index.ts";'],
  ["plugins/acme/index.ts", 'import "modelgate/plugin";\nimport "../../catalogue/acme.json";\nimport "./deep/own.ts";'],
  ["plugins/acme/deep/own.ts", 'import "../../../catalogue/acme.json";\nimport "../parts.ts";'],
];

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

test("every breach of a wall is caught by its rule", () => {
  const caught = lint(breaches);
  const missed = breaches.filter(([path, , rule]) => caught.get(path)?.has(rule) !== true);
  expect(missed).toEqual([]);
});

test("what stands within the walls is left alone", () => {
  const walls = [imports, globals, cycles];
  const caught = [...lint(innocents)].filter(([, rules]) => walls.some((rule) => rules.has(rule)));
  expect(caught).toEqual([]);
});

test("no room reaches a forbidden global by way of globalThis", () => {
  const reached = ["src/contract", "src/kit", "src/kernel", "src/loader", "src/ledger", "src/store", "plugins"]
    .flatMap(filesBelow)
    .filter((path) => path !== "src/kernel/upstream/network.ts" && !path.endsWith(".bun.ts"))
    .filter((path) =>
      /(?<!typeof )globalThis\.(fetch|Bun|process|Deno)\b/.test(readFileSync(join(root, path), "utf8")),
    );
  expect(reached).toEqual([]);
});

test("the dashboard takes types alone from the API that it calls", () => {
  const taken = filesBelow("src/dashboard").flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/^import (?!type )[^;]*http\/page[^;]*;/gm)].map(
      ([line]) => `${path}: ${line}`,
    ),
  );
  expect(filesBelow("src/dashboard").length).toBeGreaterThan(50);
  expect(taken).toEqual([]);
});

test("a plugin reads no catalogue file but its own", () => {
  const strangers = filesBelow("plugins").flatMap((path) => {
    const own = path.split("/")[1];
    const read = [...readFileSync(join(root, path), "utf8").matchAll(/catalogue\/([^"']+)\.json/g)];
    return read.filter(([, name]) => name !== own).map(([written]) => `${path} reads ${written}`);
  });
  expect(strangers).toEqual([]);
});

test("no test has an expectation wait for a promise: it would run the event loop inside itself", () => {
  const waiting = filesBelow("test").filter((path) =>
    /\)\s*\.(rejects|resolves)\./.test(readFileSync(join(root, path), "utf8")),
  );
  expect(filesBelow("test").length).toBeGreaterThan(300);
  expect(waiting).toEqual([]);
});

/** Plants files in a folder of their own and says which rules caught which file there. */
function lint(files: readonly (readonly [string, string, ...unknown[]])[]): Map<string, Set<string>> {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-walls-"));
  folders.push(folder);
  for (const name of [".biome.json", ".gitignore"]) cpSync(join(root, name), join(folder, name));
  for (const [path, text] of files) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  }
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome");
  const flags = ["lint", "--config-path=.biome.json", "--reporter=json", "--max-diagnostics=none"];
  const { stdout, stderr } = Bun.spawnSync([process.execPath, biome, ...flags], { cwd: folder });
  const text = stdout.toString();
  if (!text.startsWith("{")) throw new Error(`Biome gave no report: ${text}${stderr}`);
  const caught = new Map<string, Set<string>>();
  for (const { category, location } of JSON.parse(text).diagnostics) {
    const rules = caught.get(location.path) ?? new Set();
    caught.set(location.path, rules.add(category));
  }
  return caught;
}

function filesBelow(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.tsx?$/.test(name)).map((name) => join(folder, name));
}
