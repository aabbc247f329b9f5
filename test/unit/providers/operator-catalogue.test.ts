import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { OperatorCatalogueEditor } from "../../../src/providers/operator-catalogue.ts";
import { builtIn, type Home, makeHome, row, stockOf } from "./folder.ts";

let home: Home;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.clear());

const price = (usd: string) => ({ inputToken: { usd, per: 1_000_000 }, outputToken: { usd, per: 1_000_000 } });

async function openEditor() {
  const { pluginManager } = stockOf(home, {
    builtIns: [builtIn("stock", [{ contextTokens: 8 }, { id: "stock-2" }]), builtIn("other", [{ id: "other-1" }])],
  });
  await pluginManager.load();
  const folder = { path: join(home.path, "catalogue"), label: "catalogue", required: false };
  const reload = async () => void (await pluginManager.load());
  return { editor: new OperatorCatalogueEditor(pluginManager, folder, reload), pluginManager };
}

describe("the operator's catalogue as one document", () => {
  test("is written file by file, and what it sells is in force after a reload", async () => {
    home.write("catalogue/other.json", [{ id: "other-1", contextTokens: 5 }]);
    const { editor, pluginManager } = await openEditor();
    const before = editor.read();
    expect(before.files).toEqual({ other: [{ id: "other-1", contextTokens: 5 }] });
    const change = editor.check({
      stock: {
        models: [
          { id: "stock-1", contextTokens: 16 },
          { ...row, id: "new" },
        ],
      },
    });
    expect(change.files).toEqual(["stock.json", "other.json"]);
    expect(change.models).toEqual([
      "stock: ~ stock-1: contextTokens 8 → 16",
      "stock: + new",
      "other: ~ other-1: contextTokens 5 → none",
    ]);
    expect(editor.read()).toEqual(before);
    change.write();
    expect(readdirSync(join(home.path, "catalogue"))).toEqual(["stock.json"]);
    expect(editor.read().revision).not.toBe(before.revision);
    const { registry, warnings } = await pluginManager.load();
    expect(warnings).toEqual([]);
    expect([registry.byName("stock-1")?.model.contextTokens, registry.byName("new")?.model.id]).toEqual([16, "new"]);
  });

  test("leaves files alone that do not change, and never touches a signed file", async () => {
    home.write("catalogue/stock.json", '[{"id":   "stock-1", "contextTokens": 9}]');
    home.write("catalogue/update.json", {
      serial: 1,
      plugins: { other: { models: [{ id: "other-1", premium: false }] } },
    });
    const { editor } = await openEditor();
    const { files } = editor.read();
    expect(Object.keys(files)).toEqual(["stock"]);
    const change = editor.check(files);
    expect([change.files, change.models]).toEqual([[], []]);
    change.write();
    expect(readFileSync(join(home.path, "catalogue/stock.json"), "utf8")).toBe(
      '[{"id":   "stock-1", "contextTokens": 9}]',
    );
    expect(() => editor.check({ update: [] })).toThrow("it is the place of a signed price file");
    expect(() => editor.check({ mine: { plugins: {} } })).toThrow("it is the place of a signed price file");
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "price without unit",
      { stock: [{ id: "stock-1", price: { inputToken: { usd: "1" } } }] },
      "Cannot use catalogue/stock.json: models[0].price.inputToken.per (stock-1): it is missing",
    ],
    ["premium model without price", { stock: [{ id: "stock-1", premium: true }] }, "add price.inputToken as"],
    [
      "unlisted model without price",
      { stock: { unlisted: { premium: true } } },
      "Cannot use catalogue/stock.json: unlisted",
    ],
    ["half a row", { stock: [{ id: "stock-1" }, { id: "fresh" }] }, "models[1].premium (fresh): it is missing"],
    ["row without an id", { stock: [{ contextTokens: 1 }] }, "models[0] has no id; add it"],
    ["unknown field", { stock: [{ id: "stock-1", contextToken: 1 }] }, "unknown field, did you mean contextTokens?"],
    ["unknown plugin", { stok: [] }, "there is no provider stok, did you mean stock?"],
    ["alias that is another model's", { stock: [{ id: "stock-1", aliases: ["stock-2"] }] }, "stock-2"],
    ["alias that is another plugin's", { stock: [{ id: "stock-1", aliases: ["other-1"] }] }, "rename one of the two"],
    [
      "alias that is another plugin's, with its file",
      { stock: [{ id: "stock-1", aliases: ["other-1"] }] },
      "Cannot use catalogue/stock.json: Plugin 'stock' has 'other-1' as an alias",
    ],
    [
      "successor that there is not",
      { stock: [{ id: "stock-1" }, { id: "stock-2", successor: "stok-1" }] },
      "Cannot use catalogue/stock.json: models[1].successor (stock-2): there is no model 'stok-1', did you mean stock-1?",
    ],
    [
      "successor of itself",
      { stock: [{ id: "stock-1", successor: "stock-1" }] },
      "models[0].successor (stock-1): it is the model itself; name another",
    ],
    [
      "day that there is not",
      { stock: [{ id: "stock-1", retiredOn: "2026-13-01" }] },
      'models[0].retiredOn (stock-1): got "2026-13-01", expected a day, such as 2027-01-31',
    ],
    [
      "two plugins that disagree",
      { other: { models: [{ ...row, id: "stock-1", premium: true, price: price("1") }] } },
      "make the two rows agree",
    ],
    ["circular virtual model", { virtual: [{ id: "fast", models: ["fast"] }] }, "models[0] is the row itself"],
    [
      "virtual model of an unknown one",
      { virtual: [{ id: "fast", models: ["stok-1"] }] },
      "'stok-1' is not a model here",
    ],
    [
      "virtual model of a disabled one",
      { stock: [{ id: "stock-1", disabled: true }], virtual: [{ id: "fast", models: ["stock-1"] }] },
      "Cannot use catalogue/virtual.json: models[0] (fast): models[0] 'stock-1' is not a model here",
    ],
    ["path for a name", { "../plugins/evil": [] }, "expected a provider's name without .json"],
    ["hidden file", { ".hidden": [] }, "expected a provider's name without .json"],
    ["text", { stock: "rows" }, 'expected { "models": [ … ] } or an array of rows'],
  ])("is refused as a whole because of a %s, and nothing is written", async (_, files, sentence) => {
    home.write("catalogue/stock.json", [{ id: "stock-1", contextTokens: 9 }]);
    const { editor, pluginManager } = await openEditor();
    expect(() => editor.check({ other: [{ id: "other-1", contextTokens: 5 }], ...files })).toThrow(sentence);
    expect(editor.read().files).toEqual({ stock: [{ id: "stock-1", contextTokens: 9 }] });
    expect((await pluginManager.load()).registry.byName("stock-1")?.model.contextTokens).toBe(9);
  });

  test("has the virtual models, and says what changes of them", async () => {
    const { editor, pluginManager } = await openEditor();
    const change = editor.check({ virtual: { models: [{ id: "fast", models: ["stock-1", "stock-2"] }] } });
    expect([change.files, change.models]).toEqual([["virtual.json"], ["virtual: + fast"]]);
    change.write();
    expect((await pluginManager.load()).warnings).toEqual([]);
    const again = editor.check({ virtual: { models: [{ id: "fast", models: ["stock-2"], strategy: "cheapest" }] } });
    expect(again.models).toEqual([
      'virtual: ~ fast: models ["stock-1","stock-2"] → ["stock-2"]; strategy none → "cheapest"',
    ]);
  });

  test("is not written over a file that cannot be read", async () => {
    home.write("catalogue/stock.json", "[{]");
    const { editor } = await openEditor();
    const sentence = "Cannot read catalogue/stock.json: line 1, column 3";
    expect(() => editor.read()).toThrow(sentence);
    expect(() => editor.check({})).toThrow(sentence);
  });

  test("disables a model with all its names, also for the terms of unlisted models", async () => {
    const { editor, pluginManager } = await openEditor();
    const change = editor.check({ stock: [{ id: "stock-1", disabled: true }] });
    expect(change.models).toEqual(["stock: - stock-1"]);
    change.write();
    const { registry, warnings } = await pluginManager.load();
    expect([registry.byName("stock-1"), warnings]).toEqual([undefined, []]);
    expect(registry.byName("stock-2")?.model.id).toBe("stock-2");
    expect(editor.layers().find(({ id }) => id === "stock-1")?.row.disabled).toBe(true);
  });

  test("says by what terms unlisted models are sold, before and after, and takes those of a plugin away", async () => {
    const { editor, pluginManager } = await openEditor();
    const terms = { premium: true, price: price("15") };
    const change = editor.check({ stock: { unlisted: terms } });
    expect(change.models).toEqual([
      "stock: ~ unlisted models: premium none → true; price.inputToken none → 15/1000000; price.outputToken none → 15/1000000",
    ]);
    change.write();
    const unlistedOf = async () => (await pluginManager.load()).plugins.find(({ name }) => name === "stock")?.unlisted;
    expect(await unlistedOf()).toEqual(terms);
    const taken = editor.check({ stock: { unlisted: null } });
    expect(taken.models).toHaveLength(1);
    taken.write();
    expect(await unlistedOf()).toBeUndefined();
  });

  test("shows what comes from the plugin, from the signed file and from the operator", async () => {
    home.write("catalogue/update.json", {
      serial: 1,
      plugins: { stock: { models: [{ id: "stock-1", contextTokens: 10, outputTokensMax: 3 }] } },
    });
    home.write("catalogue/stock.json", [{ id: "stock-1", contextTokens: 12, outputTokensMax: null }]);
    const { editor } = await openEditor();
    const [first, second] = editor.layers();
    expect(first).toMatchObject({
      plugin: "stock",
      base: { contextTokens: 8 },
      signed: { contextTokens: 10, outputTokensMax: 3 },
      own: { contextTokens: 12, outputTokensMax: null },
      ownFiles: ["catalogue/stock.json"],
    });
    expect([first?.row.contextTokens, first?.row.outputTokensMax]).toEqual([12, undefined]);
    expect([second?.signed, second?.own]).toEqual([undefined, undefined]);
  });
});
