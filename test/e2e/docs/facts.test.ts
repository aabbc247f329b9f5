import { expect, test } from "bun:test";
import { describeConfig, listVariables, readConfig } from "../../../src/config/index.ts";
import { cacheMissKinds, errorTable } from "../../../src/contract/index.ts";
import { moduleSettings } from "../../../src/modules/index.ts";
import { completeRow, contextTokensDefault, findModelFacts } from "../../../src/provider/index.ts";
import { readPage, readSection, tableRows } from "./pages.ts";

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

test("docs/api.md has the request headers that calls are read for", () => {
  const documented = tableRows(readSection("docs/api.md", "## Request headers")).map(([name]) => name as string);
  const files = ["http-call.ts", "idempotency.ts"].map((name) => readPage(`src/http/lifecycle/${name}`).toLowerCase());
  for (const name of documented) expect([name, files.some((text) => text.includes(`"${name}"`))]).toEqual([name, true]);
  const read = files.flatMap((text) =>
    [...text.matchAll(/"(x-[a-z-]+|session-id)"/g)].map(([, name]) => name as string),
  );
  // Those of a proxy and of an answer are there, too.
  const others = ["x-forwarded-for", "x-client-request-id"];
  const ofClients = read.filter((name) => !others.includes(name));
  expect(documented.toSorted()).toEqual([...new Set([...ofClients, "idempotency-key"])].toSorted());
});

test("docs/models.md has the lengths from which on prompts of Claude are cached", () => {
  const text = readSection("docs/models.md", "## Facts about a model").replaceAll(/\s+/g, " ");
  const minOf = (name: string) => findModelFacts(name).cacheTokensMin?.toLocaleString("en-US");
  expect(text).toContain(`${minOf("claude-opus-5")} tokens for Claude Opus 5, Fable 5 and Mythos 5`);
  expect(text).toContain(`${minOf("claude-sonnet-4-6")} for Sonnet 4 to 5 and Opus 4.8`);
  expect(text).toContain(`${minOf("claude-haiku-4-5")} for Haiku 4.5, Opus 4.5 and Opus 4.6`);
});

test("docs/agents.md has every reason of a cache miss, in the order of the code", () => {
  const documented = tableRows(readSection("docs/agents.md", "### Why a cache was missed")).map(([reason]) => reason);
  expect(documented).toEqual([...cacheMissKinds]);
});
