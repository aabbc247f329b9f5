import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { readJson } from "../../../src/lib/json.ts";
import { openApiSubset, reduceSchema, SchemaBudget, strictSubset } from "../../../src/lib/json-schema.ts";

const openApi = (schema: unknown) => reduceSchema(schema, openApiSubset);
const strict = (schema: unknown) => reduceSchema(schema, strictSubset);

describe("reduceSchema to an OpenAPI subset", () => {
  test.each([
    ["keeps what it knows", { type: "string", minLength: 2 }, { type: "string", minLength: 2 }],
    ["writes types in lower case", { type: "STRING" }, { type: "string" }],
    ["makes const a one-value enum", { const: "a" }, { type: "string", enum: ["a"] }],
    ["says a nullable type", { type: ["string", "null"] }, { type: "string", nullable: true }],
    ["says null among the values", { enum: ["a", null] }, { type: "string", enum: ["a"], nullable: true }],
    ["leaves a null alone", { type: "null" }, { type: "null" }],
    [
      "splits several types and gives each its own keywords",
      { description: "d", type: ["string", "number", "null"], minLength: 1, minimum: 0 },
      {
        description: "d",
        anyOf: [
          { type: "string", minLength: 1 },
          { type: "number", minimum: 0 },
        ],
        nullable: true,
      },
    ],
    [
      "makes oneOf an anyOf",
      { oneOf: [{ type: "string" }, { type: "integer" }] },
      { anyOf: [{ type: "string" }, { type: "integer" }] },
    ],
    [
      "folds a choice between one schema and null",
      { description: "d", anyOf: [{ type: "object", properties: { a: { type: "string" } } }, { type: "null" }] },
      { description: "d", type: "object", properties: { a: { type: "string" } }, nullable: true },
    ],
    [
      "merges allOf, the narrower bound standing",
      {
        allOf: [
          { type: "number", minimum: 1 },
          { type: "integer", minimum: 3, maximum: 9 },
        ],
      },
      { type: "integer", minimum: 3, maximum: 9 },
    ],
    [
      "merges the properties and required of allOf",
      {
        allOf: [
          { type: "object", properties: { a: { type: "string" }, b: { minLength: 1 } }, required: ["a"] },
          { properties: { b: { type: "string" } }, required: ["b"] },
        ],
      },
      {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "string", minLength: 1 } },
        required: ["a", "b"],
      },
    ],
    ["assumes strings where an array says nothing", { type: "array" }, { type: "array", items: { type: "string" } }],
    [
      "knows an object and an array by what they hold",
      { properties: { a: { items: { type: "integer" } } } },
      { type: "object", properties: { a: { type: "array", items: { type: "integer" } } } },
    ],
  ])("%s", (_name, schema, expected) => {
    expect(openApi(schema)).toEqual({ schema: expected, dropped: [] });
  });

  test.each([
    ["an unknown keyword", { type: "string", not: {} }, { type: "string" }, ["/not"]],
    [
      "a keyword below, by its pointer",
      { type: "object", properties: { "a/b": { type: "array", items: { type: "string", contains: "x" } } } },
      { type: "object", properties: { "a/b": { type: "array", items: { type: "string" } } } },
      ["/properties/a~1b/items/contains"],
    ],
    ["a format", { type: "string", format: "email" }, { type: "string" }, ["/format"]],
    [
      "additionalProperties",
      { type: "object", additionalProperties: false },
      { type: "object" },
      ["/additionalProperties"],
    ],
    [
      "an enum of numbers, which becomes a sentence",
      { type: "integer", description: "Priority", enum: [1, 2] },
      { type: "integer", description: "Priority\nOne of: 1, 2" },
      ["/enum"],
    ],
    [
      "an enum with an empty text, which Gemini refuses",
      { type: "string", enum: ["", "up"] },
      { type: "string", description: 'One of: "", "up"' },
      ["/enum"],
    ],
    ["a const true", { const: true }, { type: "boolean", description: "One of: true" }, ["/enum"]],
    [
      "required names that are no properties",
      { type: "object", properties: { a: { type: "string" } }, required: ["a", "z"] },
      { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      ["/required"],
    ],
    [
      "a tuple's places, which become a choice",
      { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] },
      { type: "array", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
      ["/prefixItems"],
    ],
    ["types that exclude each other", { type: "string", allOf: [{ type: "object" }] }, { type: "string" }, ["/type"]],
    ["a reference to nowhere", { $ref: "#/$defs/none", description: "d" }, { description: "d" }, ["/$ref"]],
    ["a reference to elsewhere", { $ref: "https://example.com/a" }, {}, ["/$ref"]],
  ])("reports %s", (_name, schema, expected, dropped) => {
    expect(openApi(schema)).toEqual({ schema: expected, dropped });
  });
});

describe("reduceSchema and references", () => {
  test("puts definitions in place, with the words beside the reference standing", () => {
    const schema = {
      $defs: { Unit: { type: "string", description: "A unit", enum: ["c", "f"] } },
      type: "object",
      properties: { unit: { $ref: "#/$defs/Unit", description: "Of the answer" } },
    };
    expect(openApi(schema)).toEqual({
      schema: {
        type: "object",
        properties: { unit: { type: "string", description: "Of the answer", enum: ["c", "f"] } },
      },
      dropped: [],
    });
  });

  test("reads escaped and percent-encoded pointers", () => {
    const schema = { $defs: { "a/b c": { type: "integer" } }, items: { $ref: "#/$defs/a~1b%20c" } };
    expect(openApi(schema).schema).toEqual({ type: "array", items: { type: "integer" } });
  });

  test("ends a cycle in the bare type and reports it", () => {
    const schema = {
      $defs: {
        Node: { type: "object", properties: { next: { anyOf: [{ $ref: "#/$defs/Node" }, { type: "null" }] } } },
      },
      $ref: "#/$defs/Node",
    };
    expect(openApi(schema)).toEqual({
      schema: { type: "object", properties: { next: { type: "object", nullable: true } } },
      dropped: ["/properties/next/anyOf/0/$ref"],
    });
  });

  test("ends a reference to the root and one to itself", () => {
    expect(openApi({ type: "object", properties: { self: { $ref: "#" } } })).toEqual({
      schema: { type: "object", properties: { self: { type: "object" } } },
      dropped: ["/properties/self/$ref"],
    });
    expect(openApi({ $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" })).toEqual({
      schema: {},
      dropped: ["/$ref"],
    });
  });

  test("takes no cycle where a definition is merged here and used again below", () => {
    const schema = {
      $defs: { Person: { type: "object", properties: { name: { type: "string" } } } },
      allOf: [{ $ref: "#/$defs/Person" }, { properties: { manager: { $ref: "#/$defs/Person" } } }],
    };
    expect(openApi(schema)).toEqual({
      schema: {
        type: "object",
        properties: { name: { type: "string" }, manager: { type: "object", properties: { name: { type: "string" } } } },
      },
      dropped: [],
    });
  });
});

describe("reduceSchema to the strict subset", () => {
  test("closes every object, keeps enums of anything and drops bounds", () => {
    const schema = {
      type: "object",
      properties: {
        n: { type: "integer", minimum: 1, enum: [1, 2] },
        at: { type: "string", format: "date-time", pattern: "x" },
        deep: { type: "array", minItems: 1, items: { type: "object", properties: {}, additionalProperties: true } },
      },
      required: ["n"],
      additionalProperties: false,
    };
    expect(strict(schema)).toEqual({
      schema: {
        type: "object",
        properties: {
          n: { type: "integer", enum: [1, 2] },
          at: { type: "string", format: "date-time" },
          deep: { type: "array", items: { type: "object", properties: {}, additionalProperties: false } },
        },
        required: ["n"],
        additionalProperties: false,
      },
      dropped: [
        "/properties/n/minimum",
        "/properties/at/pattern",
        "/properties/deep/minItems",
        "/properties/deep/items/additionalProperties",
      ],
    });
  });

  test("says null as a choice, the description outside", () => {
    expect(strict({ type: ["string", "null"], description: "d" }).schema).toEqual({
      description: "d",
      anyOf: [{ type: "string" }, { type: "null" }],
    });
    expect(strict({ anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] }).schema).toEqual({
      anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }],
    });
  });
});

describe("reduceSchema and bounds", () => {
  const refusal = (schema: unknown) => {
    try {
      reduceSchema(schema, openApiSubset, "tools[0].function.parameters");
    } catch (error) {
      return error as GatewayError;
    }
    throw new Error("Expected a refusal");
  };

  test.each([[null], ["text"], [5], [[]], [true]])("refuses %p", (schema: unknown) => {
    expect(refusal(schema)).toMatchObject({ code: "invalid_request", param: "tools[0].function.parameters" });
  });

  test("refuses a schema nested too deep", () => {
    let schema: unknown = { type: "string" };
    for (let i = 0; i < 5000; i++) schema = { type: "array", items: schema };
    expect(refusal(schema)).toBeInstanceOf(GatewayError);
    let merged: unknown = { type: "string" };
    for (let i = 0; i < 5000; i++) merged = { allOf: [merged] };
    expect(refusal(merged).message).toContain("128");
  });

  test("refuses a small text that unfolds without end", () => {
    const $defs: Record<string, unknown> = { d0: { type: "string" } };
    for (let i = 1; i < 30; i++) {
      const $ref = `#/$defs/d${i - 1}`;
      $defs[`d${i}`] = { type: "object", properties: { a: { $ref }, b: { $ref } } };
    }
    expect(refusal({ $defs, $ref: "#/$defs/d29" }).message).toContain("20000 members");
  });

  test("takes what many references of one place lead to once", () => {
    const names = Array.from({ length: 1000 }, (_, index) => `p${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const allOf = Array.from({ length: 500 }, () => ({ $ref: "#/$defs/a" }));
    const { schema, dropped } = openApi({ $defs: { a: { type: "object", properties, required: names } }, allOf });
    expect({ schema, dropped }).toEqual({ schema: { type: "object", properties, required: names }, dropped: [] });
  });

  test.each([
    [
      "names",
      { type: "object", properties: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`p${at}`, {}])) },
    ],
    ["required names", { type: "object", required: Array.from({ length: 900 }, (_, at) => `p${at}`) }],
    ["values", { enum: Array.from({ length: 900 }, (_, at) => `v${at}`) }],
    ["choices", { anyOf: Array.from({ length: 900 }, () => ({ type: "string" })) }],
    ["text", { type: "string", description: "d".repeat(90_000) }],
    ["a value of many characters", { type: "string", default: { text: "d".repeat(90_000) } }],
    ["a name of many characters", { type: "object", properties: { ["n".repeat(90_000)]: {} } }],
    ["keywords that nobody knows", Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`k${at}`, 1]))],
    ["types", { type: Array.from({ length: 900 }, (_, at) => `t${at}`) }],
  ])("refuses a definition of many %s that 30 places refer to", (_name, definition) => {
    const places = (count: number) => ({
      $defs: { a: definition },
      type: "object",
      properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, { $ref: "#/$defs/a" }])),
    });
    expect(() => openApi(places(1))).not.toThrow();
    expect(refusal(places(30)).message).toContain("20000 members");
  });

  test("refuses values that each of many types is to be compared with", () => {
    const list = Array.from({ length: 2000 }, (_, index) => `t${index}`);
    expect(refusal({ type: list, enum: list }).message).toContain("20000 members");
  });

  test("counts all schemas of a request against one budget", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4000 }, (_, index) => [`p${index}`, { type: "string" }]),
    );
    const budget = new SchemaBudget();
    expect(() => reduceSchema({ properties }, openApiSubset, "tools[0]", budget)).not.toThrow();
    expect(() => reduceSchema({ properties }, openApiSubset, "tools[1]", budget)).toThrow("20000 members");
  });

  test("tells the first hundred places of what it left out, each cut to what somebody reads", () => {
    let schema: object = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 1]));
    for (let depth = 0; depth < 40; depth++) schema = { type: "object", properties: { ["y".repeat(2000)]: schema } };
    const { dropped } = openApi(schema);
    expect(dropped.length).toBeLessThanOrEqual(100);
    expect(Math.max(...dropped.map(({ length }) => length))).toBeLessThan(1300);
  });

  test("refuses a text that is referred to so often that it unfolds to two million characters", () => {
    const $defs = { long: { type: "string", description: "x".repeat(20_000) } };
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [at, { $ref: "#/$defs/long" }]));
    expect(refusal({ $defs, type: "object", properties }).message).toContain("more than 20000 members");
  });

  test("writes values once for each type, however often a type is named and whatever number takes", () => {
    const values = ["x".repeat(1000), 1, 1.5];
    const type = new Array(100).fill(["string", "number"]).flat();
    expect(reduceSchema({ type, enum: values }, { ...openApiSubset, enumOf: "anything" }).schema).toEqual({
      anyOf: [
        { type: "string", enum: values.slice(0, 1) },
        { type: "number", enum: [1, 1.5] },
      ],
    });
  });

  test("keeps a property named __proto__ a property", () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
    expect(JSON.stringify(openApi(schema).schema)).toBe(JSON.stringify(schema));
  });
});

test("each place has a type where the subset wants one: a place for anything is a text", () => {
  const schema = { type: "object", properties: { any: {}, cfg: { description: "Settings" }, one: { enum: ["a"] } } };
  const { properties } = openApi(schema).schema as { properties: Record<string, object> };
  expect(properties).toMatchObject({
    any: { type: "string", description: "Any value, as JSON" },
    cfg: { type: "string", description: "Settings\nAny value, as JSON" },
    one: { enum: ["a"] },
  });
  expect(reduceSchema(schema, strictSubset).schema.properties).toMatchObject({ any: {} });
});

test("whole numbers that are longer than numbers are stay what they were in enum and const", () => {
  const text =
    '{"type":"object","properties":{"id":{"type":"integer","enum":[9007199254740993,1]},"only":{"const":9007199254740993}}}';
  const schema = (readJson(`{"a":{"b":${text}}}`, "body") as { a: { b: Record<string, unknown> } }).a.b;
  const written = JSON.stringify(reduceSchema(schema, strictSubset).schema);
  expect(written.match(/9007199254740993/g)?.length).toBe(2);
  expect(written).not.toContain('9007199254740993],"type":"object"');
  expect(JSON.parse(written).properties.only.type).not.toBe("object");
});
