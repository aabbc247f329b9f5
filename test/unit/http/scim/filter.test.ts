import { expect, test } from "bun:test";
import { parseFilter } from "../../../../src/http/scim/filter.ts";
import { errorOf } from "../../../support/error-of.ts";

test.each([
  ['userName eq "ada@example.org"', "username", "ada@example.org"],
  ['USERNAME EQ "Ada@Example.org"', "username", "Ada@Example.org"],
  ['  externalId   eq   "00u1 eq 2"  ', "externalid", "00u1 eq 2"],
  ['displayName eq "R\\u0026D \\"one\\""', "displayname", 'R&D "one"'],
  ['urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a@b.c"', "username", "a@b.c"],
  ['emails[type eq "work"].value eq "a@b.c"', "emails", "a@b.c"],
  ['emails.value eq "a@b.c"', "emails", "a@b.c"],
  ['members[value eq "acc_1"]', "members", "acc_1"],
  ['members.value eq "acc_1"', "members", "acc_1"],
  ['members eq "acc_1"', "members", "acc_1"],
])("the filter %s is one attribute that equals a text", (text, attribute, value) => {
  expect(parseFilter(text)).toEqual({ attribute, value });
});

test.each([
  "",
  "userName",
  "userName eq",
  "userName eq ada",
  'userName sw "ada"',
  'userName eq "a" and active eq true',
  'not (userName eq "a")',
  "active eq true",
  'emails[type eq "home"].value eq "a"',
  'members[value sw "a"]',
  'members[display eq "a"]',
])("the filter %s is an invalidFilter", async (text) => {
  expect(await errorOf((async () => parseFilter(text))())).toMatchObject({
    code: "invalid_request",
    publicCode: "invalidFilter",
  });
});

test.each([
  ["long", `userName eq "${"a".repeat(1000)}"`],
  ["nested", `${"(".repeat(900)}userName eq "a"${")".repeat(50)}`],
  ["deep within a list", `members[value eq ${"[".repeat(400)}]`],
])("a filter that is %s is an invalidFilter", async (_, text) => {
  expect(await errorOf((async () => parseFilter(text))())).toMatchObject({ publicCode: "invalidFilter" });
});
