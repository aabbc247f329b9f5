import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { files } from "./models.ts";

const strict = { additionalProperties: false } as const;
const Efforts = Type.Array(Type.String({ pattern: "^(none|minimal|low|medium|high|xhigh|max)$" }), { minItems: 1 });

/** OpenAI's values by the provider's own, as the OpenAI dialect reads them. */
const values = Type.Optional(Type.Object({ reasoning_effort: Type.Record(Type.String(), Type.String()) }, strict));

/** What each plugin's dialect reads in `options`; a misspelt name there would be passed over in silence. */
const optionsOf = {
  openai: Type.Object(
    { systemRole: Type.Literal("developer"), reasoningEfforts: Efforts, toolEfforts: Type.Optional(Efforts) },
    strict,
  ),
  groq: Type.Object({ reasoningEfforts: Efforts, values }, strict),
  anthropic: Type.Union([
    Type.Object({ thinking: Type.Literal("adaptive"), jsonSchema: Type.Boolean(), efforts: Efforts }, strict),
    Type.Object({ thinking: Type.Literal("budget"), jsonSchema: Type.Boolean() }, strict),
  ]),
  gemini: Type.Union([
    Type.Object({ thinking: Type.Literal("level"), levels: Efforts }, strict),
    Type.Object(
      {
        thinking: Type.Literal("budget"),
        budgetMin: Type.Integer({ minimum: 1 }),
        budgetMax: Type.Integer({ minimum: 1 }),
        canDisable: Type.Boolean(),
      },
      strict,
    ),
  ]),
  sarvam: Type.Union([
    Type.Object({ reasoningEfforts: Efforts, values }, strict),
    Type.Object({ languageDefault: Type.String(), paceMin: Type.Number(), paceMax: Type.Number() }, strict),
  ]),
  inTransaction: Type.Never(),
};

describe("the options of", () => {
  test.each(Object.entries(optionsOf))("%s are those its dialect knows", (plugin, schema) => {
    for (const { id, options } of files.get(plugin)?.models ?? []) {
      if (options === undefined) continue;
      expect({
        id,
        faults: [...Value.Errors(schema, options)].map(({ path, message }) => `${path} ${message}`),
      }).toEqual({ id, faults: [] });
    }
  });

  test("openai: a model that always reasons takes no sampling field, and every reasoning model the new limit's name", () => {
    for (const { id, omit = [], rename, options } of files.get("openai")?.models ?? []) {
      const efforts = options?.reasoningEfforts as string[] | undefined;
      if (efforts === undefined) continue;
      expect({ id, rename }).toEqual({ id, rename: { max_tokens: "max_completion_tokens" } });
      expect({ id, omitsSampling: omit.includes("temperature") }).toEqual({
        id,
        omitsSampling: !efforts.includes("none"),
      });
    }
  });
});
