import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openApiSubset, reduceSchema, type SchemaSubset, strictSubset } from "../../../src/lib/json-schema.ts";

describe("reduceSchema of any JSON", () => {
  const keyword = fc.constantFrom(
    "type",
    "enum",
    "const",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "properties",
    "$ref",
    "not",
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom("string", "null", "#", "#/items", true, null, 1),
      tie("list"),
      tie("map"),
    ),
    list: fc.array(tie("tree"), { maxLength: 3 }),
    map: fc.dictionary(fc.oneof(keyword, fc.string({ maxLength: 3 })), tie("tree"), { maxKeys: 4 }),
  }));

  test.each([openApiSubset, strictSubset])(
    "holds only the subset's words and changes nothing of what was sent",
    (subset) => {
      fc.assert(
        fc.property(fc.dictionary(keyword, tree, { maxKeys: 5 }), (schema) => {
          const before = JSON.stringify(schema);
          const reduced = reduceSchema(schema, subset).schema;
          expect(JSON.stringify(schema)).toBe(before);
          expectSubset(reduced, subset);
        }),
        { numRuns: 300 },
      );
    },
  );
});

function expectSubset(schema: Record<string, unknown>, subset: SchemaSubset): void {
  const words = new Set([
    "type",
    "enum",
    "properties",
    "required",
    "items",
    "anyOf",
    "nullable",
    "additionalProperties",
  ]);
  for (const word of Object.keys(schema)) expect(words.has(word) || subset.keywords.has(word)).toBe(true);
  if (subset.enumOf === "strings")
    for (const value of (schema.enum as unknown[]) ?? []) expect(typeof value).toBe("string");
  if (subset.closedObjects && schema.type === "object") expect(schema.additionalProperties).toBe(false);
  if (subset.itemsRequired && schema.type === "array") expect(schema.items).toBeDefined();
  const below = [
    ...Object.values((schema.properties as object) ?? {}),
    ...((schema.anyOf as unknown[]) ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  for (const inner of below) expectSubset(inner as Record<string, unknown>, subset);
}
