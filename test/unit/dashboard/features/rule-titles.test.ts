import { expect, test } from "bun:test";
import { ruleTitles } from "../../../../src/modules/alerts/dashboard/rule-titles.ts";
import { ruleNames } from "../../../../src/modules/alerts/rules.ts";

test("each rule of alerts has its title on the dashboard, and no other has one", () => {
  expect(Object.keys(ruleTitles).sort()).toEqual([...ruleNames].sort());
});
