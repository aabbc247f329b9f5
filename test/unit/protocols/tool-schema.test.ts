import { describe, expect, test } from "bun:test";
import { toWholeSchema, withWholeInput, withWholeSchema } from "../../../src/protocols/tool-schema.ts";
import { randomBelow } from "../../support/random.ts";

const text = { type: "string" };

describe("the schema of a tool tells its members at its root", () => {
  test.each<[string, object, object]>([
    [
      "alternatives without members beside them",
      {
        type: "object",
        anyOf: [
          { type: "object", properties: { content: text, name: text }, required: ["content", "name"] },
          { type: "object", properties: { source_url: text, name: text }, required: ["source_url", "name"] },
        ],
      },
      {
        type: "object",
        properties: { content: text, name: text, source_url: text },
        required: ["name"],
        description: 'Give one of: "content"; "source_url"',
      },
    ],
    [
      "alternatives that only say what is needed",
      {
        type: "object",
        description: "Looks at an index",
        properties: { project: text, paths: text, scopes: text, depth: text },
        required: ["project"],
        anyOf: [{ required: ["paths"] }, { required: ["scopes", "depth"] }],
      },
      {
        type: "object",
        properties: { project: text, paths: text, scopes: text, depth: text },
        required: ["project"],
        description: 'Looks at an index\nGive one of: "paths"; "scopes" with "depth"',
      },
    ],
    [
      "alternatives of which one needs nothing",
      { type: "object", properties: { a: text }, oneOf: [{ required: ["a"] }, {}] },
      { type: "object", properties: { a: text } },
    ],
    [
      "an object or nothing",
      { anyOf: [{ type: "object", properties: { a: text }, required: ["a"] }, { type: "null" }] },
      { type: "object", properties: { a: text }, required: ["a"] },
    ],
    [
      "a reference, as generators write it",
      {
        $ref: "#/definitions/Place",
        definitions: { Place: { type: "object", properties: { city: { $ref: "#/definitions/City" } } }, City: text },
        $schema: "http://json-schema.org/draft-07/schema#",
      },
      {
        type: "object",
        properties: { city: { $ref: "#/definitions/City" } },
        definitions: { Place: { type: "object", properties: { city: { $ref: "#/definitions/City" } } }, City: text },
        $schema: "http://json-schema.org/draft-07/schema#",
      },
    ],
    [
      "schemas that hold together",
      {
        allOf: [
          { $ref: "#/$defs/Base" },
          { type: "object", properties: { b: text }, required: ["b"], additionalProperties: false },
        ],
        $defs: { Base: { type: "object", properties: { a: text }, required: ["a"] } },
      },
      {
        type: "object",
        properties: { a: text, b: text },
        required: ["a", "b"],
        additionalProperties: false,
        $defs: { Base: { type: "object", properties: { a: text }, required: ["a"] } },
      },
    ],
    [
      "alternatives in alternatives, by references that lead back",
      {
        $ref: "#/$defs/a",
        $defs: {
          a: { anyOf: [{ $ref: "#/$defs/b" }, { $ref: "#/$defs/a" }] },
          b: { allOf: [{ $ref: "#/$defs/a" }, { properties: { x: text } }] },
        },
      },
      { type: "object", properties: { x: text }, $defs: expect.any(Object) },
    ],
    [
      "a member that alternatives describe differently, and one that the root describes",
      {
        type: "object",
        properties: { mode: { enum: ["a", "b"] } },
        oneOf: [
          { properties: { mode: { const: "a" }, size: { type: "integer" } } },
          { properties: { mode: { const: "b" }, size: text } },
          { properties: { size: text } },
        ],
      },
      {
        type: "object",
        properties: { mode: { enum: ["a", "b"] }, size: { anyOf: [{ type: "integer" }, text] } },
      },
    ],
    [
      "what may not stand there",
      { type: "object", properties: { a: text }, not: { required: ["b"] }, enum: [{ a: "x" }] },
      { type: "object", properties: { a: text } },
    ],
    ["a reference to nothing", { $ref: "#/$defs/none" }, { type: "object", properties: {} }],
    ["alternatives that are no schemas", { anyOf: [1, null, "x", []] }, { type: "object", properties: {} }],
    ["something else than alternatives", { anyOf: 3, allOf: "x", $ref: {} }, { type: "object", properties: {} }],
  ])("%s", (_, schema, whole) => {
    const made = toWholeSchema(schema);
    expect(made).toEqual(whole);
    expect(toWholeSchema(made)).toBe(made);
  });

  test("each schema of a root that is nested, repeated and refers to itself is read once", () => {
    const levels = 150;
    let reads = 0;
    const counted = (name: string) => ({
      get properties() {
        reads++;
        return { [name]: text };
      },
    });
    let nested: object = counted("innermost");
    for (let level = 0; level < levels; level++) {
      nested = { anyOf: [nested, counted(`m${level}`), { $ref: "#" }], allOf: [{ $ref: "#/anyOf/0" }] };
    }
    const { properties } = toWholeSchema(nested) as { properties: object };
    expect(Object.keys(properties)).toHaveLength(levels + 1);
    expect(reads).toBe(levels + 1);
  });

  test("nothing is lost or made up in generated schemas, whatever they combine", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const below = randomBelow(seed);
      const names = new Set<string>();
      const make = (depth: number): unknown => {
        const member = () => `m${below(6)}`;
        const schema: Record<string, unknown> = below(3) === 0 ? {} : { type: "object" };
        if (below(3) > 0) {
          const own = Array.from({ length: 1 + below(3) }, member);
          for (const name of own) names.add(name);
          schema.properties = Object.fromEntries(
            own.map((name) => [name, [text, { type: "integer" }, true][below(3)]]),
          );
          if (below(2) === 0) schema.required = own.slice(0, 1);
        }
        if (depth > 0) {
          for (const keyword of ["anyOf", "oneOf", "allOf"]) {
            if (below(3) === 0) schema[keyword] = Array.from({ length: 1 + below(3) }, () => make(depth - 1));
          }
        }
        return schema;
      };
      const schema = make(3) as object;
      const whole = toWholeSchema(schema) as Record<string, unknown>;
      const told = Object.keys(whole.properties as object);
      expect([seed, [...told].sort()]).toEqual([seed, [...names].sort()]);
      expect(whole.type).toBe("object");
      for (const keyword of ["anyOf", "oneOf", "allOf", "$ref", "not", "enum", "const"])
        expect([seed, keyword, whole[keyword]]).toEqual([seed, keyword, undefined]);
      for (const name of (whole.required ?? []) as string[]) expect(told).toContain(name);
    }
  });
});

test("a function whose members were alternatives is not strict any more", () => {
  const parameters: object = { type: "object", anyOf: [{ properties: { a: text } }, { properties: { b: text } }] };
  const properties = { a: text, b: text };
  expect<object>(withWholeSchema({ name: "f", strict: true, parameters })).toEqual({
    name: "f",
    strict: false,
    parameters: { type: "object", properties },
  });
  expect<object>(withWholeInput({ name: "f", strict: true, input_schema: parameters })).toEqual({
    name: "f",
    strict: false,
    input_schema: { type: "object", properties },
  });
  const plain = { name: "f", strict: true, parameters: { type: "object", properties } };
  expect(withWholeSchema(plain)).toBe(plain);
});
