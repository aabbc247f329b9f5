import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Node, parse } from "acorn";
import { checkSync } from "recheck";

const root = join(import.meta.dir, "../../..");

interface Found {
  place: string;
  source: string;
  flags: string;
}

/** Files with one whose time grows with the square of what it reads, and what bounds that. */
const bounded: Readonly<Record<string, string>> = {
  "src/tenants/sign-in-address.ts": "an address of at most 254 characters",
  "src/cli/plugin-check/record.ts": "what the operator's own recording holds",
  "src/cli/plugin-new/build-types.bun.ts": "our own source, when the program is built",
  "src/config/config.ts": "what the operator set",
  "src/contract/price.ts": "the digits of a number",
  "src/kernel/routing/registry.ts": "a base URL of a plugin or its operator",
  "src/kernel/upstream/ssrf-guard.ts": "a base URL that the operator's credential names",
  "src/sdk/define-plugin.ts": "a base URL of a plugin",
  "src/lib/retry-after.ts": "a duration of at most 40 characters",
};
/** Where one is put together, and whose tests read hostile text by it. */
const madeIn: Readonly<Record<string, string>> = {
  "src/contract/context-length.ts": "test/unit/contract/context-length.test.ts",
  "src/contract/name.ts": "test/integration/security/hostile-names.test.ts",
  "src/lib/terminal-text.ts": "test/unit/lib/terminal-text.test.ts",
  "src/protocols/upstream-errors.ts": "test/unit/protocols/upstream-errors.test.ts",
  "src/provider/credential.ts": "test/unit/provider/credential.test.ts",
  "src/provider/model-facts.ts": "test/unit/catalogue/facts.test.ts",
};

/** Every regular expression of the program, and every place where one is put together. */
function regularExpressions(): { literals: Found[]; made: string[] } {
  const literals: Found[] = [];
  const made: string[] = [];
  for (const file of ["src", "plugins"].flatMap(filesBelow)) {
    const text = readFileSync(join(root, file), "utf8");
    const code = new Bun.Transpiler({ loader: file.endsWith("x") ? "tsx" : "ts" }).transformSync(text);
    walk(parse(code, { ecmaVersion: "latest", sourceType: "module" }), (node) => {
      if (node.type === "Literal" && "regex" in node) {
        const { pattern, flags } = node.regex as { pattern: string; flags: string };
        literals.push({ place: file, source: pattern, flags });
      }
      const callee = (node as { callee?: { name?: string } }).callee;
      if ((node.type === "NewExpression" || node.type === "CallExpression") && callee?.name === "RegExp")
        made.push(file);
    });
  }
  return { literals, made };
}

/** A class, an escaped character, or how often something may stand there. */
const partOfExpression = /\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d+))?\}/g;
/** The check of an expression looks at each turn of a longer repetition by itself. */
const turnsMax = 20;
const checkMsMax = { first: 200, last: 700 };

/**
 * Whether no input is found that an expression is slow on. It is not, where it is linear with long repetitions that never end,
 * and that is told a hundred times as soon.
 */
function isLinear(source: string, flags: string): boolean {
  const endless = source.replace(partOfExpression, (part, from?: string, to = from) =>
    Number(to) > turnsMax ? (from === "0" ? "*" : "+") : part,
  );
  const isSafe = endless !== source && checkSync(endless, flags, { timeout: checkMsMax.first }).status === "safe";
  // `unknown` is none that was found slow in the time given, which a busy machine makes shorter.
  return isSafe || checkSync(source, flags, { timeout: checkMsMax.last }).status !== "vulnerable";
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === "object" && child !== null && typeof (child as Node).type === "string")
        walk(child as Node, visit);
    }
  }
}

function filesBelow(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names.filter((name) => /(?<!\.d)\.tsx?$/.test(name)).map((name) => join(folder, name));
}

describe("the regular expressions of the program", () => {
  const { literals, made } = regularExpressions();

  test("take time linear in their input", () => {
    expect(literals.length).toBeGreaterThan(100);
    const slow: string[] = [];
    const known = new Map<string, boolean>();
    for (const { place, source, flags } of literals) {
      const key = `/${source}/${flags}`;
      const isSafe = known.get(key) ?? isLinear(source, flags);
      known.set(key, isSafe);
      if (!isSafe && bounded[place] === undefined) slow.push(`${place}: ${key}`);
    }
    expect(slow).toEqual([]);
  });

  test("that are slow are all listed by file", () => {
    const places = new Set(literals.map(({ place }) => place));
    expect(Object.keys(bounded).filter((place) => !places.has(place))).toEqual([]);
  });

  test("are built at run time only in listed places", () => {
    expect([...new Set(made)].sort()).toEqual(Object.keys(madeIn));
    for (const file of Object.values(madeIn)) expect(existsSync(join(root, file))).toBe(true);
  });
});
