import { expect, test } from "bun:test";
import { describeConfig, readConfig } from "../src/config.ts";
import { errorTable } from "../src/contract/index.ts";

const readme = await Bun.file(new URL("../README.md", import.meta.url)).text();

function rowsBelow(heading: string): string[][] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll("`", "")),
  );
}

test("the README's table of errors is the table of the code", () => {
  const told = rowsBelow("Errors");
  expect(told).toEqual(Object.entries(errorTable).map(([code, { status, type }]) => [code, String(status), type]));
});

test("the README tells every setting, with its default", () => {
  const config = readConfig({});
  const told = new Map(rowsBelow("Settings").map(([variable, value]) => [variable, value]));
  for (const { name, value } of describeConfig(config)) {
    expect([...told.keys()]).toContain(name);
    const shown = told.get(name);
    if (name !== "MODELGATE_HOME") expect(shown).toBe(value === "not set" ? "" : value);
  }
});
