import { describe, expect, test } from "bun:test";
import { PluginError } from "../../../src/sdk/errors.ts";
import { loadTrusted, readModels } from "../../../src/sdk/read-models.ts";
import { errorOf } from "../../support/error-of.ts";
import { plainModel } from "./fake-call.ts";

const sold = {
  ...plainModel,
  premium: true,
  price: { inputToken: { usd: "1.25", per: 1_000_000 }, outputToken: { usd: "10", per: 1_000_000 } },
};

describe("readModels", () => {
  test("takes a file's models, or the bare array", () => {
    expect(readModels({ models: [sold] })).toEqual([sold]);
    expect(readModels([plainModel])).toEqual([plainModel]);
    expect(readModels([])).toEqual([]);
    const short = [{ id: "short", premium: false }];
    expect(readModels(short)).toBe(short as never);
  });

  test.each<[string, unknown, string]>([
    [
      "what is no catalogue",
      { rows: [] },
      'Cannot read the catalogue: expected { "models": [ … ] } or an array of rows',
    ],
    ["nothing", undefined, "Cannot read the catalogue"],
    ["what is no row", [plainModel, 3], "Cannot read models[1]: got 3, expected object"],
    [
      "a missing field",
      [{ ...plainModel, premium: undefined }],
      "Cannot read models[0].premium (acme-1): it is missing: paid from the wallet if true",
    ],
    [
      "an unknown field",
      [{ ...plainModel, contextToken: 1 }],
      "Cannot read models[0].contextToken (acme-1): unknown field, did you mean contextTokens?",
    ],
    [
      "an unknown capability",
      [{ ...plainModel, capability: "chatt" }],
      'got "chatt", expected one of chat, embeddings, images, transcription, speech',
    ],
    [
      "a price without a unit",
      [{ ...plainModel, price: { inputToken: { usd: "1" } } }],
      "Cannot read models[0].price.inputToken.per (acme-1): it is missing",
    ],
    [
      "a rate that is a number",
      [{ ...plainModel, price: { inputToken: 0.5 } }],
      'Cannot read models[0].price.inputToken (acme-1): got 0.5, expected object: such as { "usd": "0.10", "per": 1000000 }',
    ],
    [
      "a price that is no decimal",
      [{ ...plainModel, price: { inputToken: { usd: "1,25", per: 1 } } }],
      'Cannot read models[0].price.inputToken.usd (acme-1): got "1,25", expected decimal US dollars, at most nine decimals',
    ],
    [
      "a price of an unknown meter",
      [{ ...plainModel, price: { token: { usd: "1", per: 1 } } }],
      "models[0].price.token",
    ],
    [
      "a price that no integer holds",
      [
        {
          ...plainModel,
          price: {
            inputToken: { usd: "0.000000001", per: 999_999_937 },
            outputToken: { usd: "99999.000000001", per: 999_999_893 },
          },
        },
      ],
      "Cannot read models[0].price (acme-1): cannot hold the price",
    ],
    [
      "a premium model without a price",
      [{ ...plainModel, premium: true }],
      "Cannot sell models[0] (acme-1): it is premium and has no price for inputToken, outputToken; add price.inputToken as",
    ],
    [
      "a premium model with half a price",
      [{ ...sold, price: { inputToken: sold.price.inputToken } }],
      "has no price for outputToken; add price.outputToken",
    ],
    [
      "a premium voice without a price",
      [{ ...plainModel, premium: true, capability: "speech" }],
      "has no price for character",
    ],
    ...(["page", "second"] as const).flatMap<[string, unknown, string]>((unit) => {
      const most = `${unit}sMax`;
      const rate = { usd: "0.01", per: 1 };
      const priced = { ...sold, price: { ...sold.price, [unit]: rate } };
      return [
        [
          `a price for a ${unit} of which the row does not say the most`,
          [priced],
          `Cannot sell models[0] (acme-1): it has price.${unit} without the most of it that one request is charged for; add "${most}": 100`,
        ],
        [
          `a price for a ${unit} of a service tier alone`,
          [{ ...sold, [most]: 9, price: { ...sold.price, serviceTiers: { batch: { [unit]: rate } } } }],
          `it has price.serviceTiers.batch.${unit} without price.${unit}; add that`,
        ],
        [`no ${unit} at the most`, [{ ...priced, [most]: 0 }], `Cannot read models[0].${most} (acme-1)`],
      ];
    }),
    [
      "a name twice",
      [plainModel, { ...plainModel, id: "acme-2", aliases: ["acme-1"] }],
      "Cannot read models[1] (acme-2): the name acme-1 belongs to models[0] (acme-1) already",
    ],
  ])("refuses %s", (_, file, sentence) => {
    const clean: unknown = file === undefined ? undefined : JSON.parse(JSON.stringify(file));
    expect(() => readModels(clean)).toThrow(PluginError);
    expect(() => readModels(clean)).toThrow(sentence);
  });
});

test("rows that are trusted are taken as they are, and only while they load", async () => {
  const bad = [{ id: "bad" }];
  const rows = await loadTrusted(async () => readModels(bad));
  expect(rows).toBe(bad as never);
  expect(() => readModels([{ id: "bad" }])).toThrow(PluginError);
  const failure = loadTrusted(() => Promise.reject(new Error("not there")));
  expect(await errorOf(failure)).toEqual(new Error("not there"));
  expect(() => readModels([{ id: "bad" }])).toThrow(PluginError);
});
