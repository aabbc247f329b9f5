import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { litellmTables } from "../src/cli/import/litellm-rules.ts";

/**
 * Reads the newest schemas of the gateways that `modelgate import` takes over, prints what grew since the last time, and writes
 * `src/cli/import/foreign-schemas.json`. With `--check` it writes nothing and ends with status 1 when something differs. A test
 * then names each column that the import neither uses nor knows to be harmless.
 *
 *     bun run import:refresh [--check] [--litellm DIR] [--new-api DIR]
 *
 * LiteLLM's schema and settings come from its packages on PyPI (`litellm-proxy-extras`, `litellm`), new-api's from its repository.
 * A folder has them instead: the unpacked packages, or `token.go`, `user.go` and `channel.go`.
 */

/** Defaults of the columns of tables, by their names. */
type Tables = Record<string, Record<string, unknown>>;

interface Facts {
  readonly litellm: {
    readonly versions: string;
    /** Tables that the import reads. */
    readonly tables: Tables;
    readonly otherTables: readonly string[];
    readonly settings: Record<(typeof settingParts)[number], readonly string[]>;
  };
  readonly "new-api": { readonly tables: Tables };
}

const tablesRead = new Set<string>(Object.values(litellmTables).map(({ table }) => table));
const settingParts = ["litellm_settings", "general_settings", "router_settings"] as const;
const file = join(import.meta.dirname, "../src/cli/import/foreign-schemas.json");
const newApiUrl = "https://raw.githubusercontent.com/QuantumNous/new-api/main/model/";
const newApiTables = { tokens: "token.go", users: "user.go", channels: "channel.go" } as const;
const options = { check: { type: "boolean" }, litellm: { type: "string" }, "new-api": { type: "string" } } as const;
const { values: flags } = parseArgs({ options });
const print = (text: string) => process.stdout.write(`${text}\n`);

const before = JSON.parse(readFileSync(file, "utf8")) as Facts;
const now: Facts = {
  litellm: await readLiteLlm(flags.litellm),
  "new-api": { tables: await readNewApi(flags["new-api"]) },
};
const differences = [
  ...compareTables("litellm", before.litellm.tables, now.litellm.tables),
  ...compareNames("litellm tables", before.litellm.otherTables ?? [], now.litellm.otherTables),
  ...compareTables("new-api", before["new-api"].tables, now["new-api"].tables),
  ...settingParts.flatMap((part) =>
    compareNames(`litellm ${part}`, before.litellm.settings[part] ?? [], now.litellm.settings[part]),
  ),
];
for (const difference of differences) print(difference);
print(differences.length === 0 ? "Nothing grew" : `${differences.length} differences`);
if (flags.check) process.exit(differences.length === 0 ? 0 : 1);
writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);

async function readLiteLlm(folder: string | undefined): Promise<Facts["litellm"]> {
  if (folder !== undefined) return readPackages(folder, before.litellm.versions);
  const place = mkdtempSync(join(tmpdir(), "modelgate-facts-"));
  try {
    const versions = ["litellm-proxy-extras", "litellm"].map((name) => `${name} ${unpack(name, place)}`);
    return readPackages(place, versions.join(", "));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Downloads the newest version of a package and unpacks it. Returns its version. */
function unpack(name: string, place: string): string {
  run("python3", "-m", "pip", "download", name, "--no-deps", "--dest", place);
  const wheel = new Bun.Glob(`${name.replaceAll("-", "_")}-*.whl`).scanSync(place).next().value as string;
  run("python3", "-m", "zipfile", "-e", join(place, wheel), place);
  return wheel.split("-")[1] as string;
}

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`Cannot run ${command} ${args.join(" ")}: ${stderr}`);
}

/** @param folder It has the packages `litellm_proxy_extras` and `litellm`. */
function readPackages(folder: string, versions: string): Facts["litellm"] {
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  const [, parameters = ""] = /^def _router_init\(([\s\S]*?)^\)/m.exec(read("litellm/router.py")) ?? [];
  const general = /^class ConfigGeneralSettings\b[\s\S]*?(?=^class )/m.exec(read("litellm/proxy/_types.py"))?.[0] ?? "";
  const namesIn = (text: string) => [...text.matchAll(/^ {0,4}([a-z_]\w*) ?:/gm)].map(([, name]) => name as string);
  // Many are read without a place in that class.
  const uses = [...new Bun.Glob("litellm/proxy/**/*.py").scanSync(folder)].flatMap((path) =>
    [...read(path).matchAll(/general_settings(?:\.get\(|\[)\s*["'](\w+)/g)].map(([, name]) => name as string),
  );
  const sorted = (names: readonly string[]) => [...new Set(names)].sort();
  const tables = Object.entries(readPrisma(read("litellm_proxy_extras/schema.prisma")));
  return {
    versions,
    tables: Object.fromEntries(tables.filter(([name]) => tablesRead.has(name))),
    otherTables: sorted(tables.map(([name]) => name).filter((name) => !tablesRead.has(name))),
    settings: {
      general_settings: sorted([...namesIn(general), ...uses]),
      router_settings: sorted(namesIn(parameters)),
      litellm_settings: sorted(namesIn(read("litellm/__init__.py"))),
    },
  };
}

/** Reads the columns of Prisma's models. Relations are not columns. */
function readPrisma(text: string): Tables {
  const tables: Tables = {};
  for (const [, table = "", body = ""] of text.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)) {
    const columns: Record<string, unknown> = {};
    for (const line of body.split("\n")) {
      const [, name, type = "", more = ""] = /^\s*(\w+)\s+([\w[\]?]+)(.*)$/.exec(line.replace(/\/\/.*$/, "")) ?? [];
      if (name === undefined || type.startsWith("LiteLLM_")) continue;
      const mapped = /@map\("(\w+)"\)/.exec(more)?.[1] ?? name;
      columns[mapped] = toPrismaDefault(type, /@default\((.*?)\)(?:\s|$)/.exec(more)?.[1]);
    }
    tables[table] = columns;
  }
  return tables;
}

function toPrismaDefault(type: string, standard: string | undefined): unknown {
  if (standard === undefined) return type.endsWith("[]") ? [] : null;
  // Made for each row, as times and ids are: the expression says nothing.
  if (/^[a-z]\w*\(/.test(standard)) return "generated";
  const text = standard.startsWith('"') ? (JSON.parse(standard) as string) : standard;
  if (type.startsWith("Json")) return JSON.parse(text);
  // Text, or one of the words of a type; the rest are numbers and flags.
  return standard.startsWith('"') || /^[A-Z]/.test(standard) ? text : JSON.parse(standard);
}

async function readNewApi(folder: string | undefined): Promise<Tables> {
  const tables: Tables = {};
  for (const [table, name] of Object.entries(newApiTables)) {
    const text = folder === undefined ? await fetchText(newApiUrl + name) : readFileSync(join(folder, name), "utf8");
    tables[table] = readGorm(text);
  }
  return tables;
}

async function fetchText(url: string): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`Cannot fetch ${url}: ${response.status}`);
  return await response.text();
}

/** Columns of the first struct of a file, by the names that GORM gives them. */
function readGorm(text: string): Record<string, unknown> {
  const columns: Record<string, unknown> = {};
  const [, body = ""] = /^type \w+ struct \{([\s\S]*?)^\}/m.exec(text) ?? [];
  for (const line of body.split("\n")) {
    const [, field, type = "", tags = ""] = /^\s*([A-Z]\w*)\s+(\S+)\s+`([^`]*)`/.exec(line) ?? [];
    const gorm = /gorm:"([^"]*)"/.exec(tags)?.[1] ?? "";
    if (field === undefined || /^-/.test(gorm)) continue;
    const name = /column:(\w+)/.exec(gorm)?.[1] ?? toSnake(field);
    const standard = /default:('([^']*)'|[\w.-]+)/.exec(gorm);
    columns[name] = standard === null ? zeroOf(type) : (standard[2] ?? JSON.parse(standard[1] as string));
  }
  return columns;
}

/** As GORM writes names: `OpenAIOrganization` is `open_ai_organization`. */
function toSnake(field: string): string {
  return field
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase();
}

function zeroOf(type: string): unknown {
  if (type.startsWith("*") || type === "gorm.DeletedAt" || /^[A-Z]/.test(type)) return null;
  if (type === "bool") return false;
  return type === "string" ? "" : 0;
}

function compareTables(source: string, old: Tables, present: Tables): string[] {
  return [
    ...compareNames(`${source} tables`, Object.keys(old), Object.keys(present)),
    ...Object.keys(present).flatMap((table) =>
      old[table] === undefined
        ? []
        : compareNames(`${source} ${table}`, Object.keys(old[table]), Object.keys(present[table] ?? {})),
    ),
  ];
}

function compareNames(place: string, old: readonly string[], present: readonly string[]): string[] {
  const added = present.filter((name) => !old.includes(name)).map((name) => `${place}: ${name} is new`);
  return [...added, ...old.filter((name) => !present.includes(name)).map((name) => `${place}: ${name} is gone`)];
}
