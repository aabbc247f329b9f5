import { expect, test } from "bun:test";
import { describeConfig, listVariables, readConfig } from "../../../src/config/index.ts";
import { errorTable } from "../../../src/contract/index.ts";
import { moduleSettings } from "../../../src/modules/index.ts";
import { completeRow, contextTokensDefault } from "../../../src/provider/index.ts";
import { readSection, tableRows } from "./pages.ts";

test("the table of errors in docs/api.md is the table of the code", () => {
  const documented = tableRows(readSection("docs/api.md", "## Errors")).map((row) => row.slice(0, 3));
  expect(documented).toEqual(
    Object.entries(errorTable).map(([code, { status, type }]) => [code, String(status), type]),
  );
});

const settings = tableRows(readSection("docs/configuration.md", "## Settings"));

test("docs/configuration.md has every setting, with its default", () => {
  const documented = new Map(settings.map(([variable = "", value = ""]) => [variable, value]));
  for (const { name, value } of describeConfig(readConfig({}, moduleSettings))) {
    expect([...documented.keys()]).toContain(name);
    if (name !== "MODELGATE_HOME")
      expect([name, documented.get(name)]).toEqual([name, value === "not set" ? "" : value]);
  }
});

test("docs/configuration.md has no setting twice, and none that nothing reads", () => {
  const names = settings.map(([variable = ""]) => variable).filter((variable) => !variable.startsWith("<PLUGIN>"));
  expect(names.toSorted()).toEqual(listVariables(moduleSettings).toSorted());
});

test("the table of what a row may leave out in docs/models.md has the defaults of the code", () => {
  const tables = tableRows(readSection("docs/models.md", "# Models and prices"));
  const row = { id: "acme/one", premium: false };
  const { upstreamId, capability, ownedBy, created } = completeRow(row, {
    name: "the provider's name",
    prefix: "acme/",
  });
  const documented = new Map(tables.map(([field = "", value = ""]) => [field, value]));
  expect([upstreamId, documented.get("upstreamId")]).toEqual(["one", expect.stringContaining("without the prefix")]);
  expect(documented.get("capability")).toBe(capability);
  expect(documented.get("ownedBy")).toBe(ownedBy);
  expect(documented.get("created")).toBe(String(created));
  expect(documented.get("contextTokens")).toContain(`held as ${contextTokensDefault} tokens`);
});
