import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ErrorCode, errorTable } from "../../src/contract/error.ts";

const root = join(import.meta.dir, "../..");
const page = readFileSync(join(root, "docs/lifecycle.md"), "utf8");
const steps = [...page.matchAll(/^\| (\d[a-e]?) ([\w ]+?) +\| `(src\/[\w./-]+)` +\| (.*) \|$/gm)].map(
  ([, number = "", name = "", file = "", errors = ""]) => ({ number, name, file, errors }),
);
const codesOf = (text: string) =>
  [...text.matchAll(/`([a-z_]+)` (\d{3})/g)].map(([, code = "", status = ""]) => ({ code, status }));

describe("docs/lifecycle.md", () => {
  test("lists the steps in the order of a request, each with a file that exists", () => {
    expect(steps.map(({ number }) => number)).toEqual([
      "1",
      "2",
      "3",
      "4",
      "5",
      "6",
      "7",
      "7a",
      "7b",
      "7c",
      "7d",
      "7e",
      "8",
    ]);
    expect(steps.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
  });

  test("names each step of src/http/lifecycle that calls itself one", () => {
    const folder = "src/http/lifecycle";
    const numbered = readdirSync(join(root, folder)).flatMap((file) => {
      const text = readFileSync(join(root, folder, file), "utf8");
      return [...text.matchAll(/\bStep (\d):/g)].map(([, number = ""]) => ({ number, file: `${folder}/${file}` }));
    });
    expect(numbered.toSorted((a, b) => a.number.localeCompare(b.number))).toEqual(
      steps.filter(({ number }) => /^\d$/.test(number)).map(({ number, file }) => ({ number, file })),
    );
  });

  test("gives each code the status of the error table", () => {
    const named = codesOf(page.replaceAll("\n", " "));
    expect(named.length).toBeGreaterThan(30);
    for (const { code, status } of named) {
      expect([code, errorTable[code as ErrorCode]?.status as number | undefined]).toEqual([code, Number(status)]);
    }
  });

  test("says of every code where a request ends with it", () => {
    const named = new Set(codesOf(page.replaceAll("\n", " ")).map(({ code }) => code));
    expect(Object.keys(errorTable).filter((code) => !named.has(code))).toEqual([]);
  });

  test("draws the statuses of each step in its diagram", () => {
    const [diagram = ""] = /```\n([\s\S]*?)```/.exec(page)?.slice(1) ?? [];
    for (const [, status] of diagram.matchAll(/(?:^|\s)(\d{3})(?= )/gm)) {
      expect(Object.values(errorTable).map((row) => Number(row.status))).toContain(Number(status));
    }
    for (const { number, name } of steps) {
      expect(diagram).toMatch(new RegExp(`${/^\d$/.test(number) ? `${number}  ` : ""}${name}`));
    }
  });
});
