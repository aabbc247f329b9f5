import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeConfig, readConfig } from "../../../../src/config/index.ts";
import { readSettingDocs } from "../../../../src/dashboard/features/configuration/setting-docs.ts";

test("the page of settings has a group and a description for each", () => {
  const docs = readSettingDocs(readFileSync(join(import.meta.dir, "../../../../docs/configuration.md"), "utf8"));
  for (const { name } of describeConfig(readConfig({}))) {
    expect([name, docs.get(name)]).toEqual([name, { group: expect.any(String), description: expect.any(String) }]);
    expect(docs.get(name)?.description).not.toMatch(/\]\(|`/);
  }
});
