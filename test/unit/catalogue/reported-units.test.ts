import { describe, expect, test } from "bun:test";
import { builtIns } from "../../../plugins/index.ts";
import {
  answerMeters,
  compilePrice,
  costMaxNanodollars,
  costNanodollars,
  getBasicMeters,
  listUnpriced,
  type MeterName,
  type Meters,
  type Price,
  promptMeters,
} from "../../../src/contract/index.ts";
import type { Model } from "../../../src/provider/index.ts";

const rows = builtIns.flatMap(({ name, models }) => models.map((model) => ({ plugin: name, model })));
const premium = rows.filter(({ model }) => model.premium);

/** Every unit that an answer of a model may report: whatever its row says, a provider divides the tokens as it likes. */
function listReportable({ capability, price = {} }: Model): readonly MeterName[] {
  const basic = getBasicMeters(capability, price);
  // Vectors, rankings and moderations count the tokens that go in alone.
  const tokens = basic.includes("outputToken") ? [...promptMeters, ...answerMeters] : promptMeters;
  const units = (["call", "page", "second", "inputImage", "webSearch"] as const).filter((name) => price[name]);
  return [...(basic.includes("inputToken") ? tokens : basic), ...units];
}

/** A price, and that of each service tier. */
const tariffsOf = (price: Price) => {
  const { serviceTiers, ...own } = compilePrice(price);
  return [own, ...Object.values(serviceTiers ?? {})];
};

/** Tokens that a provider can report of a prompt although the request does not ask for a cache of an hour. */
const splits: readonly MeterName[] = ["inputToken", "imageInputToken", "cacheReadToken", "cacheWriteToken"];

describe("a unit that a provider can report", () => {
  test("has a rate in every row of every plugin that is charged", () => {
    expect(premium.length).toBeGreaterThan(500);
    const wrong = premium.flatMap(({ plugin, model }) => {
      const all: Meters = Object.fromEntries(listReportable(model).map((name) => [name, 1]));
      const unpriced = tariffsOf(model.price ?? {}).flatMap((tariff) => listUnpriced(tariff, all));
      return unpriced.length === 0 ? [] : [`${plugin}: ${model.id}: ${unpriced.join(", ")}`];
    });
    expect(wrong).toEqual([]);
  });

  test("costs no more than is held for the prompt, however its tokens are divided", () => {
    const tokens = 1000;
    const wrong = premium
      .filter(({ model }) => model.capability === "chat")
      .flatMap(({ plugin, model }) =>
        tariffsOf(model.price ?? {}).flatMap((tariff) => {
          const most = costMaxNanodollars(tariff, { inputToken: tokens }, false) ?? 0;
          const above = splits.filter((name) => (costNanodollars(tariff, { [name]: tokens }) ?? 0) > most);
          return above.map((name) => `${plugin}: ${model.id}: ${name}`);
        }),
      );
    expect(wrong).toEqual([]);
  });

  test("costs no more when it is read from a cache than when it is new", () => {
    const wrong = premium.flatMap(({ plugin, model }) =>
      tariffsOf(model.price ?? {}).flatMap((tariff) => {
        const [read = 0, fresh = 0] = (["cacheReadToken", "inputToken"] as const).map((name) =>
          costNanodollars(tariff, { [name]: 1_000_000 }),
        );
        return read > fresh ? [`${plugin}: ${model.id}`] : [];
      }),
    );
    expect(wrong).toEqual([]);
  });
});
