import { describe, expect, test } from "bun:test";
import { Ajv } from "ajv";
import { createExample } from "../../../../plugins/sandbox/example.ts";
import type { ChatRequest } from "../../../../src/provider/index.ts";
import { ask } from "./sandbox-call.ts";

const ajv = new Ajv({ strict: false, validateFormats: false });

describe("an example of a schema", () => {
  test.each<[string, object]>([
    ["a string within its bounds", { type: "string", minLength: 20, maxLength: 22 }],
    ["a short string", { type: "string", maxLength: 2 }],
    ["an enum", { enum: ["a", "b"] }],
    ["a const", { const: 7 }],
    ["a number from below", { type: "number", exclusiveMinimum: 3 }],
    ["an integer in a range", { type: "integer", minimum: 5, maximum: 6 }],
    ["a number from above", { type: "number", maximum: -5 }],
    ["a multiple", { type: "integer", multipleOf: 5, minimum: 12 }],
    ["a list", { type: "array", items: { type: "boolean" }, minItems: 3 }],
    ["an empty list", { type: "array", maxItems: 0 }],
    ["a nullable", { type: ["null", "string"] }],
    [
      "a choice",
      { anyOf: [{ type: "null" }, { type: "object", properties: { a: { type: "integer" } }, required: ["a"] }] },
    ],
    [
      "all of several",
      {
        allOf: [
          { properties: { a: { type: "string" } }, required: ["a"] },
          { properties: { b: { type: "null" } }, required: ["b"] },
        ],
      },
    ],
    [
      "a reference",
      { type: "object", properties: { a: { $ref: "#/$defs/A" } }, required: ["a"], $defs: { A: { enum: [1] } } },
    ],
    [
      "a tree that ends",
      {
        $ref: "#/$defs/N",
        $defs: {
          N: {
            type: "object",
            properties: { next: { anyOf: [{ $ref: "#/$defs/N" }, { type: "null" }] } },
            required: ["next"],
            additionalProperties: false,
          },
        },
      },
    ],
    [
      "a list that ends",
      { type: "object", properties: { kids: { type: "array", items: { $ref: "#" } } }, required: ["kids"] },
    ],
    ["anything", {}],
  ])("fits %s", (_, schema) => {
    const value = createExample(schema, "some text");
    const fits = ajv.validate(schema, value);
    expect(fits ? "" : `${JSON.stringify(value)} ${ajv.errorsText()}`).toBe("");
  });

  test("is found for what is no schema", () => {
    expect(createExample(undefined, "a")).toBe("a");
  });

  const wide = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, { $ref: "#" }]));
  test.each([
    ["refers to itself", { $ref: "#" }],
    ["is a part of itself", { allOf: [{ $ref: "#" }] }],
    ["has no end", { type: "object", properties: wide, required: Object.keys(wide) }],
  ])("comes to an end for a schema that %s", (_, schema) => {
    expect(JSON.stringify(createExample(schema, "a")).length).toBeLessThan(200_000);
  });
});

describe("the sandbox's JSON", () => {
  test("is an object when one is asked for", async () => {
    const { choices } = await ask({ response_format: { type: "json_object" } });
    expect(JSON.parse(choices[0]?.message.content as string)).toEqual({
      sandbox: true,
      model: "acme-chat",
      echo: "Hello big world",
    });
  });

  test("fits the last schema that the prompt spells out, and no text around it", async () => {
    const schema = { properties: { "a}": { type: "integer", minimum: 3 } }, required: ["a}"] };
    const content = `Such as {"properties": {"x": {}}} or {this}, but now:\n${JSON.stringify(schema)}\nMind "the {".`;
    const messages: ChatRequest["messages"] = [
      { role: "system", content },
      { role: "user", content: "Count" },
    ];
    const { choices } = await ask({ messages, response_format: { type: "json_object" } });
    expect(JSON.parse(choices[0]?.message.content as string)).toEqual({ "a}": 3 });
  });

  test("fits the schema that is asked for", async () => {
    const schema = { type: "object", properties: { name: { type: "string" }, on: { type: "string", format: "date" } } };
    const { choices } = await ask({ response_format: { type: "json_schema", json_schema: { name: "s", schema } } });
    expect(JSON.parse(choices[0]?.message.content as string)).toEqual({ name: "Hello big world", on: "2026-01-01" });
  });
});
