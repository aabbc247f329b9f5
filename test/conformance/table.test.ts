import { expect, test } from "bun:test";
import { makeTable, readTable } from "./table.ts";

test("the table of providers in docs/endpoints.md is what the plugins do: if not, run bun test/conformance/table.ts", async () => {
  expect(await readTable()).toBe(await makeTable());
});
