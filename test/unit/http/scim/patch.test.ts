import { describe, expect, test } from "bun:test";
import { changeGroup, readGroup, readOperations, readUser, toUserChanges } from "../../../../src/http/scim/patch.ts";
import type { DirectoryUserFields } from "../../../../src/tenants/index.ts";
import { randomBelow } from "../../../support/random.ts";

const change = (...operations: object[]) => toUserChanges(readOperations({ Operations: operations }));
const typeOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return (error as { publicCode: string }).publicCode;
  }
  return "no error";
};

describe("changes of a user", () => {
  const cases: readonly (readonly [string, object[], DirectoryUserFields])[] = [
    ["Entra's text", [{ op: "Replace", path: "active", value: "False" }], { isActive: false }],
    ["Entra's text for true", [{ op: "Add", path: "active", value: "True" }], { isActive: true }],
    ["Entra's flag", [{ op: "replace", value: { active: false } }], { isActive: false }],
    ["Okta's value without a path", [{ op: "replace", value: { active: false } }], { isActive: false }],
    ["any case", [{ op: "REPLACE", path: "ACTIVE", value: false }], { isActive: false }],
    [
      "the schema in front of an attribute",
      [{ op: "replace", path: "urn:ietf:params:scim:schemas:core:2.0:User:active", value: true }],
      { isActive: true },
    ],
    [
      "several attributes, of which some are not kept",
      [
        { op: "Replace", path: "displayName", value: "Ada L." },
        { op: "Add", path: 'emails[type eq "work"].value', value: "other@example.org" },
        { op: "Replace", path: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", value: "R" },
        { op: "Replace", path: "name.familyName", value: "L." },
        { op: "Replace", path: "userName", value: "ada.l@example.org" },
        { op: "Add", path: "externalId", value: "e1" },
      ],
      { name: "Ada L.", email: "ada.l@example.org", externalId: "e1" },
    ],
    [
      "the resource with its id",
      [{ op: "replace", value: { id: "acc_1", schemas: [], externalId: "e" } }],
      { externalId: "e" },
    ],
    [
      "a removal",
      [
        { op: "Remove", path: "displayName" },
        { op: "remove", path: "externalId" },
      ],
      { name: null, externalId: null },
    ],
    ["dotted names without a path", [{ op: "add", value: { "name.formatted": "Ada" } }], { name: "Ada" }],
    [
      "the last of several",
      [
        { op: "replace", path: "active", value: false },
        { op: "replace", path: "active", value: true },
      ],
      { isActive: true },
    ],
  ];
  test.each(cases)("are read from %s", (_, operations, fields) => {
    expect(change(...operations)).toEqual(fields);
  });

  test.each([
    ["invalidSyntax", {}],
    ["invalidSyntax", { Operations: [] }],
    ["invalidSyntax", { Operations: {} }],
    ["invalidSyntax", { Operations: [1] }],
    ["invalidSyntax", { Operations: [{ op: "move", path: "active", value: true }] }],
    ["tooMany", { Operations: Array(1001).fill({ op: "add", path: "active", value: true }) }],
    ["noTarget", { Operations: [{ op: "remove" }] }],
    ["invalidValue", { Operations: [{ op: "add", value: "active" }] }],
    ["invalidValue", { Operations: [{ op: "add", path: "active", value: "maybe" }] }],
    ["invalidValue", { Operations: [{ op: "add", path: "active", value: null }] }],
    ["invalidValue", { Operations: [{ op: "add", path: "userName", value: ["a@b.c"] }] }],
    ["invalidValue", { Operations: [{ op: "add", path: "externalId", value: "x".repeat(300) }] }],
    ["invalidPath", { Operations: [{ op: "add", path: ["active"], value: true }] }],
    ["invalidPath", { Operations: [{ op: "add", path: "a".repeat(501), value: true }] }],
    ["mutability", { Operations: [{ op: "remove", path: "active" }] }],
    ["mutability", { Operations: [{ op: "replace", path: "id", value: "other" }] }],
    ["mutability", { Operations: [{ op: "replace", path: "groups", value: [] }] }],
  ])("with a mistake are %s: %j", (type, body) => {
    expect(typeOf(() => toUserChanges(readOperations(body)))).toBe(type);
  });

  test("come from a whole user, whose name to display comes before the parts of a name", () => {
    const name = { givenName: "Ada", familyName: "Lovelace" };
    expect(readUser({ userName: "a@b.c", name, active: true })).toEqual({
      email: "a@b.c",
      name: "Ada Lovelace",
      isActive: true,
    });
    expect(readUser({ displayName: "Countess", name })).toEqual({ name: "Countess" });
    expect(readUser({ name: { ...name, formatted: "Ada L." }, externalId: null })).toEqual({ name: "Ada L." });
    expect(typeOf(() => readUser([]))).toBe("invalidSyntax");
  });
});

describe("changes of a group", () => {
  const before = { name: "Search", externalId: null, memberIds: new Set(["a", "b", "c"]) };
  const members = (...operations: object[]) => [
    ...changeGroup(before, readOperations({ Operations: operations })).memberIds,
  ];

  test("remove members by a filter, by a list, or all of them", () => {
    expect(members({ op: "remove", path: 'members[value eq "b"]' })).toEqual(["a", "c"]);
    expect(members({ op: "Remove", path: "members", value: [{ $ref: null, value: "a" }, { value: "x" }] })).toEqual([
      "b",
      "c",
    ]);
    expect(members({ op: "remove", path: "members" })).toEqual([]);
    expect(members({ op: "remove", path: 'MEMBERS[VALUE EQ "c"]' })).toEqual(["a", "b"]);
  });

  test("add members and replace them, with or without a path", () => {
    expect(members({ op: "Add", path: "members", value: [{ value: "d" }, { value: "a" }] })).toEqual([
      "a",
      "b",
      "c",
      "d",
    ]);
    expect(members({ op: "add", path: "members", value: { value: "d" } })).toEqual(["a", "b", "c", "d"]);
    expect(members({ op: "replace", path: "members", value: [{ value: "d" }] })).toEqual(["d"]);
    expect(members({ op: "replace", value: { id: "grp_1", members: [] } })).toEqual([]);
  });

  test("rename a group as Okta does, with its id beside the name", () => {
    const operations = readOperations({ Operations: [{ op: "replace", value: { id: "grp_1", displayName: "Find" } }] });
    expect(changeGroup(before, operations)).toEqual({ ...before, name: "Find" });
  });

  test.each([
    ["invalidValue", { op: "add", path: "members", value: [{ display: "Ada" }] }],
    ["invalidValue", { op: "add", path: "members", value: [{ value: "x".repeat(101) }] }],
    ["invalidValue", { op: "replace", path: "displayName", value: " " }],
    ["invalidValue", { op: "remove", path: "displayName" }],
    ["invalidFilter", { op: "remove", path: 'members[display eq "Ada"]' }],
    ["invalidPath", { op: "remove", path: 'members[value eq "a"].display' }],
    ["invalidPath", { op: "add", path: 'members[value eq "a"]', value: "b" }],
  ])("with a mistake are %s: %j", (type, operation) => {
    expect(typeOf(() => members(operation))).toBe(type);
  });

  test("of a whole group keep what is absent", () => {
    expect(readGroup({ displayName: "Find" }, before)).toEqual({ ...before, name: "Find" });
    expect(readGroup({ displayName: "Find", members: [] }, before).memberIds).toEqual(new Set());
  });

  test("in any sequence and form of Entra and Okta leave the members that sets say", () => {
    const below = randomBelow(7);
    const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
    const ids = Array.from({ length: 8 }, (_, index) => `acc_${index}`);
    const some = () => ids.filter(() => below(10) < 4);
    const cased = (word: string) => pick([word, word.toUpperCase(), `${word[0]?.toUpperCase()}${word.slice(1)}`]);
    const listOf = (of: readonly string[]) =>
      of.map((value) => pick([{ value }, { $ref: null, value }, { value, display: "x" }]));
    for (let round = 0; round < 500; round++) {
      let wanted = new Set(some());
      const start = { name: "Search", externalId: null, memberIds: new Set(wanted) };
      const operations = Array.from({ length: 1 + below(6) }, () => {
        const chosen = some();
        const kind = pick(["add", "replace", "remove", "filter"]);
        if (kind === "filter") {
          const id = pick(ids);
          wanted.delete(id);
          return { op: cased("remove"), path: `${cased("members")}[value eq ${JSON.stringify(id)}]` };
        }
        if (kind === "remove") for (const id of chosen) wanted.delete(id);
        else wanted = new Set(kind === "add" ? [...wanted, ...chosen] : chosen);
        const value = listOf(chosen);
        if (kind === "remove" || below(2) === 0) return { op: cased(kind), path: cased("members"), value };
        return { op: cased(kind), value: { [cased("members")]: value } };
      });
      const body = JSON.parse(JSON.stringify({ [pick(["Operations", "operations"])]: operations }));
      expect(changeGroup(start, readOperations(body)).memberIds).toEqual(wanted);
    }
  });
});
