import { expect, test } from "bun:test";
import { ruleNames } from "../../../../src/alerts/index.ts";
import { ruleTitles } from "../../../../src/dashboard/features/alerts/rule-titles.ts";

test("each rule of alerts has its title on the dashboard, and no other has one", () => {
  expect(Object.keys(ruleTitles).sort()).toEqual([...ruleNames].sort());
});
