import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { builtIns } from "../../../plugins/index.ts";
import { catalogueFindings } from "../../../src/cli/commands/catalogue.ts";
import type { Model } from "../../../src/provider/index.ts";
import { readModels } from "../../../src/sdk/index.ts";
import { expectRows } from "../../support/expect-rows.ts";
import { files, models as specified } from "./models.ts";

const fileOf = (name: string) => join(import.meta.dir, "../../../plugins", name, "catalogue.json");
const current = new Map<string, Model[]>(
  builtIns.flatMap(({ name }) =>
    existsSync(fileOf(name)) ? [[name, JSON.parse(readFileSync(fileOf(name), "utf8")).models]] : [],
  ),
);
const models = [...current.values()].flat();
const owners = new Map([...current].flatMap(([plugin, list]) => list.map((model) => [model, plugin])));
const rows: [string, Model][] = models.map((model) => [model.id, model]);

describe("the current models", () => {
  test("stand beside the plugins, in a file each", () => {
    expect([...current.keys()]).toEqual(expect.arrayContaining([...files.keys(), "azure", "bedrock", "vertex"]));
    expect(models.length).toBeGreaterThan(60);
    for (const list of current.values()) expect(readModels(list)).toBe(list);
  });

  test("are served by the built-in plugins, after the specification's", () => {
    for (const { name, models: served } of builtIns) {
      expect(served.map(({ id }) => id)).toEqual(
        [...(files.get(name)?.models ?? []), ...(current.get(name) ?? [])].map(({ id }) => id),
      );
    }
  });

  test("share no name with another model", () => {
    const names = [...specified, ...models].flatMap(({ id, aliases = [] }) => [id, ...aliases]);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test("are premium, under their provider's own ids, with limits, source and day", () =>
    expectRows(rows, (id, model) => {
      // The plugin's name stands before those of its models, which others sell too; but for those of the specification.
      const plugin = owners.get(model) as string;
      const bare = files.has(plugin) ? id : id.replace(new RegExp(`^${plugin}/(regional/)?`), "");
      expect(bare === id).toBe(files.has(plugin));
      // Fireworks writes the owner's account before it.
      expect(model.upstreamId.replace(/^accounts\/fireworks\/(models|routers)\//, "")).toBe(bare);
      expect(model.premium).toBe(true);
      expect(model.source).toMatch(/^https:/);
      expect(Date.parse(model.checkedOn ?? "")).toBeGreaterThan(Date.parse("2026-11-01"));
      if (model.capability !== "chat") return;
      expect(model.contextTokens).toBeGreaterThan(1000);
      expect(model.outputTokensMax ?? 1).toBeLessThanOrEqual(model.contextTokens ?? 0);
    }));

  test("have tiers for all that their prices have, and none is cheaper", () =>
    expectRows(rows, (_, { price = {} }) => {
      // A search of the web costs the same in all of them.
      const { serviceTiers = {}, markupPercent: _markup, webSearch: _search, ...own } = price;
      for (const { tiers = [], ...rates } of [own, ...Object.values(serviceTiers)]) {
        for (const { aboveInputTokens, ...tierRates } of tiers) {
          expect(aboveInputTokens).toBeGreaterThan(0);
          expect(Object.keys(tierRates)).toEqual(Object.keys(rates));
          for (const [meter, rate] of Object.entries(rates)) {
            expect(Number(tierRates[meter as keyof typeof tierRates]?.usd)).toBeGreaterThanOrEqual(Number(rate.usd));
          }
        }
      }
    }));

  test("have rates of service tiers for all that their prices have: flex cheaper, priority and ultrafast dearer", () =>
    expectRows(rows, (_, row) => {
      const { serviceTiers = {}, tiers: _long, markupPercent: _markup, webSearch: _search, ...own } = row.price ?? {};
      for (const [name, { tiers: _tiers, ...rates }] of Object.entries(serviceTiers)) {
        expect(Object.keys(rates)).toEqual(Object.keys(own));
        if (name === "decisions") {
          // No tier of chat, but the price of an endpoint, whose output is free.
          expect(rates).toEqual({ ...own, outputToken: { usd: "0", per: 1_000_000 } });
          continue;
        }
        for (const [meter, rate] of Object.entries(rates)) {
          const factor = Number(rate.usd) / Number(own[meter as keyof typeof own]?.usd);
          // Some cost the same from a cache.
          const isFlex = factor < 1 || (factor === 1 && meter === "cacheReadToken");
          expect(name === "flex" ? isFlex : ["priority", "ultrafast"].includes(name) && factor > 1, name).toBe(true);
        }
      }
    }));

  test("of images say whether they edit", () => {
    const images = [...current.values()].flat().filter(({ capability }) => capability === "images");
    expect(images.length).toBeGreaterThan(20);
    expect(images.filter(({ features }) => features === undefined).map(({ id }) => id)).toEqual([]);
  });

  test("of OpenAI that only /responses serves say so", () => {
    const ids = (current.get("openai") ?? []).flatMap(({ id, endpoint }) => (endpoint === "responses" ? id : []));
    expect(ids.length).toBeGreaterThan(0);
    for (const id of ids) expect(id).toMatch(/-pro$|codex/);
  });

  test("that always reason take no sampling field, and OpenAI's the new limit's name", () => {
    for (const { id, omit = [], rename, reasoning, capability } of current.get("openai") ?? []) {
      if (capability !== "chat" || reasoning !== true) continue;
      expect({ id, rename, omits: omit.includes("temperature") }).toEqual({
        id,
        rename: { max_tokens: "max_completion_tokens" },
        omits: true,
      });
    }
    for (const { id, omit = [] } of current.get("anthropic") ?? []) {
      expect({ id, omits: omit.includes("temperature") && omit.includes("top_p") }).toEqual({ id, omits: true });
    }
  });

  test("are flagged 60 days after their prices were checked, and not before", () => {
    const [row] = models as [Model];
    const day = (days: number) => Date.parse(row.checkedOn ?? "") + days * 86_400_000;
    expect(catalogueFindings(row, day(60))).not.toContain("outdated");
    expect(catalogueFindings(row, day(61))).toContain("outdated");
  });
});

test("a model of the specification is served after its provider has ended it", () => {
  const ended = specified.filter(({ retiredOn }) => retiredOn !== undefined);
  expect(ended.length).toBeGreaterThan(20);
  for (const { id, whenRetired } of ended) expect({ id, whenRetired }).toEqual({ id, whenRetired: "serve" });
});
