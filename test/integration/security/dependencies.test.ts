import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "../../..");
const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"));

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  trustedDependencies?: string[];
}
/** Of `bun.lock`: the name with its version, the registry (empty: the usual one), what it needs, its checksum. */
type Locked = [
  string,
  string,
  { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> },
  string,
];

const manifest = readJson(join(root, "package.json")) as Manifest;
const lock = JSON.parse(readFileSync(join(root, "bun.lock"), "utf8").replaceAll(/,(?=\s*[\]}])/g, "")) as {
  packages: Record<string, Locked>;
  workspaces: { "": Manifest };
};

/** Licences that ask for no more than that they be named. */
const permissive = [
  "MIT",
  "MIT-0",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "Unlicense",
  "CC0-1.0",
  "BlueOak-1.0.0",
];
/** For tools alone, which are no part of what is handed out: changes to their own files stay open. */
const ofTools = [...permissive, "MPL-2.0"];
const auditMsMax = 30_000;

/** All that a package brings along, by the keys of the lockfile: `a`, or `a/b` for a `b` of its own. */
function broughtBy(names: readonly string[]): Set<string> {
  const found = new Set<string>();
  const take = (name: string, of: string) => {
    const key = [`${of}/${name}`, name].find((one) => lock.packages[one] !== undefined);
    if (key === undefined || found.has(key)) return;
    found.add(key);
    const { dependencies = {}, optionalDependencies = {} } = (lock.packages[key] as Locked)[2];
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) take(next, key);
  };
  for (const name of names) take(name, "");
  return found;
}

function folderOf(key: string): string {
  const parts = key.match(/@[^/]+\/[^/]+|[^/]+/g) ?? [];
  return join(root, ...parts.flatMap((part) => ["node_modules", part]));
}

function licenceOf(folder: string): string {
  const { license, licenses } = readJson(join(folder, "package.json"));
  if (typeof license === "string") return license;
  return String(license?.type ?? licenses?.[0]?.type ?? "none");
}

/** Whether one of the licences offered is among those taken. */
const isAmong = (licence: string, taken: readonly string[]) =>
  licence
    .replaceAll(/[()]/g, "")
    .split(" OR ")
    .some((one) => taken.includes(one.trim()));

/** Those of a kind that are installed here: the binaries of other systems are not. */
const installed = (names: readonly string[]) =>
  [...broughtBy(names)].filter((key) => existsSync(join(folderOf(key), "package.json")));

describe("every dependency", () => {
  test("has an exact version", () => {
    const named = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  test("is in the one lockfile, which builds and releases install as it is", () => {
    const tracked = Bun.spawnSync(["git", "ls-files"], { cwd: root }).stdout.toString().split("\n");
    const lockfiles = /(^|\/)(bun\.lockb?|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml)$/;
    expect(tracked.filter((file) => lockfiles.test(file))).toEqual(["bun.lock"]);
    const { dependencies, devDependencies } = lock.workspaces[""];
    expect({ dependencies, devDependencies }).toEqual({
      dependencies: manifest.dependencies,
      devDependencies: manifest.devDependencies,
    });
    for (const file of ["deploy/Dockerfile", "scripts/release.bun.ts"]) {
      expect(readFileSync(join(root, file), "utf8")).toContain("--frozen-lockfile");
    }
  });

  test("comes from the registry with a checksum and runs no install script", () => {
    const packages = Object.entries(lock.packages);
    expect(packages.length).toBeGreaterThan(100);
    const odd = packages.filter(
      ([, [, registry, , checksum]]) => registry !== "" || !String(checksum).startsWith("sha512-"),
    );
    expect(odd.map(([name]) => name)).toEqual([]);
    expect(manifest.trustedDependencies ?? []).toEqual([]);
  });

  test("of the program has a permissive licence", () => {
    const keys = installed(Object.keys(manifest.dependencies));
    expect(keys.length).toBeGreaterThan(30);
    const others = keys
      .map((key) => [key, licenceOf(folderOf(key))] as const)
      .filter(([, licence]) => !isAmong(licence, permissive));
    expect(others).toEqual([]);
  });

  test("of the tools has a licence that allows use", () => {
    const keys = installed(Object.keys(manifest.devDependencies));
    const others = keys
      .map((key) => [key, licenceOf(folderOf(key))] as const)
      .filter(([, licence]) => !isAmong(licence, ofTools));
    expect(others).toEqual([]);
  });

  test(
    "of the program is free of known holes that are high, as far as the registry says",
    async () => {
      const command = [process.execPath, "audit", "--json", "--prod", "--audit-level=high"];
      const child = Bun.spawn(command, { cwd: root, stdout: "pipe", stderr: "pipe", timeout: auditMsMax });
      const [text, complaint] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      await child.exited;
      const found = readFound(text);
      if (found === undefined)
        return console.log(`Skipped: the audit of dependencies: ${lastLineOf(complaint || text)}`);
      expect(found).toEqual({});
    },
    auditMsMax + 5000,
  );
});

/** What the registry knows, by package; absent when it could not be asked. */
function readFound(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Why it could not be asked, without the address that was. */
function lastLineOf(text: string): string {
  return (text.trim().split("\n").at(-1) ?? "").replaceAll(/https?:\/\/\S+/g, "the registry");
}
