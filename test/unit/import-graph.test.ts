import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const root = join(import.meta.dir, "../..");

/** What each folder of `src` may import from, beside itself. Everything else is a breach. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  provider: ["contract"],
  lib: ["contract", "provider"],
  protocols: ["contract", "provider", "lib"],
  sdk: ["contract", "provider", "lib", "protocols"],
  config: ["contract", "provider"],
  kernel: ["contract", "provider", "lib"],
  db: ["contract"],
  ledger: ["contract", "db"],
  reports: ["contract", "db", "ledger"],
  audit: ["contract", "db"],
  tenants: ["contract", "lib", "db", "audit"],
  keys: ["contract", "lib", "db", "audit", "tenants"],
  identity: ["contract", "lib", "db", "audit", "tenants", "keys"],
  observability: ["contract", "provider", "lib", "config", "kernel", "ledger", "reports"],
  providers: ["contract", "provider", "lib", "protocols", "sdk", "config", "db", "audit", "kernel"],
  mail: ["contract", "config", "db", "providers"],
  http: [
    "contract",
    "provider",
    "lib",
    "protocols",
    "sdk",
    "config",
    "db",
    "ledger",
    "reports",
    "audit",
    "tenants",
    "keys",
    "identity",
    "mail",
    "kernel",
    "observability",
    "providers",
  ],
  modules: [
    "contract",
    "provider",
    "lib",
    "config",
    "db",
    "ledger",
    "reports",
    "audit",
    "tenants",
    "keys",
    "identity",
    "mail",
    "kernel",
    "observability",
    "providers",
    "http",
  ],
  // Types alone, see below.
  dashboard: ["http"],
  "app.ts": [
    "contract",
    "provider",
    "config",
    "db",
    "ledger",
    "reports",
    "keys",
    "identity",
    "kernel",
    "observability",
    "http",
    "providers",
  ],
  cli: [
    "contract",
    "provider",
    "lib",
    "sdk",
    "config",
    "db",
    "ledger",
    "reports",
    "audit",
    "tenants",
    "keys",
    "identity",
    "kernel",
    "observability",
    "http",
    "dashboard",
    "providers",
    "app.ts",
    "package.json",
  ],
  "main.ts": ["cli", "plugins", "contract", "sdk"],
};

/**
 * The order inside the large folders, from the bottom: what stands in one imports from those before it and from itself. A file
 * that is named beside its folder stands apart from it.
 */
const inner: Readonly<Record<string, readonly string[]>> = {
  kernel: [
    "audio",
    "normalize",
    "streaming.ts",
    "prompt-cache",
    "policies/policy-rules.ts",
    "routing",
    "upstream",
    "passthrough.ts",
    "prompt-caching.ts",
    "call.ts",
    "service-tier.ts",
    "types.ts",
    "admission.ts",
    "ask-route.ts",
    "attempt-end.ts",
    "failed-attempt.ts",
    "client-error.ts",
    "failover.ts",
    "cache-effect.ts",
    "settlement.ts",
    "policies",
    "overload.ts",
    "capabilities",
    "pipeline.ts",
    "probe.ts",
    "index.ts",
  ],
  http: [
    "memory",
    "sse",
    "sessions",
    "deps.ts",
    "lifecycle",
    "forms",
    "resources",
    "api",
    "responses-socket",
    "dashboard-api",
    "admin-api",
    "scim",
    "module.ts",
    "listen.bun.ts",
    "server.ts",
  ],
  dashboard: [
    "assets.d.ts",
    "kit/create-store.ts",
    "kit/storage.ts",
    "theme.ts",
    "data",
    "format.ts",
    "kit",
    "features",
    "shell",
    "app.tsx",
    "main.tsx",
    "build-page.bun.ts",
    "built-page.bun.ts",
    "open-site.bun.ts",
  ],
};

/** The place of a file in the order of its folder. */
function placeOf(folder: string, path: string): number {
  const below = path.slice(`src/${folder}/`.length);
  const order = inner[folder] ?? [];
  return order.includes(below) ? order.indexOf(below) : order.indexOf(below.split("/", 1)[0] ?? "");
}

/** Packages that stand in one folder only. */
const packages: readonly (readonly [name: RegExp, folder: RegExp])[] = [
  [/^(elysia|@elysiajs\/)/, /^src\/(http|dashboard\/data)\//],
  [/^(better-auth|@better-auth\/)/, /^src\/identity\//],
  [/^(react|react-dom|swr|wouter|uplot|uqr)(\/|$)/, /^src\/(dashboard|modules\/[^/]+\/dashboard)\//],
  [/^(pg|kysely)(\/|$)/, /^src\/(db|ledger|reports|audit|tenants|keys|identity|modules|http)\//],
  [/^ioredis$/, /^src\/ledger\/redis\//],
  [/^nodemailer$/, /^src\/mail\//],
  [/^@opentelemetry\//, /^src\/modules\/otlp\//],
  [/^stripe$/, /^src\/modules\/payments\//],
  [/^re2js$/, /^src\/modules\/content-log\//],
  [/^prom-client$/, /^src\/observability\//],
  [/^bun(:|$)/, /\.bun\.ts$/],
];

const importPattern =
  /^import\s+(?:[\w$*{},\s]+?\sfrom\s+)?"([^"]+)"|^export\s+(?:type\s+)?(?:\*|\{[^}]*\})(?:\s+as\s+\w+)?\s+from\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

/** Every import of a file, also re-exports, dynamic ones and those of types, with its line. */
function importsOf(text: string): { specifier: string; line: string }[] {
  return [...text.matchAll(importPattern)].map(([line, ...specifiers]) => ({
    specifier: specifiers.find((specifier) => specifier !== undefined) as string,
    line: line.replaceAll(/\s+/g, " "),
  }));
}

/** The packages that a program loads before it does anything, from the imports of its modules that are no types. */
function loadedBy(entries: readonly string[]): Map<string, string> {
  const packages = new Map<string, string>();
  const seen = new Set(entries);
  for (const path of seen) {
    if (!existsSync(join(root, path))) continue;
    for (const { specifier, line } of importsOf(readFileSync(join(root, path), "utf8"))) {
      const names = /^(?:import|export) \{([^}]*)\}/.exec(line)?.[1]?.split(",") ?? [];
      const isOfTypes =
        /^(import|export) type /.test(line) ||
        (names.length > 0 && names.every((name) => name.trim() === "" || name.trim().startsWith("type ")));
      if (isOfTypes || !/^(import|export) /.test(line)) continue;
      if (specifier.startsWith(".")) seen.add(posix.join(posix.dirname(path), specifier));
      else packages.set(specifier, path);
    }
  }
  return packages;
}

/** `src/kernel/x.ts` → `kernel`, `plugins/acme/index.ts` → `plugins`. */
function roomOf(path: string): string {
  const [top = "", below = ""] = path.split("/");
  return top === "src" ? below : top;
}

function findBreaches(files: ReadonlyMap<string, string>): string[] {
  return [...files].flatMap(([path, text]) =>
    importsOf(text).flatMap(({ specifier, line }) => (mayImport(path, specifier) ? [] : [`${path}: ${line}`])),
  );
}

function mayImport(path: string, specifier: string): boolean {
  if (path.startsWith("plugins/")) return pluginMayImport(path, specifier);
  if (!specifier.startsWith(".")) {
    const rule = packages.find(([name]) => name.test(specifier));
    return specifier !== "modelgate/plugin" && (rule === undefined || rule[1].test(path));
  }
  // A picture or a page is no module: it depends on nothing.
  if (/\.(svg|md)$/.test(specifier)) return true;
  const target = posix.join(posix.dirname(path), specifier);
  const [own, other] = [roomOf(path), roomOf(target)];
  if (own === "modules") return moduleMayImport(path, target);
  if (other === "modules") return listsOfModules[target]?.test(path) ?? false;
  if (own !== other) return allowed[own]?.includes(other) ?? false;
  // The API that is promised to programs depends on no page.
  if (path.startsWith("src/http/admin-api/") && target.startsWith("src/http/dashboard-api/")) return false;
  return inner[own] === undefined || placeOf(own, target) <= placeOf(own, path);
}

/** Who imports the lists of modules. Nothing else in the folder of modules is imported from outside. */
const listsOfModules: Readonly<Record<string, RegExp>> = {
  "src/modules/index.ts": /^src\/(app\.ts$|cli\/)/,
  "src/modules/pages.ts": /^src\/dashboard\/main\.tsx$/,
};

/**
 * A module imports its own folder and the rooms, and nothing of another module. Its pages are of the browser: they import parts of
 * the dashboard, and from the rest of their module types alone, see below.
 */
function moduleMayImport(path: string, target: string): boolean {
  const [, , module = "", part = ""] = path.split("/");
  const ofPages = target.includes("/dashboard/");
  if (part === "") {
    if (module === "pages.ts") return /^src\/modules\/[^/]+\/dashboard\/index\.ts$/.test(target);
    if (module === "list.ts") return /^src\/modules\/[^/]+\/index\.ts$/.test(target);
    if (roomOf(target) === "modules") return /^src\/modules\/(list|module)\.ts$/.test(target);
  } else if (part === "dashboard" && ofPages) {
    return (
      target.startsWith(`src/modules/${module}/`) || /^src\/dashboard\/((data|kit|features)\/|format\.ts$)/.test(target)
    );
  } else if (roomOf(target) === "modules") {
    return !ofPages && (target.startsWith(`src/modules/${module}/`) || target === "src/modules/module.ts");
  }
  // What a command is, and what commands are made of: those of the gateway and of modules.
  if (/^src\/cli\/(command\.ts$|lib\/)/.test(target)) return true;
  return allowed.modules?.includes(roomOf(target)) ?? false;
}

/** What a plugin may use of the platform: nothing that reads files, the environment or the network. */
const pluginBuiltIns: ReadonlySet<string> = new Set(["node:timers/promises", "node:zlib"]);

/**
 * A plugin is a stranger's program: the one module handed to it, its own folder and its own catalogue. One that is built in
 * may also use wire formats and helpers, none of which reaches the kernel.
 */
function pluginMayImport(path: string, specifier: string): boolean {
  if (!specifier.startsWith(".")) return specifier === "modelgate/plugin" || pluginBuiltIns.has(specifier);
  const target = posix.join(posix.dirname(path), specifier);
  const [, name = ""] = path.split("/");
  if (name === "index.ts" || name === "manifests.ts") return target.startsWith("plugins/");
  // Which rows the refresh makes of the price lists: not a part of the plugin.
  if (path.endsWith("/catalogue-rules.ts")) return target.startsWith("scripts/refresh-catalogue/");
  if (/^src\/(lib|protocols)\/|^src\/(contract|provider)\/index\.ts$/.test(target)) return true;
  return target.startsWith(`plugins/${name}/`) || new RegExp(`^catalogue/${name}\\.json$`).test(target);
}

function filesBelow(folder: string): Map<string, string> {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const paths = names.filter((name) => /\.tsx?$/.test(name)).map((name) => posix.join(folder, name));
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

const source = new Map([...filesBelow("src"), ...filesBelow("plugins")]);

test("imports go downward only", () => {
  expect(source.size).toBeGreaterThan(300);
  expect(findBreaches(source)).toEqual([]);
});

test("every file of a large folder has its place in the order", () => {
  const placeless = [...source.keys()].filter((path) => roomOf(path) in inner && placeOf(roomOf(path), path) < 0);
  expect(placeless).toEqual([]);
});

describe("a breach is found", () => {
  test.each([
    ["src/contract/upward.ts", 'import "../provider/index.ts";'],
    ["src/contract/upward.ts", 'import "../lib/sse.ts";'],
    ["src/lib/upward.ts", 'import "../protocols/tools.ts";'],
    ["src/protocols/upward.ts", 'import "../sdk/index.ts";'],
    ["src/protocols/messages/sideways.ts", 'import { run } from "../../kernel/pipeline.ts";'],
    ["src/sdk/upward.ts", 'import { run } from "../kernel/pipeline.ts";'],
    ["src/protocols/openai/upward.ts", 'import type { Run } from "../../kernel/pipeline.ts";'],
    ["src/kernel/upward.ts", 'export { a } from "../http/lifecycle/errors.ts";'],
    ["src/kernel/lazy.ts", 'const a = await import("../providers/index.ts");'],
    ["src/kernel/reads-config.ts", 'import "../config/index.ts";'],
    ["src/kernel/names-plugin.ts", 'import "../../plugins/acme/index.ts";'],
    ["src/db/upward.ts", 'import "../ledger/hold.ts";'],
    ["src/ledger/sideways.ts", 'import {\n  a,\n  b,\n} from "../keys/keys.ts";'],
    ["src/keys/sideways.ts", 'import "../kernel/pipeline.ts";'],
    ["src/tenants/upward.ts", 'import "../identity/index.ts";'],
    ["src/providers/upward.ts", 'import "../mail/index.ts";'],
    ["src/http/own-module.ts", 'import "modelgate/plugin";'],
    ["src/app.ts", 'import "../plugins/acme/index.ts";'],
    ["src/app.ts", 'import "./modules/payments/open.ts";'],
    ["src/http/server.ts", 'import "../modules/index.ts";'],
    ["src/http/lifecycle/names-module.ts", 'import type { A } from "../../modules/payments/index.ts";'],
    ["src/dashboard/shell/pages.tsx", 'import "../../modules/payments/dashboard/index.ts";'],
    ["src/dashboard/shell/pages.tsx", 'import "../../modules/pages.ts";'],
    ["src/modules/alerts/sideways.ts", 'import "../payments/vouchers.ts";'],
    ["src/modules/payments/open.ts", 'import "./dashboard/api.ts";'],
    ["src/modules/payments/upward.ts", 'import "../../app.ts";'],
    ["src/modules/payments/listed.ts", 'import "../index.ts";'],
    ["src/modules/payments/dashboard/page.tsx", 'import "../../../dashboard/shell/shell.tsx";'],
    ["src/app.ts", 'import "./cli/index.ts";'],
    ["src/kernel/framework.ts", 'import { Elysia } from "elysia";'],
    ["src/http/sign-in.ts", 'import { betterAuth } from "better-auth/minimal";'],
    ["src/kernel/routing/upward.ts", 'import type { Call } from "../call.ts";'],
    ["src/kernel/upstream/upward.ts", 'import "../capabilities/chat.ts";'],
    ["src/http/admin-api/sideways.ts", 'import "../dashboard-api/keys.ts";'],
    ["src/http/lifecycle/upward.ts", 'import "../api/models.ts";'],
    ["src/dashboard/data/upward.ts", 'import "../features/models/api.ts";'],
    ["src/dashboard/theme.ts", 'import "./kit/button.tsx";'],
    ["src/db/runtime.ts", 'import { Database } from "bun:sqlite";'],
    ["src/kernel/sql.ts", 'import { sql } from "kysely";'],
    ["plugins/acme/source.ts", 'import "../../src/sdk/index.ts";'],
    ["plugins/acme/kernel.ts", 'import "../../src/kernel/index.ts";'],
    ["plugins/acme/deep/other.ts", 'import "../../other/index.ts";'],
    ["plugins/acme/list.ts", 'import "../index.ts";'],
    ["plugins/acme/disk.ts", 'import "node:fs/promises";'],
    ["plugins/acme/strange-rows.ts", 'import rows from "../../catalogue/other.json";'],
  ])("%s: %s", (path, text) => {
    expect(findBreaches(new Map([[path, text]]))).toHaveLength(1);
  });

  test.each([
    ["src/http/route.ts", 'import "elysia";\nimport "../identity/index.ts";\nimport "../kernel/index.ts";'],
    ["src/db/connection.bun.ts", 'import { sql } from "bun";'],
    ["src/main.ts", 'import "../plugins/index.ts";'],
    ["src/app.ts", 'import "./modules/index.ts";'],
    ["src/dashboard/main.tsx", 'import "../modules/pages.ts";'],
    ["src/modules/list.ts", 'import "./payments/index.ts";'],
    ["src/modules/payments/own.ts", 'import "./stripe.ts";\nimport "../module.ts";\nimport "../../http/deps.ts";'],
    [
      "src/modules/payments/dashboard/own.tsx",
      'import "./api.ts";\nimport type { A } from "../routes.ts";\nimport "../../../dashboard/kit/form.tsx";',
    ],
    ["plugins/index.ts", 'import "./acme/index.ts";'],
    [
      "plugins/acme/deep/own.ts",
      'import "modelgate/plugin";\nimport "../../../src/lib/wav.ts";\nimport "../../../catalogue/acme.json";\nimport "../parts.ts";',
    ],
  ])("and %s is none", (path, text) => {
    expect(findBreaches(new Map([[path, text]]))).toEqual([]);
  });
});

test("every module has its line in the list, and in the list of pages if it has pages", () => {
  const folders = readdirSync(join(root, "src/modules"), { withFileTypes: true }).filter((each) => each.isDirectory());
  const linesFor = (list: string, part: string) => {
    const listed = importsOf(source.get(`src/modules/${list}`) ?? "").map(({ specifier }) => specifier);
    const modules = folders.filter(({ name }) => source.has(`src/modules/${name}/${part}`));
    return [listed, modules.map(({ name }) => `./${name}/${part}`)].map((each) => each.toSorted());
  };
  for (const [list, part] of [
    ["list.ts", "index.ts"],
    ["pages.ts", "dashboard/index.ts"],
  ] as const) {
    const [listed, expected] = linesFor(list, part);
    expect(listed).toEqual(expected as string[]);
  }
  expect(folders.length).toBeGreaterThan(1);
});

test("nothing stands loose in src but the entry and the composition root", () => {
  const loose = readdirSync(join(root, "src"), { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(loose.map(({ name }) => name).sort()).toEqual(["app.ts", "main.ts"]);
});

test("forbidden globals are not reached by way of globalThis", () => {
  const reached = [...source]
    .filter(([path]) =>
      /^(src\/(contract|provider|lib|protocols|sdk|kernel|providers|ledger|reports|db)|plugins)\//.test(path),
    )
    .filter(([path]) => path !== "src/kernel/upstream/network.ts" && !path.endsWith(".bun.ts"))
    .filter(([, text]) => /(?<!typeof )globalThis\.(fetch|Bun|process|Deno)\b/.test(text));
  expect(reached.map(([path]) => path)).toEqual([]);
});

test("the dashboard takes types alone from the API that it calls", () => {
  const taken = [...source]
    .filter(([path]) => /^src\/(dashboard|modules\/[^/]+\/dashboard)\//.test(path))
    .flatMap(([path, text]) => importsOf(text).map((each) => ({ path, ...each })))
    .filter(({ path, specifier, line }) => {
      const target = posix.join(posix.dirname(path), specifier);
      const isOfServer = /^src\/(?!dashboard\/|modules\/([^/]+\/dashboard\/|pages\.ts$))/.test(target);
      return specifier.startsWith(".") && isOfServer && !/^import type /.test(line);
    });
  expect(taken).toEqual([]);
});

test("no test has an expectation wait for a promise: it would run the event loop inside itself", () => {
  const tests = filesBelow("test");
  expect(tests.size).toBeGreaterThan(300);
  const waiting = [...tests].filter(([, text]) => /\)\s*\.(rejects|resolves)\./.test(text));
  expect(waiting.map(([path]) => path)).toEqual([]);
});

test("a start loads no client of a service that the gateway may not have", () => {
  const loaded = loadedBy(["src/cli/index.ts", "src/cli/serve-app.bun.ts", "plugins/index.ts"]);
  // The walk has come to the end of the imports.
  expect(loaded.get("elysia")).toBe("src/http/server.ts");
  expect(loaded.get("kysely")).toBeDefined();
  const isClient = (name: string) =>
    /^(ioredis|pg|stripe|nodemailer|re2js|better-auth|@opentelemetry)(\/|$)/.test(name);
  expect([...loaded].filter(([name]) => isClient(name))).toEqual([]);
});
