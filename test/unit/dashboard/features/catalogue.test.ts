import { describe, expect, test } from "bun:test";
import {
  exampleCost,
  shownMeters,
  toDraft,
  toRow,
  toTerms,
  toUnder,
} from "../../../../src/dashboard/features/catalogue/row-draft.ts";
import type { ModelRow } from "../../../../src/dashboard/features/models/api.ts";

const rate = (usd: string) => ({ usd, per: 1_000_000 });
const base: ModelRow = {
  id: "m",
  upstreamId: "m-1",
  capability: "chat",
  premium: true,
  aliases: ["em"],
  contextTokens: 8,
  options: { think: true },
  ownedBy: "acme",
  created: 0,
  price: {
    outputToken: rate("2.00"),
    inputToken: rate("1.00"),
    tiers: [{ aboveInputTokens: 9, inputToken: rate("3") }],
    serviceTiers: { flex: { inputToken: rate("0.50") } },
  },
};
const draftOf = (row: Partial<ModelRow> = base, own: object | null = null) => toDraft("acme", "m", row, own as null);

describe("the row that a form makes", () => {
  test("is none while nothing differs, whatever the order of the fields", () => {
    expect(toRow(draftOf(), base, base.price)).toBeUndefined();
  });

  test("has only the fields that differ, null for one that is taken away, and all tiers of the price", () => {
    const draft = { ...draftOf(), aliases: " em , other,", contextTokens: "", priority: "7", disabled: true };
    expect(toRow(draft, base, base.price)).toEqual({
      id: "m",
      aliases: ["em", "other"],
      contextTokens: null,
      priority: 7,
      disabled: true,
    });
    const dearer = { ...draft.rates, inputToken: rate("1.50") };
    const row = toRow({ ...draftOf(), rates: dearer }, base, base.price);
    expect(row).toEqual({ id: "m", price: { ...base.price, inputToken: rate("1.50") } });
  });

  test("has the markup of the model as it is typed, and none where the field is empty", () => {
    const marked = { ...base, price: { ...base.price, markupPercent: 12.5 } };
    expect(draftOf(marked).markupPercent).toBe("12.5");
    const row = toRow({ ...draftOf(), markupPercent: " -5 " }, base, base.price);
    expect(row).toEqual({ id: "m", price: { ...base.price, markupPercent: -5 } });
    const without = toRow({ ...draftOf(marked), markupPercent: "" }, marked, marked.price);
    expect(without).toEqual({ id: "m", price: base.price });
  });

  test("keeps the operator's fields that the form does not show", () => {
    const own = { id: "m", omit: ["tools"], priority: 5 };
    const draft = { ...draftOf({ ...base, ...own }, own), priority: "" };
    expect(toRow(draft, base, base.price)).toEqual({ id: "m", omit: ["tools"] });
  });

  test("of an image model says whether it edits, which one without the feature does too", () => {
    const image: ModelRow = { ...base, capability: "images", price: { image: { usd: "0.04", per: 1 } } };
    const rowOf = (under: ModelRow, features: string[]) =>
      toRow({ ...draftOf(under), features }, under, under.price)?.features;
    expect(draftOf(image).features).toEqual(["edits"]);
    expect(rowOf(image, ["edits"])).toBeUndefined();
    expect(rowOf(image, [])).toEqual([]);
    expect(rowOf({ ...image, features: [] }, ["edits"])).toEqual(["edits"]);
    expect(rowOf({ ...image, features: ["edits"] }, ["edits"])).toBeUndefined();
    expect(rowOf({ ...image, features: ["edits"] }, [])).toEqual([]);
  });

  test("has the prices of pages and seconds with the most of them, for every capability", () => {
    const rates = { ...draftOf().rates, page: { usd: "0.01", per: 1000 }, second: { usd: "0.002", per: 60 } };
    for (const capability of ["chat", "embeddings", "speech"] as const) {
      const draft = { ...draftOf(), capability, rates, pagesMax: "20", secondsMax: "90" };
      expect(shownMeters(draft)).toEqual(expect.arrayContaining(["page", "second", "call"]));
      expect(toRow(draft, base, base.price)).toMatchObject({
        price: { page: { usd: "0.01", per: 1000 }, second: { usd: "0.002", per: 60 } },
        pagesMax: 20,
        secondsMax: 90,
      });
    }
  });

  test("of a successor says what happens then", () => {
    const draft = { ...draftOf(), successor: "n", whenRetired: "serve" as const };
    expect(toRow(draft, { ...base, whenRetired: "serve" }, base.price)).toEqual({
      id: "m",
      successor: "n",
      whenRetired: "serve",
    });
  });

  test("of a new model leaves out what has a default, and what is not a number goes as it was typed", () => {
    const draft = { ...toDraft("acme", "new", {}, null), id: "new", premium: false, weight: "much" };
    expect(toRow(draft, {}, undefined)).toEqual({
      id: "new",
      capability: "chat",
      premium: false,
      weight: "much",
    });
    const others = { id: "new", upstreamId: "acme-new", ownedBy: "maker" };
    expect(toRow({ ...toDraft("acme", "new", others, null), id: "new" }, {}, undefined)).toMatchObject({
      upstreamId: "acme-new",
    });
  });

  test("differs from the signed file where there is one", () => {
    const under = toUnder({ base, signed: { id: "m", contextTokens: 16, aliases: null } });
    expect([under.contextTokens, "aliases" in under]).toEqual([16, false]);
    expect(toRow({ ...draftOf(under), contextTokens: "8" }, under, base.price)).toEqual({ id: "m", contextTokens: 8 });
  });

  test("shows the cost of a call, rounded up as a charge is", () => {
    expect(exampleCost(draftOf())).toEqual({ text: "1,000 input and 500 output tokens", usd: 0.002 });
    const tiny = { ...draftOf().rates, inputToken: { usd: "0.000000001", per: 1_000_000 }, outputToken: rate("0") };
    expect(exampleCost({ ...draftOf(), rates: tiny }).usd).toBe(1e-9);
    expect(exampleCost({ ...draftOf(), rates: { ...tiny, inputToken: rate("much") } }).usd).toBeUndefined();
    expect(exampleCost({ ...draftOf(), rates: { ...tiny, inputToken: rate("") } }).usd).toBeUndefined();
  });
});

describe("the terms of unlisted models", () => {
  const terms = { premium: false, price: { inputToken: rate("0"), outputToken: rate("0") } };

  test("are made from the form, with what it does not show", () => {
    const draft = { ...draftOf(), contextTokens: "many", outputTokensMax: "" };
    expect(toTerms(draft, base.price)).toEqual({ premium: true, price: base.price, contextTokens: "many" } as never);
    const embeddings = toTerms({ ...toDraft("acme", "", terms, null), capability: "embeddings" }, undefined);
    expect(embeddings).toEqual({ ...terms, capability: "embeddings" });
  });
});
