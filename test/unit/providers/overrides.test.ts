import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { builtIn, type Home, makeHome, manifest, row, stockOf } from "./folder.ts";

let home: Home;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.clear());

const price = (usd: string) => ({ inputToken: { usd, per: 1_000_000 }, outputToken: { usd, per: 1_000_000 } });
const premium = { premium: true, price: price("1") };

describe("a file in the operator's catalogue", () => {
  test("changes the fields a row names, takes away those that are null, and adds rows", async () => {
    const { pluginManager } = stockOf(home, {
      builtIns: [builtIn("stock", [{ contextTokens: 8, outputTokensMax: 4 }])],
    });
    await pluginManager.load();
    const more = { ...row, id: "stock-2", upstreamId: "two" };
    home.write("catalogue/stock.json", {
      models: [{ id: "stock-1", upstreamId: "moved", outputTokensMax: null }, more],
    });
    const { registry, warnings } = await pluginManager.load();
    expect(warnings).toEqual([]);
    expect(registry.byName("stock-1")?.model).toEqual({ ...row, id: "stock-1", upstreamId: "moved", contextTokens: 8 });
    expect(registry.byName("stock-2")?.model.upstreamId).toBe("two");
    home.remove("catalogue/stock.json");
    const after = (await pluginManager.load()).registry;
    expect([after.byName("stock-1")?.model.upstreamId, after.byName("stock-2")]).toEqual(["acme-1", undefined]);
  });

  test("needs no more for a new model than a manifest, and makes the same model", async () => {
    const price = { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "2", per: 1_000_000 } };
    const rows = [
      { id: "acme/new-1", premium: false },
      { id: "new-2", aliases: ["newest"], premium: true, price },
      { id: "new-3", premium: false, contextTokens: 4096 },
    ];
    const common = { unlisted: { premium: false, prefix: "acme/", price } };
    const modelsOf = async (inManifest: object[], inCatalogue: object[]) => {
      home.write(
        "plugins/acme.json",
        manifest({ ...common, models: [{ id: "acme-1", premium: false }, ...inManifest] }),
      );
      home.write("catalogue/acme.json", { models: inCatalogue });
      const { registry, warnings } = await stockOf(home).pluginManager.load();
      expect(warnings).toEqual([]);
      return [...registry.modelEntries].map(({ model }) => model);
    };
    const written = await modelsOf(rows, []);
    expect(written).toHaveLength(4);
    expect(await modelsOf([], rows)).toEqual(written);
    expect(written[1]).toEqual({
      id: "acme/new-1",
      upstreamId: "new-1",
      capability: "chat",
      premium: false,
      ownedBy: "acme",
      created: 0,
    });
  });

  test("gives a new price a version of its own, and an unchanged one keeps its version", async () => {
    const { pluginManager } = stockOf(home, { builtIns: [builtIn("stock", [premium, { id: "other", ...premium }])] });
    const before = (await pluginManager.load()).registry;
    home.write("catalogue/mine.json", { plugin: "stock", models: [{ id: "stock-1", price: price("2") }] });
    const after = (await pluginManager.load()).registry;
    const version = (registry: typeof before, id: string) => registry.byName(id)?.compiledPrice?.version;
    expect(version(after, "stock-1")).not.toBe(version(before, "stock-1") as string);
    expect(version(after, "other")).toBe(version(before, "other") as string);
  });

  test.each<[string, string | object, string]>([
    ["malformed", "[{]", "line 1, column 3"],
    ["of another shape", { rows: [] }, "unknown field rows; known are models, plugin"],
    [
      "for what is not a plugin's name",
      { plugin: 7, models: [] },
      "plugin is 7, expected a provider's name, such as stock",
    ],
    ["with a row without an id", [{ upstreamId: "x" }], "models[0] has no id; add it"],
    ["with a misspelt field", [{ id: "stock-1", upstreamID: "x" }], "unknown field, did you mean upstreamId?"],
    [
      "with a price without a unit",
      [{ id: "stock-1", price: { inputToken: { usd: "1" } } }],
      "price.inputToken.per (stock-1): it is missing",
    ],
    [
      "with half a row",
      [{ id: "stock-1" }, { id: "stock-2" }],
      "models[1].premium (stock-2): it is missing: paid from the wallet if true, drawn from the daily free quota if false; stock has no model of this id, so the row adds one, did you mean stock-1?",
    ],
    [
      "with a capability that has no handler",
      [{ id: "stock-1", capability: "speech", price: { character: { usd: "1", per: 1 } } }],
      "there is no handlers.speech",
    ],
  ])("%s is refused in one sentence, and its last version stays in force", async (_, worse, said) => {
    const { pluginManager } = stockOf(home, { builtIns: [builtIn("stock", [premium])] });
    home.write("catalogue/stock.json", worse);
    const first = await pluginManager.load();
    expect(first.warnings).toEqual([expect.stringContaining(said)]);
    expect(first.warnings[0]).toStartWith("Cannot use catalogue/stock.json: ");
    expect(first.registry.byName("stock-1")?.model.upstreamId).toBe("acme-1");
    home.write("catalogue/stock.json", [{ id: "stock-1", upstreamId: "good" }]);
    expect((await pluginManager.load()).warnings).toEqual([]);
    home.write("catalogue/stock.json", worse);
    const again = await pluginManager.load();
    expect(again.warnings).toEqual([`${first.warnings[0]}; its last version stays in force`]);
    expect(again.registry.byName("stock-1")?.model.upstreamId).toBe("good");
  });

  test("of no plugin names the nearest one", async () => {
    home.write("catalogue/stok.json", []);
    const { warnings } = await stockOf(home, { builtIns: [builtIn("stock")] }).pluginManager.load();
    expect(warnings).toEqual(["Cannot use catalogue/stok.json: there is no provider stok, did you mean stock?"]);
  });
});
