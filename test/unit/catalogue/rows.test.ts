import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { type Capability, getBasicMeters, type MeterName } from "../../../src/contract/index.ts";
import { type Model, ModelRow } from "../../../src/provider/index.ts";
import { expectRows } from "../../support/expect-rows.ts";
import { files, models, modelsOf } from "./models.ts";

const fixture = join(import.meta.dir, "../../fixtures/catalogue/rows.txt");

/** File, capability, flag and id of every row, kept apart from the catalogue so that no row goes or turns unnoticed. */
const expected = readFileSync(fixture, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => line.split(/\s+/));

const plugins = [...files.keys()];
const rows: [string, Model][] = models.map((model) => [model.id, model]);
const day = (text: string) => new Date(`${text}T00:00:00Z`);

describe("the catalogue", () => {
  test("has a file for each provider, and in it nothing but models", () => {
    expect(plugins).toEqual(["anthropic", "gemini", "groq", "openai", "sarvam", "together"]);
    for (const file of files.values()) expect(Object.keys(file)).toEqual(["models"]);
  });

  test("has the rows of the fixture, with their provider, capability and flag, and no others", () => {
    const found = plugins.flatMap((plugin) =>
      (files.get(plugin)?.models ?? []).map((model) =>
        [plugin, model.capability, model.premium ? "premium" : "free", model.id].join(" "),
      ),
    );
    expect(found.sort()).toEqual(expected.map((cells) => cells.join(" ")).sort());
  });

  test.each<[Capability, number]>([
    ["chat", 38],
    ["embeddings", 4],
    ["images", 1],
    ["transcription", 3],
    ["speech", 5],
  ])("can %s with %d models", (capability, count) => {
    expect(modelsOf(capability)).toHaveLength(count);
  });

  test("gives each name to one model", () => {
    const owners = new Map<string, string[]>();
    for (const { id, aliases = [] } of models) {
      for (const name of [id, ...aliases]) owners.set(name, [...(owners.get(name) ?? []), id]);
    }
    expect([...owners].filter(([, ids]) => ids.length > 1)).toEqual([]);
  });

  test("answers to the provider's own name of every model", () => {
    const unknown = models.filter(({ id, aliases = [], upstreamId }) => ![id, ...aliases].includes(upstreamId));
    expect(unknown.map(({ id }) => id)).toEqual([]);
  });

  test("makes every transcription a premium one", () => {
    expect(modelsOf("transcription").filter(({ premium }) => !premium)).toEqual([]);
  });
});

const rowsWhere = (holds: (model: Model) => boolean) => rows.filter(([, model]) => holds(model));

describe("every row of the catalogue", () => {
  test("is a valid model", () =>
    expectRows(rows, (_, model) => {
      const faults = [...Value.Errors(ModelRow, model)].map(({ path, message, value }) => ({ path, message, value }));
      expect(faults).toEqual([]);
    }));

  test("says where it was read and when", () =>
    expectRows(rows, (_, { source, checkedOn }) => {
      expect(source).toBeString();
      expect(checkedOn).toBe("2026-11-21");
    }));

  test("holds days and times that can be", () =>
    expectRows(rows, (_, { created, retiredOn, checkedOn = "" }) => {
      expect(new Date(created * 1000).getUTCFullYear()).toBeGreaterThanOrEqual(2023);
      expect(created * 1000).toBeLessThanOrEqual(day(checkedOn).getTime());
      if (retiredOn === undefined) return;
      expect(day(retiredOn).toISOString().slice(0, 10)).toBe(retiredOn);
      expect(day(retiredOn).getTime()).toBeGreaterThan(created * 1000);
    }));

  test("promises no more output than its context holds", () =>
    expectRows(rows, (_, { contextTokens, outputTokensMax }) => {
      if (contextTokens === undefined || outputTokensMax === undefined) return;
      expect(outputTokensMax).toBeLessThanOrEqual(contextTokens);
    }));

  test("neither renames what it omits nor to a field that it omits", () =>
    expectRows(rows, (_, { omit = [], rename = {} }) => {
      const renamed = [...Object.keys(rename), ...Object.values(rename)];
      expect(renamed.filter((field) => omit.includes(field))).toEqual([]);
      expect(new Set(omit).size).toBe(omit.length);
    }));

  test("that is premium is priced for all that it counts", () =>
    expectRows(
      rowsWhere(({ premium }) => premium),
      (_, { price = {}, capability }) => {
        const cached: MeterName[] = capability === "chat" ? ["cacheReadToken"] : [];
        expect(Object.keys(price)).toEqual(expect.arrayContaining([...getBasicMeters(capability, price), ...cached]));
      },
    ));

  test("that is priced has a tier for all that its price has, and dearer", () =>
    expectRows(
      rowsWhere(({ price }) => price !== undefined),
      (_, { price = {} }) => {
        // A search of the web costs the same in all of them.
        const { tiers = [], markupPercent, webSearch: _search, ...rates } = price;
        for (const { aboveInputTokens, ...tierRates } of tiers) {
          expect(Object.keys(tierRates)).toEqual(Object.keys(rates));
          for (const meter of Object.keys(rates) as Exclude<MeterName, "webSearch">[]) {
            expect(Number(tierRates[meter]?.usd)).toBeGreaterThan(Number(rates[meter]?.usd));
          }
        }
      },
    ));

  test("that speaks lists its voices, and its default among them", () =>
    expectRows(
      rowsWhere(({ capability }) => capability === "speech"),
      (_, { voices = [], voiceDefault = "", inputCharactersMax }) => {
        expect(voices).toContain(voiceDefault);
        expect(new Set(voices).size).toBe(voices.length);
        expect(inputCharactersMax).toBeGreaterThan(0);
      },
    ));

  test("that is free draws on the quota for what is not a token", () =>
    expectRows(
      rowsWhere(({ premium }) => !premium),
      (_, { capability, quotaWeights }) => {
        const weights = { images: { image: 1290 }, speech: { character: 0.25 } }[capability as string];
        expect(quotaWeights).toEqual(weights);
      },
    ));
});
